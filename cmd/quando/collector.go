package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// spare is how much garbage may lie about before it is collected.
	spare = 32 << 20
	// usual is how much memory Go may take before garbage is collected more eagerly; three times what is in use at the start where that is more.
	usual = 72 << 20
)

// tuneCollector lets the garbage collector wait for a fixed amount of garbage. By itself it collects whenever as much has come as is in use, which for an engine that
// keeps little in memory is all the time: a quarter of the processor time under load. Whoever sets GOGC or GOMEMLIMIT knows better.
func tuneCollector() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.FreeOSMemory() // what reading the rules took
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(max(100, spare*100/max(m.HeapAlloc, 1)), 1000)))
	debug.SetMemoryLimit(int64(max(usual, 3*m.HeapAlloc)))
}
