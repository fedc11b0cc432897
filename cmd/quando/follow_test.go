package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// atWork opens a journal of the stories and works on it beside the commands: answer says what becomes of a claimed lane.
func atWork(t *testing.T, answer func(lane *engine.Lane) *engine.Change) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "quando.db")
	if err := fillJournal(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(t.Context(), file, false)
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
func decide(lane *engine.Lane, verdict engine.Verdict) *engine.Change {
	change := &engine.Change{Decided: lane.Events}
	for _, e := range lane.Events {
		e.Decided = true
		if e.Type != "manual" {
			continue
		}
		if e.Verdicts = []engine.Verdict{verdict}; verdict.Outcome != engine.Fired {
			continue
		}
		r := &engine.Run{
			Key: e.Workspace + "/" + verdict.Rule + "/" + e.ID, Workspace: e.Workspace, Rule: verdict.Rule, Version: "v1", Event: e.Seq, Home: lane.Name, Lane: lane.Name,
			By: lane.Name, State: engine.Running, Stage: rules.Live, StartedAt: e.ReceivedAt, WakeAt: e.ReceivedAt,
		}
		e.Verdicts[0].Run = r.Key
		change.Starts = append(change.Starts, &engine.Start{Run: r, Mode: rules.Parallel, Max: 100, Source: "rules: []\n", Verdict: &e.Verdicts[0]})
		change.Next = e.ReceivedAt
	}
	return change
}

// finish brings the runs of a lane that are at work, and those of which something is asked, to a state.
func finish(lane *engine.Lane, state engine.State, reason string) *engine.Change {
	change := &engine.Change{Decided: lane.Events}
	for _, e := range lane.Events {
		e.Decided = true
	}
	for _, r := range lane.Runs {
		if r.Asked == nil && r.State != engine.Running {
			continue
		}
		r.State, r.Reason, r.FinishedAt, r.WakeAt = state, reason, time.Now(), time.Time{}
		change.Runs = append(change.Runs, &engine.RunChange{Run: r, Answered: r.Asked != nil})
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
	firing := func(verdict engine.Verdict, state engine.State, reason string) func(*engine.Lane) *engine.Change {
		return func(lane *engine.Lane) *engine.Change {
			if len(lane.Events) > 0 {
				return decide(lane, verdict)
			}
			return finish(lane, state, reason)
		}
	}
	asked := func(state engine.State, reason string) func(*engine.Lane) *engine.Change {
		return func(lane *engine.Lane) *engine.Change { return finish(lane, state, reason) }
	}
	for _, c := range []struct {
		name   string
		answer func(*engine.Lane) *engine.Change
		args   []string
		want   string
		code   int
	}{
		{"fired and done", firing(engine.Verdict{Rule: "r", Outcome: engine.Fired}, engine.Done, ""), []string{"fire", "r"}, "\nr fired\nRun 7 is done\n", 0},
		{"fired and failed", firing(engine.Verdict{Rule: "r", Outcome: engine.Fired}, engine.FailedRun, "404"), []string{"fire", "r"}, "\nr fired\nRun 7 is failed: 404\n", 1},
		{"not true", firing(engine.Verdict{Rule: "r", Outcome: engine.False, Clause: `contact.name == "x"`}, "", ""), []string{"fire", "r"}, "\nr false: contact.name == \"x\"\n", 1},
		{"gathered", firing(engine.Verdict{Rule: "r", Outcome: engine.Gathered}, "", ""), []string{"fire", "r"}, "\nr gathered\n", 0},
		{"not known to the engine", firing(engine.Verdict{Rule: "another", Outcome: engine.False}, "", ""), []string{"fire", "r"}, "\nThe engine has not asked the rule r", 1},
		{"cancelled", asked(engine.Cancelled, "the customer called"), []string{"runs", "cancel", "2"}, "Run 2 is cancelled: the customer called\n", 0},
		{"finished before it was cancelled", asked(engine.Done, ""), []string{"runs", "cancel", "2"}, "Run 2 is done\n", 1},
		{"retried", asked(engine.Done, ""), []string{"runs", "retry", "3"}, "Run 3 is done\n", 0},
		{"retried in vain", asked(engine.FailedRun, ""), []string{"runs", "retry", "3"}, "Run 3 is failed: move_card: 404 not_found: there is no such card\n", 1},
		{"resolved", asked(engine.Done, ""), []string{"runs", "resolve", "4", "--done"}, "Run 4 is done\n", 0},
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
