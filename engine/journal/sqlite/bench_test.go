//go:build cgo

package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal/journaltest"
	"github.com/quandohq/quando/rules"
)

// fresh opens an empty journal.
func fresh(b *testing.B) *Journal { return open(b, filepath.Join(b.TempDir(), "quando.db"), Options{}) }

func BenchmarkAccept(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) { journaltest.BenchmarkAccept(b, []journaltest.Journal{fresh(b)}, callers) })
	}
}

// BenchmarkAcceptFollowed accepts events while their mentions are indexed concurrently.
func BenchmarkAcceptFollowed(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			j := fresh(b)
			ctx, stop := context.WithCancel(b.Context())
			var group sync.WaitGroup
			group.Go(func() {
				for ctx.Err() == nil {
					if _, err := j.Follow(ctx); err != nil && ctx.Err() == nil {
						b.Error(err)
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
			journaltest.BenchmarkAccept(b, []journaltest.Journal{j}, callers)
			b.StopTimer()
			stop()
			group.Wait()
			b.ReportMetric(100*float64(max(j.follower.cursor, 0))/float64(b.N), "%-followed")
		})
	}
}

// BenchmarkFollow indexes the mentions of events while nothing else is recorded: of one lane each,
// and of a few lanes whose mentions are cached.
func BenchmarkFollow(b *testing.B) {
	for _, lanes := range []int64{1_000_000, 100} {
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			j := fresh(b)
			var batch []rules.Event
			for n := range int64(b.N) {
				batch = append(batch, journaltest.Message(n, lanes))
				if len(batch) == 1000 || n == int64(b.N)-1 {
					if _, err := j.Accept(b.Context(), batch); err != nil {
						b.Fatal(err)
					}
					batch = batch[:0]
				}
			}
			b.ResetTimer()
			for more := true; more; {
				var err error
				if more, err = j.follow(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkCycle takes events from their arrival to a finished run.
func BenchmarkCycle(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) { journaltest.BenchmarkCycle(b, []journaltest.Journal{fresh(b)}, workers, 1) })
	}
}

// BenchmarkVerdicts is BenchmarkCycle with a dozen rules that do not fire.
func BenchmarkVerdicts(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) { journaltest.BenchmarkCycle(b, []journaltest.Journal{fresh(b)}, workers, 12) })
	}
}
