//go:build unix

// Package costtest bounds what a function costs by other work of the same run, so that a test holds
// on any machine, however slow or busy it is.
package costtest

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// rounds is how often a function is measured before its test fails: what else the process or the
// machine does only ever adds to a cost.
const rounds = 4

// A Bound is the most that a function may cost.
type Bound struct {
	JSON  float64 // processor time, in what encoding/json takes to decode 1 MiB
	Bytes uint64  // allocated in all, which is more than is used at once; 0 for any
}

// Within fails the test if f costs more than the bound in every round.
func Within(tb testing.TB, what string, most Bound, f func()) {
	tb.Helper()
	unit := typicalUnit()
	for round := range rounds {
		took, bytes := measure(f)
		if round > 0 || took > scaled(unit, most.JSON) {
			unit = measureUnit() // the machine may have become slower
		}
		within := took <= scaled(unit, most.JSON) && (most.Bytes == 0 || bytes <= most.Bytes)
		if within || round == rounds-1 {
			tb.Logf("%s: %v, as long as %.1f MiB of JSON; %d KiB", what, took.Round(time.Microsecond), float64(took)/float64(unit), bytes>>10)
		}
		if within {
			return
		}
	}
	tb.Errorf("%s: costs more than %.0f MiB of JSON or %d KiB", what, most.JSON, most.Bytes>>10)
}

// Ratio returns how many times the processor time of small large takes, by the best round of each.
func Ratio(small, large func()) float64 {
	least, most := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range rounds {
		took, _ := measure(small)
		least = min(least, took)
		took, _ = measure(large)
		most = min(most, took)
	}
	return float64(most) / float64(max(least, 1))
}

// Bytes returns what f allocates, by the best round.
func Bytes(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range rounds {
		_, bytes := measure(f)
		least = min(least, bytes)
	}
	return least
}

func scaled(unit time.Duration, by float64) time.Duration { return time.Duration(by * float64(unit)) }

// measure returns the processor time that the process uses while f runs, and what it allocates.
func measure(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := processorTime()
	f()
	took := processorTime() - began
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc
}

// processorTime returns the processor time that the process has used so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// typicalUnit returns the unit of Bound.JSON as it was when it was first asked for.
var typicalUnit = sync.OnceValue(func() time.Duration {
	measureUnit() // warms up
	return min(measureUnit(), measureUnit(), measureUnit())
})

// measureUnit returns the unit of Bound.JSON as it is now.
func measureUnit() time.Duration {
	took, _ := measure(decodeJSON)
	return 4 * took
}

var document = sync.OnceValue(func() []byte {
	const item = `{"id":"0192f3a4","name":"Ana Lima","tags":["vip","new"],"count":12.5,"open":true},`
	return []byte("[" + strings.Repeat(item, (256<<10)/len(item)) + "{}]")
})

func decodeJSON() {
	var v any
	if err := json.Unmarshal(document(), &v); err != nil {
		panic(err)
	}
}
