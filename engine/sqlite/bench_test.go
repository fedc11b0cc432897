//go:build cgo

package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// message is an event of the usual size.
func message(i int64, lanes int64) rules.Event {
	now := time.Now()
	return rules.Event{Workspace: "default", ID: fmt.Sprintf("event-%016x", uint64(i)*0x9e3779b97f4a7c15), Type: "message.received", Lane: fmt.Sprint("conversation:", i%lanes), CreatedAt: now, ReceivedAt: now,
		Data: map[string]any{
			"message":      map[string]any{"id": fmt.Sprint(i), "text": "good morning, is anybody there?", "direction": "inbound", "created_at": "2026-11-13T20:50:00Z"},
			"conversation": map[string]any{"id": "c", "kind": "direct", "label_ids": []any{"a", "b"}, "assignee_id": nil, "unread_count": 3.0, "channel_id": "main"},
			"contact":      map[string]any{"id": "p", "name": "Maria", "phone": "+5511999990000", "blocked": false},
		}}
}

func BenchmarkAccept(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) { accept(b, open(b, filepath.Join(b.TempDir(), "quando.db"), Options{}), callers) })
	}
}

// BenchmarkAcceptFollowed accepts events while their mentions are taken up beside it.
func BenchmarkAcceptFollowed(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			j := open(b, filepath.Join(b.TempDir(), "quando.db"), Options{})
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
			accept(b, j, callers)
			b.StopTimer()
			stop()
			group.Wait()
			b.ReportMetric(100*float64(max(j.following.cursor, 0))/float64(b.N), "%-followed")
		})
	}
}

func accept(b *testing.B, j *Journal, callers int) {
	var i atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for {
				n := i.Add(1)
				if n > int64(b.N) {
					return
				}
				if _, err := j.Accept(b.Context(), []rules.Event{message(n, 100000)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkFollow takes up the mentions of events that nobody adds to: of a lane each, and of a few lanes that are known.
func BenchmarkFollow(b *testing.B) {
	for _, lanes := range []int64{1_000_000, 100} {
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			j := open(b, filepath.Join(b.TempDir(), "quando.db"), Options{})
			var batch []rules.Event
			for n := range int64(b.N) {
				batch = append(batch, message(n, lanes))
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

// BenchmarkCycle takes an event from its arrival to a finished run of one step: accept, claim, start, finish and release.
func BenchmarkCycle(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) { cycle(b, workers, 1) })
	}
}

// BenchmarkVerdicts does the same with a dozen rules that are asked and do not fire.
func BenchmarkVerdicts(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) { cycle(b, workers, 12) })
	}
}

func cycle(b *testing.B, workers, verdicts int) {
	j := open(b, filepath.Join(b.TempDir(), "quando.db"), Options{})
	const backlog = 2000 // events that come before there is a free worker
	lanes := make(chan *engine.Lane, workers)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for l := range lanes {
				work(b, j, l, verdicts)
			}
		})
	}
	b.ResetTimer()
	go func() {
		for n := int64(0); n < int64(b.N); {
			var batch []rules.Event
			for len(batch) < 50 && n < int64(b.N) {
				batch = append(batch, message(n, backlog))
				n++
			}
			if _, err := j.Accept(b.Context(), batch); err != nil {
				b.Error(err)
			}
		}
	}()
	for done := 0; done < b.N && !b.Failed(); {
		claimed, err := j.Claim(b.Context(), time.Now(), max(workers, 16), nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, l := range claimed {
			done += len(l.Events)
			lanes <- l
		}
	}
	close(lanes)
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// work does with a lane what an engine does.
func work(b *testing.B, j *Journal, l *engine.Lane, verdicts int) {
	now := time.Now()
	change := &engine.Change{At: now, Decided: l.Events}
	for _, e := range l.Events {
		e.Verdicts = []engine.Verdict{{Rule: "away-reply", Outcome: engine.Fired, Version: "v"}}
		for i := range verdicts {
			e.Verdicts = append(e.Verdicts, engine.Verdict{Rule: fmt.Sprint("vip-", i), Outcome: engine.False, Clause: "'vip' in labels", Values: map[string]any{"labels": []any{"a"}}})
		}
		change.Starts = append(change.Starts, &engine.Start{Mode: rules.Queued, Max: 100, Source: "source", Verdict: &e.Verdicts[0], Run: &engine.Run{
			Key: "default/away-reply/" + e.ID, Workspace: "default", Rule: "away-reply", Version: "v", Event: e.Seq, Home: l.Name, Lane: l.Name, By: e.ID, State: engine.Running, Stage: rules.Live, StartedAt: now, WakeAt: now,
			Steps: []*engine.Step{{Path: "1", Verb: "send_message", Key: "k", State: engine.StepOpen, Record: []byte(`{"intent":{"call":"send","request":{"text":"we are closed, and open again at nine"}}}`)}}}})
	}
	if err := j.Save(b.Context(), l, change); err != nil {
		b.Error(err)
	}
	after := &engine.Change{At: now, Release: true}
	for _, s := range change.Starts {
		s.Run.State, s.Run.FinishedAt = engine.Done, now
		s.Run.Steps[0].State = engine.StepDone
		after.Runs = append(after.Runs, &engine.RunChange{Run: s.Run, Steps: s.Run.Steps})
		after.Caused = append(after.Caused, engine.Caused{Workspace: "default", Lane: l.Name, Event: "message.sent", Object: s.Run.Key, Run: s.Run.ID, Rule: s.Run.Rule})
	}
	if err := j.Save(b.Context(), l, after); err != nil {
		b.Error(err)
	}
}
