package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// spare is how much garbage may lie about before it is collected.
const spare = 48 << 20

// tuneCollector lets the garbage collector wait for a fixed amount of garbage. By itself it collects whenever as much has come as is in use, which for an engine that
// keeps little in memory is all the time: a quarter of the processor time under load. Whoever sets GOGC or GOMEMLIMIT knows better.
func tuneCollector() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(max(100, spare*100/max(m.HeapAlloc, 1)), 1000)))
}
