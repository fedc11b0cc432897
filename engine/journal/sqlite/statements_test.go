//go:build cgo

package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/journaltest"
	"github.com/quandohq/quando/rules"
)

// TestStatements bounds how many statements an event takes, because a journal spends most of its
// time in them.
func TestStatements(t *testing.T) {
	j, err := Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	const events = 20
	boundStatements := func(what string, most float64, do func()) {
		t.Helper()
		before := j.writer.statements.Load()
		do()
		if got := float64(j.writer.statements.Load()-before) / events; got > most {
			t.Errorf("%s takes %.1f statements for each event, and %.1f were enough", what, got, most)
		}
	}
	save := func(l *journal.Lane, c *journal.Change) {
		t.Helper()
		if err := j.Save(t.Context(), l, c); err != nil {
			t.Fatal(err)
		}
	}
	var list []rules.Event
	for i := range int64(events) {
		list = append(list, journaltest.Message(i, events))
	}
	boundStatements("recording", 2.1, func() { // the event and its lane, and shared by all the begin and the commit
		if _, err := j.Accept(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	})
	lanes, err := j.Claim(t.Context(), time.Now(), events, nil)
	if err != nil || len(lanes) != events {
		t.Fatalf("%d lanes: %v", len(lanes), err)
	}
	now := time.Now()
	runs := map[*journal.Lane]*journal.Run{}
	boundStatements("a run's beginning", 15.2, func() { // with a transaction for each
		for _, l := range lanes {
			e := l.Events[0]
			e.Verdicts = []journal.Verdict{{Rule: "away", Outcome: journal.Fired}}
			runs[l] = &journal.Run{Key: "default/away/" + e.ID, Workspace: "default", Rule: "away", Version: "v", Event: e.Seq, Home: l.Name, Lane: l.Name, State: journal.Running, Stage: rules.Live, By: e.ID,
				StartedAt: now, WakeAt: now, Steps: []*journal.Step{{Path: "1", Verb: "send_message", Key: "k", State: journal.StepOpen}}}
			save(l, &journal.Change{At: now, Decided: l.Events, Take: []journal.Slot{{Key: "messages", Times: 2000, Per: time.Hour}, {Key: fmt.Sprint("messages of ", l.Name), Times: 5, Per: 10 * time.Minute}},
				Starts: []*journal.Start{{Mode: rules.Single, Source: "source", Verdict: &e.Verdicts[0], Run: runs[l]}}})
		}
	})
	boundStatements("a run between two calls", 5.1, func() { // the finished step, and the next one
		for _, l := range lanes {
			r := runs[l]
			r.Steps[0].State = journal.StepDone
			r.Steps = append(r.Steps, &journal.Step{N: 1, Path: "2", Verb: "send_message", Key: "k2", State: journal.StepOpen})
			save(l, &journal.Change{At: now, Runs: []*journal.RunChange{{Run: r, Steps: r.Steps}}})
		}
	})
	boundStatements("a run that is told why it waits", 4.1, func() {
		for _, l := range lanes {
			runs[l].Reason = "it must"
			save(l, &journal.Change{At: now, Runs: []*journal.RunChange{{Run: runs[l]}}})
		}
	})
	for _, r := range runs {
		got, err := j.FindRun(t.Context(), r.ID)
		if err != nil || got.Reason != "it must" || len(got.Steps) != 2 || got.Steps[0].State != journal.StepDone {
			t.Errorf("%+v, with %d steps: %v", got, len(got.Steps), err)
		}
	}
	boundStatements("a run's end", 12, func() {
		for _, l := range lanes {
			r := runs[l]
			r.State, r.FinishedAt, r.Steps[1].State = journal.Done, now, journal.StepDone
			save(l, &journal.Change{At: now, Release: true, Runs: []*journal.RunChange{{Run: r, Steps: r.Steps, Effects: 1}},
				Caused: []journal.Caused{{Workspace: "default", Lane: l.Name, Event: "message.sent", Object: r.Key, Run: r.ID, Rule: r.Rule}}})
		}
	})
	boundStatements("an event that is decided at once", 6.1, func() { // with a transaction for each, in which one statement counts the verdict
		for i := range events {
			e, c := decided(fmt.Sprint("at once ", i), fmt.Sprint("lane ", i))
			c.Decided[0].Verdicts[0].Outcome = journal.False
			save(j.Open(e.Workspace, e.Lane), c)
		}
	})
}
