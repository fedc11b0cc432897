package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// atWork opens a journal of the stories and works on it beside the commands: answer says what
// becomes of a claimed lane.
func atWork(t *testing.T, answer func(lane *journal.Lane) *journal.Change) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "quando.db")
	if err := fillJournal(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	j, err := storage.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			lanes, err := j.Claim(ctx, time.Now(), 10, nil)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			for _, lane := range lanes {
				change := answer(lane)
				change.At, change.Release = time.Now(), true
				if err := j.Save(ctx, lane, change); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return file
}

// decide gives what a person has fired a verdict, and starts a run of it if it fired.
func decide(lane *journal.Lane, verdict journal.Verdict) *journal.Change {
	change := &journal.Change{Decided: lane.Events}
	for _, e := range lane.Events {
		e.Decided = true
		if e.Type != "manual" {
			continue
		}
		if e.Verdicts = []journal.Verdict{verdict}; verdict.Outcome != journal.Fired {
			continue
		}
		r := &journal.Run{
			Key: e.Workspace + "/" + verdict.Rule + "/" + e.ID, Workspace: e.Workspace, Rule: verdict.Rule, Version: "v1", Event: e.Seq, Home: lane.Name, Lane: lane.Name,
			By: lane.Name, State: journal.Running, Stage: rules.Live, StartedAt: e.ReceivedAt, WakeAt: e.ReceivedAt,
		}
		e.Verdicts[0].Run = r.Key
		change.Starts = append(change.Starts, &journal.Start{Run: r, Mode: rules.Parallel, Max: 100, Source: "rules: []\n", Verdict: &e.Verdicts[0]})
		change.Next = e.ReceivedAt
	}
	return change
}

// finish brings the runs of a lane that are at work, and those of which something is asked, to a
// state.
func finish(lane *journal.Lane, state journal.State, reason string) *journal.Change {
	change := &journal.Change{Decided: lane.Events}
	for _, e := range lane.Events {
		e.Decided = true
	}
	for _, r := range lane.Runs {
		if r.Asked == nil && r.State != journal.Running {
			continue
		}
		r.State, r.Reason, r.FinishedAt, r.WakeAt = state, reason, time.Now(), time.Time{}
		change.Runs = append(change.Runs, &journal.RunChange{Run: r, Answered: r.Asked != nil})
	}
	return change
}

// runQuando carries out a command line and returns what it printed and its exit code.
func runQuando(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

func TestFollow(t *testing.T) {
	t.Parallel()
	firing := func(verdict journal.Verdict, state journal.State, reason string) func(*journal.Lane) *journal.Change {
		return func(lane *journal.Lane) *journal.Change {
			if len(lane.Events) > 0 {
				return decide(lane, verdict)
			}
			return finish(lane, state, reason)
		}
	}
	asked := func(state journal.State, reason string) func(*journal.Lane) *journal.Change {
		return func(lane *journal.Lane) *journal.Change { return finish(lane, state, reason) }
	}
	for _, c := range []struct {
		name   string
		answer func(*journal.Lane) *journal.Change
		args   []string
		want   string
		code   int
	}{
		{"fired and done", firing(journal.Verdict{Rule: "r", Outcome: journal.Fired}, journal.Done, ""), []string{"fire", "r"}, "\nr fired\nRun 7 is done\n", 0},
		{"fired and failed", firing(journal.Verdict{Rule: "r", Outcome: journal.Fired}, journal.FailedRun, "404"), []string{"fire", "r"}, "\nr fired\nRun 7 is failed: 404\n", 1},
		{"not true", firing(journal.Verdict{Rule: "r", Outcome: journal.False, Clause: `contact.name == "x"`}, "", ""), []string{"fire", "r"}, "\nr false: contact.name == \"x\"\n", 1},
		{"gathered", firing(journal.Verdict{Rule: "r", Outcome: journal.Gathered}, "", ""), []string{"fire", "r"}, "\nr gathered\n", 0},
		{"not known to the engine", firing(journal.Verdict{Rule: "another", Outcome: journal.False}, "", ""), []string{"fire", "r"}, "\nThe engine has not asked the rule r", 1},
		{"cancelled", asked(journal.Cancelled, "the customer called"), []string{"runs", "cancel", "2"}, "Run 2 is cancelled: the customer called\n", 0},
		{"finished before it was cancelled", asked(journal.Done, ""), []string{"runs", "cancel", "2"}, "Run 2 is done\n", 1},
		{"retried", asked(journal.Done, ""), []string{"runs", "retry", "3"}, "Run 3 is done\n", 0},
		{"retried in vain", asked(journal.FailedRun, ""), []string{"runs", "retry", "3"}, "Run 3 is failed: move_card: 404 not_found: there is no such card\n", 1},
		{"resolved", asked(journal.Done, ""), []string{"runs", "resolve", "4", "--done"}, "Run 4 is done\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := atWork(t, c.answer)
			out, errOut, code := runQuando(t, append(c.args, "--journal", file, "--wait", "1m")...)
			if code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %d, and the output with %q:\n%s%s", code, c.code, c.want, out, errOut)
			}
		})
	}
}
