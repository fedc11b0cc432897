package journaltest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// Message returns an event of typical size.
func Message(i int64, lanes int64) rules.Event {
	now := time.Now()
	return rules.Event{Workspace: "default", ID: fmt.Sprintf("event-%016x", uint64(i)*0x9e3779b97f4a7c15), Type: "message.received", Lane: fmt.Sprint("conversation:", i%lanes), CreatedAt: now, ReceivedAt: now,
		Data: map[string]any{
			"message":      map[string]any{"id": fmt.Sprint(i), "text": "good morning, is anybody there?", "direction": "inbound", "created_at": "2026-11-13T20:50:00Z"},
			"conversation": map[string]any{"id": "c", "kind": "direct", "label_ids": []any{"a", "b"}, "assignee_id": nil, "unread_count": 3.0, "channel_id": "main"},
			"contact":      map[string]any{"id": "p", "name": "Maria", "phone": "+5511999990000", "blocked": false},
		}}
}

// BenchmarkAccept has concurrent callers record events one by one.
func BenchmarkAccept(b *testing.B, engines []Journal, callers int) {
	var i atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for c := range callers {
		j := engines[c%len(engines)]
		group.Go(func() {
			for {
				n := i.Add(1)
				if n > int64(b.N) {
					return
				}
				if _, err := j.Accept(b.Context(), []rules.Event{Message(n, 100000)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkCycle takes events from their arrival to a finished run of one step: accept, claim,
// start, finish and release. Each engine has so many workers, and each event so many verdicts of
// rules that do not fire.
func BenchmarkCycle(b *testing.B, engines []Journal, workers, verdicts int) {
	const backlog = 2000 // events that arrive before a worker is free
	var done atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for k, j := range engines {
		group.Go(func() {
			for n := int64(k); n < int64(b.N); {
				var batch []rules.Event
				for len(batch) < 50 && n < int64(b.N) {
					batch = append(batch, Message(n, backlog))
					n += int64(len(engines))
				}
				if _, err := j.Accept(b.Context(), batch); err != nil {
					b.Error(err)
				}
			}
		})
		group.Go(func() { claimAndWork(b, j, workers, verdicts, &done) })
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// claimAndWork runs the workers of one engine until everything is done.
func claimAndWork(b *testing.B, j Journal, workers, verdicts int, done *atomic.Int64) {
	lanes := make(chan *journal.Lane, workers)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for l := range lanes {
				work(b, j, l, verdicts)
			}
		})
	}
	for done.Load() < int64(b.N) && !b.Failed() {
		claimed, err := j.Claim(b.Context(), time.Now(), max(workers, 16), nil)
		if err != nil {
			b.Error(err)
		}
		if len(claimed) == 0 {
			time.Sleep(time.Millisecond)
		}
		for _, l := range claimed {
			done.Add(int64(len(l.Events)))
			lanes <- l
		}
	}
	close(lanes)
	group.Wait()
}

// work handles a lane as an engine does.
func work(b *testing.B, j Journal, l *journal.Lane, verdicts int) {
	now := time.Now()
	change := &journal.Change{At: now, Decided: l.Events}
	for _, e := range l.Events {
		e.Verdicts = []journal.Verdict{{Rule: "away-reply", Outcome: journal.Fired, Version: "v"}}
		for i := range verdicts {
			e.Verdicts = append(e.Verdicts, journal.Verdict{Rule: fmt.Sprint("vip-", i), Outcome: journal.False, Clause: "'vip' in labels", Values: map[string]any{"labels": []any{"a"}}})
		}
		change.Starts = append(change.Starts, &journal.Start{Mode: rules.Queued, Max: 100, Source: "source", Verdict: &e.Verdicts[0], Run: &journal.Run{
			Key: "default/away-reply/" + e.ID, Workspace: "default", Rule: "away-reply", Version: "v", Event: e.Seq, Home: l.Name, Lane: l.Name, By: e.ID, State: journal.Running, Stage: rules.Live, StartedAt: now, WakeAt: now,
			Steps: []*journal.Step{{Path: "1", Verb: "send_message", Key: "k", State: journal.StepOpen, Record: []byte(`{"intent":{"call":"send","request":{"text":"we are closed, and open again at nine"}}}`)}}}})
	}
	if err := j.Save(b.Context(), l, change); err != nil {
		b.Error(err)
	}
	after := &journal.Change{At: now, Release: true}
	for _, s := range change.Starts {
		s.Run.State, s.Run.FinishedAt = journal.Done, now
		s.Run.Steps[0].State = journal.StepDone
		after.Runs = append(after.Runs, &journal.RunChange{Run: s.Run, Steps: s.Run.Steps})
		after.Caused = append(after.Caused, journal.Caused{Workspace: "default", Lane: l.Name, Event: "message.sent", Object: s.Run.Key, Run: s.Run.ID, Rule: s.Run.Rule})
	}
	if err := j.Save(b.Context(), l, after); err != nil {
		b.Error(err)
	}
}
