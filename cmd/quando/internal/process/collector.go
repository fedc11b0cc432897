package process

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// spare is how much garbage may accumulate before a collection.
	spare = 48 << 20
	// usual is the soft memory limit; three times the memory in use at the start if that is more.
	usual = 88 << 20
)

// tuneCollector lets a fixed amount of garbage accumulate. By default Go collects whenever the heap
// has doubled, which for an engine with a small heap is all the time: a quarter of the processor
// time under load. GOGC and GOMEMLIMIT take precedence.
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
	restLook  = 5 * time.Second // interval of checks whether there is anything to do
	restUsual = 4 << 20         // bytes that are allocated in that time when there is not
)

// giveMemoryBack returns memory to the system after a peak: by itself the collector keeps what it
// may need again. It ends with ctx.
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
