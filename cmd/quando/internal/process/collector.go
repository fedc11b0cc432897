package process

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// spare is how much garbage may lie about before it is collected.
	spare = 48 << 20
	// usual is how much memory Go may take before garbage is collected more eagerly; three times
	// what is in use at the start where that is more.
	usual = 88 << 20
)

// tuneCollector lets the garbage collector wait for a fixed amount of garbage. By itself it
// collects whenever as much has come as is in use, which for an engine that keeps little in memory
// is all the time: a quarter of the processor time under load. Whoever sets GOGC or GOMEMLIMIT
// knows better.
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

const (
	restLook  = 5 * time.Second // how often it is looked whether there is anything to do
	restUsual = 4 << 20         // bytes that are allocated in that time when there is not
)

// giveMemoryBack returns memory to the system when a rush is over: by itself the collector keeps
// what it may need again. It ends with ctx.
func giveMemoryBack(ctx context.Context) {
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	given, last := uint64(0), allocated()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(restLook):
		}
		now := allocated()
		if now-last < restUsual && now-given > spare {
			debug.FreeOSMemory()
			given = now
		}
		last = now
	}
}
