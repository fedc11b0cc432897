//go:build cgo

package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// beginRun opens a lane for an event that starts a run with a call, which is under way.
func beginRun(t *testing.T, j *Journal, event, name string, set ...func(*journal.Start)) (*journal.Lane, *journal.Run) {
	t.Helper()
	lane := j.Open("default", name)
	if lane == nil {
		t.Fatalf("the lane %s is not opened", name)
	}
	_, c := decided(event, name)
	c.Release = false
	run := starts(c, journal.Running)
	for _, set := range set {
		set(c.Starts[0])
	}
	save(t, j, lane, c)
	return lane, run
}

func save(t *testing.T, j *Journal, lane *journal.Lane, c *journal.Change) {
	t.Helper()
	if c.At.IsZero() {
		c.At = time.Now()
	}
	if err := j.Save(t.Context(), lane, c); err != nil {
		t.Fatal(err)
	}
}

// continueRun ends a run's last step and begins another.
func continueRun(t *testing.T, j *Journal, lane *journal.Lane, run *journal.Run) {
	t.Helper()
	last := run.Steps[len(run.Steps)-1]
	last.State, last.Record = journal.StepDone, []byte(`{"answer":1}`)
	run.Steps = append(run.Steps, &journal.Step{N: last.N + 1, Path: fmt.Sprint(len(run.Steps) + 1), Verb: "add_label", Key: fmt.Sprint("k", len(run.Steps)), State: journal.StepOpen, Attempts: 1, Record: []byte(`{"intent":1}`)})
	save(t, j, lane, &journal.Change{Runs: []*journal.RunChange{{Run: run, Steps: run.Steps[len(run.Steps)-2:]}}})
}

// endRun ends a run and releases its lane.
func endRun(t *testing.T, j *Journal, lane *journal.Lane, run *journal.Run) {
	t.Helper()
	last := run.Steps[len(run.Steps)-1]
	last.State, run.State, run.FinishedAt = journal.StepDone, journal.Done, time.Now()
	save(t, j, lane, &journal.Change{Release: true, Runs: []*journal.RunChange{{Run: run, Steps: []*journal.Step{last}}}})
}

// crashedCopy returns a copy of the file as it is, as if the engine had crashed.
func crashedCopy(t *testing.T, file string) string {
	t.Helper()
	k, err := OpenKeeper(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	crashed := filepath.Join(t.TempDir(), "left.db")
	if err := errors.Join(k.Backup(t.Context(), crashed, func(string) error { return nil }), k.Close()); err != nil {
		t.Fatal(err)
	}
	return crashed
}

// findRun returns a run as it is stored, with times and order as all journals store them.
func findRun(t *testing.T, j *Journal, id int64) *journal.Run {
	t.Helper()
	r, err := j.FindRun(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEngineThatDied: the next engine finds the unfinished runs of an engine that crashed as they
// were recorded last, and no finished ones.
func TestEngineThatDied(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, Options{})
	first, one := beginRun(t, j, "first", "lane 1")
	second, two := beginRun(t, j, "second", "lane 2", func(st *journal.Start) {
		st.Run.Ancestry, st.Run.Reason, st.Run.Steps[0].Error = []string{"greet", "label"}, "\xff\x00 it is so", `"quoted"`
		st.Run.WakeAt = time.Now()
		st.Run.Steps[0].N, st.Run.Steps[0].Attempts = 70_000, 900 // as in a long list, after many attempts
	})
	third, three := beginRun(t, j, "third", "lane 3")
	endRun(t, j, first, one)
	continueRun(t, j, second, two)
	continueRun(t, j, third, three)
	continueRun(t, j, third, three)
	crashed := crashedCopy(t, file)
	want := map[int64]*journal.Run{one.ID: findRun(t, j, one.ID), two.ID: findRun(t, j, two.ID), three.ID: findRun(t, j, three.ID)}

	k, err := OpenKeeper(t.Context(), crashed, true)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if report, err := k.Check(t.Context(), func(string) {}); err != nil || len(report.Findings) > 0 {
		t.Errorf("%v %v", report, err)
	}

	j = open(t, crashed, Options{})
	lanes, err := j.Claim(t.Context(), time.Now().Add(time.Minute), 10, nil)
	if err != nil || len(lanes) != 2 {
		t.Fatalf("%d lanes are due: %v", len(lanes), err)
	}
	for _, l := range lanes {
		if len(l.Runs) != 1 || len(l.Events) != 0 {
			t.Errorf("%+v", l)
			continue
		}
		if diff := cmp.Diff(want[l.Runs[0].ID], l.Runs[0]); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(want[one.ID], findRun(t, j, one.ID)); diff != "" {
		t.Error(diff)
	}
	if _, four := beginRun(t, j, "fourth", "lane 4"); four.ID != three.ID+1 {
		t.Errorf("the next run has the number %d", four.ID)
	}
}

// TestRunsUnderWay asks for a run while its lane is claimed: the run is found, and ends the same.
func TestRunsUnderWay(t *testing.T) {
	t.Parallel()
	same := func(mode rules.Mode) func(*journal.Start) {
		return func(st *journal.Start) { st.Mode, st.Max, st.Run.By = mode, 1, "the same" }
	}
	for name, ask := range map[string]func(t *testing.T, j *Journal, lane *journal.Lane, run *journal.Run){
		"by somebody who looks": func(t *testing.T, j *Journal, _ *journal.Lane, run *journal.Run) {
			list, err := j.ListRuns(t.Context(), journal.RunFilter{State: journal.Running})
			counts, err2 := j.CountRuns(t.Context())
			if err != nil || err2 != nil || len(list) != 1 || list[0].ID != run.ID || len(list[0].Steps) != 1 || counts[journal.Running] != 1 {
				t.Errorf("%+v %v %v %v", list, counts, err, err2)
			}
		},
		"by one that may not run beside it": func(t *testing.T, j *Journal, _ *journal.Lane, run *journal.Run) {
			lane := j.Open("default", "another")
			e, c := decided("another", "another")
			starts(c, journal.Running)
			same(rules.Single)(c.Starts[0])
			if save(t, j, lane, c); e.Verdicts[0].Outcome != journal.Skipped {
				t.Errorf("%+v", e.Verdicts[0])
			}
		},
		"by one that waits for it": func(t *testing.T, j *Journal, _ *journal.Lane, run *journal.Run) {
			lane := j.Open("default", "another")
			_, c := decided("another", "another")
			next := starts(c, journal.Running)
			same(rules.Queued)(c.Starts[0])
			c.Starts[0].Max = 5
			if save(t, j, lane, c); next.State != journal.Queued {
				t.Errorf("it is %s", next.State)
			}
		},
		"by one in the same transaction": func(t *testing.T, j *Journal, _ *journal.Lane, run *journal.Run) {
			lane := j.Open("default", "another")
			e, c := decided("another", "another")
			first := starts(c, journal.Running)
			e.Verdicts = append(e.Verdicts, journal.Verdict{Rule: "greet", Outcome: journal.Fired})
			second := *first
			second.Key += "/2"
			c.Starts[0].Verdict, c.Release = &e.Verdicts[0], false
			c.Starts = append(c.Starts, &journal.Start{Run: &second, Mode: rules.Single, Source: "source", Verdict: &e.Verdicts[1]})
			first.By, second.By = "mine", "mine"
			if save(t, j, lane, c); e.Verdicts[1].Outcome != journal.Skipped {
				t.Errorf("%+v", e.Verdicts)
			}
		},
		"to be cancelled": func(t *testing.T, j *Journal, _ *journal.Lane, run *journal.Run) {
			if err := j.Ask(t.Context(), time.Now(), run.ID, journal.Ask{What: journal.AskCancel}); err != nil {
				t.Error(err)
			}
			if got := findRun(t, j, run.ID); got.Asked == nil {
				t.Error("nobody sees what was asked")
			}
		},
		"by what is forgotten": func(t *testing.T, j *Journal, _ *journal.Lane, run *journal.Run) {
			if _, err := j.Prune(t.Context(), time.Now().Add(48*time.Hour), time.Hour); err != nil {
				t.Error(err)
			}
			if got, err := j.Events(t.Context(), run.Event); err != nil || len(got) != 1 {
				t.Errorf("the event of a run under way is gone: %v", err)
			}
		},
		"by its key, once more": func(t *testing.T, j *Journal, lane *journal.Lane, run *journal.Run) {
			again := *run
			again.ID, again.Event = 0, run.Event
			st := &journal.Start{Run: &again, Source: "source"}
			if save(t, j, lane, &journal.Change{Starts: []*journal.Start{st}}); again.ID != run.ID || st.Begun {
				t.Errorf("it is begun again, as %d", again.ID)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "quando.db")
			j := open(t, file, Options{})
			lane, run := beginRun(t, j, "it", "lane", same(rules.Parallel))
			ask(t, j, lane, run)
			after := open(t, crashedCopy(t, file), Options{})
			if due := claimed(t, after); !slices.Contains(due, "lane") {
				t.Errorf("if nobody finishes it, the lanes %v are due", due)
			}
			continueRun(t, j, lane, run)
			endRun(t, j, lane, run)
			if got := findRun(t, j, run.ID); got.State != journal.Done || len(got.Steps) != 2 || got.Steps[0].State != journal.StepDone || got.Steps[1].State != journal.StepDone {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestTransactionThatFails: a transaction that is rolled back leaves runs as they were.
func TestTransactionThatFails(t *testing.T) {
	t.Parallel()
	var broken error
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{Fail: func(p Point) error {
		if p == BeforeCommit {
			return broken
		}
		return nil
	}})
	lane, run := beginRun(t, j, "first", "lane 1")
	broken = errors.New("no")
	run.Steps[0].State = journal.StepDone
	if err := j.Save(t.Context(), lane, &journal.Change{At: time.Now(), Release: true, Runs: []*journal.RunChange{{Run: run, Steps: run.Steps}}}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	other := j.Open("default", "lane 2")
	_, c := decided("second", "lane 2")
	c.Release = false
	starts(c, journal.Running)
	if err := j.Save(t.Context(), other, c); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	broken = nil
	endRun(t, j, lane, run)
	if got := findRun(t, j, run.ID); got.State != journal.Done {
		t.Errorf("%+v", got)
	}
	if _, third := beginRun(t, j, "third", "lane 3"); third.ID != run.ID+1 {
		t.Errorf("a run that never was has a number: the next one's is %d", third.ID)
	}
}

// TestCopyOfAnEngineThatDied: a copy has the lane of a running run.
func TestCopyOfAnEngineThatDied(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	beginRun(t, open(t, file, Options{}), "first", "lane 1")
	c, err := OpenCopy(t.Context(), crashedCopy(t, file), true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, table := range []string{"runs", "steps", "lanes"} {
		if rows, err := c.Rows(t.Context(), stored.Named(table), nil, 10); err != nil || len(rows) != 1 {
			t.Errorf("%s: %v %v", table, rows, err)
		}
	}
}
