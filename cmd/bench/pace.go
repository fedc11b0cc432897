package main

import (
	"runtime"
	"slices"
	"sort"
	"time"
)

// A pace is the machine's speed over time. Shared or throttled processors may run at a tenth of
// their speed for a while, and everything on them takes ten times as long. That says nothing about
// the measured program, so it has to be known.
type pace struct {
	looks []paceSample
	usual time.Duration
}

// A paceSample is the duration of a fixed computation.
type paceSample struct {
	at   time.Time
	took time.Duration
}

const (
	lookEvery = 2 * time.Millisecond
	lostPace  = 3 // times the usual duration: more than contention for a processor, its caches or its memory can cause
)

// watchPace samples the machine's speed until the returned function is called.
func watchPace() (stop func() pace) {
	end, done := make(chan struct{}), make(chan pace)
	go func() {
		var p pace
		for {
			p.looks = append(p.looks, paceSample{time.Now(), compute()})
			select {
			case <-end:
				p.usual = p.median()
				done <- p
				return
			case <-time.After(lookEvery):
			}
		}
	}()
	return func() pace {
		close(end)
		return <-done
	}
}

// compute does some arithmetic, a few times, and returns the shortest duration: only a slow machine
// makes all of them slow, preemption hits one.
func compute() time.Duration {
	best := time.Hour
	for range 3 {
		began, x := time.Now(), uint64(1)
		for range 8_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		runtime.KeepAlive(x) // keeps the compiler from removing the unused result
		best = min(best, time.Since(began))
	}
	return best
}

func (p pace) median() time.Duration {
	list := make([]time.Duration, len(p.looks))
	for i, l := range p.looks {
		list[i] = l.took
	}
	slices.Sort(list)
	return percentile(list, 50)
}

func (p pace) slow(l paceSample) bool { return l.took > lostPace*p.usual }

// lost reports whether the machine had lost its pace at some moment between two times, or next to
// them.
func (p pace) lost(from, to time.Time) bool {
	const beside = 2 * lookEvery
	i := sort.Search(len(p.looks), func(i int) bool { return !p.looks[i].at.Before(from.Add(-beside)) })
	for ; i < len(p.looks) && !p.looks[i].at.After(to.Add(beside)); i++ {
		if p.slow(p.looks[i]) {
			return true
		}
	}
	return false
}

// share is the fraction of samples in which the machine was slow.
func (p pace) share() float64 {
	n := 0
	for _, l := range p.looks {
		if p.slow(l) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(p.looks)))
}
