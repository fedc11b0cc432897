//go:build cgo

package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/stored"
	"github.com/quandohq/quando/rules"
)

// patient is a journal whose drafts stay until somebody asks for them.
var patient = Options{stay: time.Hour}

// begin opens a lane for an event that begins a run with a call, which is not over.
func begin(t *testing.T, j *Journal, event, name string, set ...func(*engine.Start)) (*engine.Lane, *engine.Run) {
	t.Helper()
	lane := j.Open("default", name)
	if lane == nil {
		t.Fatalf("the lane %s is not opened", name)
	}
	_, c := decided(event, name)
	c.Release = false
	run := starts(c, engine.Running)
	for _, set := range set {
		set(c.Starts[0])
	}
	save(t, j, lane, c)
	return lane, run
}

func save(t *testing.T, j *Journal, lane *engine.Lane, c *engine.Change) {
	t.Helper()
	if c.At.IsZero() {
		c.At = time.Now()
	}
	if err := j.Save(t.Context(), lane, c); err != nil {
		t.Fatal(err)
	}
}

// goOn ends a run's last step and begins another.
func goOn(t *testing.T, j *Journal, lane *engine.Lane, run *engine.Run) {
	t.Helper()
	last := run.Steps[len(run.Steps)-1]
	last.State, last.Record = engine.StepDone, []byte(`{"answer":1}`)
	run.Steps = append(run.Steps, &engine.Step{N: last.N + 1, Path: fmt.Sprint(len(run.Steps) + 1), Verb: "add_label", Key: fmt.Sprint("k", len(run.Steps)), State: engine.StepOpen, Attempts: 1, Record: []byte(`{"intent":1}`)})
	save(t, j, lane, &engine.Change{Runs: []*engine.RunChange{{Run: run, Steps: run.Steps[len(run.Steps)-2:]}}})
}

// end ends a run and gives its lane back.
func end(t *testing.T, j *Journal, lane *engine.Lane, run *engine.Run) {
	t.Helper()
	last := run.Steps[len(run.Steps)-1]
	last.State, run.State, run.FinishedAt = engine.StepDone, engine.Done, time.Now()
	save(t, j, lane, &engine.Change{Release: true, Runs: []*engine.RunChange{{Run: run, Steps: []*engine.Step{last}}}})
}

// rowsOf counts the rows of a table, without asking the journal for anything.
func rowsOf(t *testing.T, j *Journal, table string) (n int) {
	t.Helper()
	if err := j.reads.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// died returns the file as it is, as if the engine were gone.
func died(t *testing.T, file string) string {
	t.Helper()
	k, err := OpenKeeper(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "left.db")
	if err := errors.Join(k.Backup(t.Context(), left, func(string) error { return nil }), k.Close()); err != nil {
		t.Fatal(err)
	}
	return left
}

// found returns a run as it is kept, in the times and the order that all journals keep.
func found(t *testing.T, j *Journal, id int64) *engine.Run {
	t.Helper()
	r, err := j.FindRun(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A run is put among the runs when it is over, once, and nothing is left of the draft that it was.
func TestDraftsComeToAnEnd(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), patient)
	lanes, runs := map[int]*engine.Lane{}, map[int]*engine.Run{}
	for i := range 5 {
		lanes[i], runs[i] = begin(t, j, fmt.Sprint("event ", i), fmt.Sprint("lane ", i))
	}
	if n, rows := rowsOf(t, j, "runs"), rowsOf(t, j, "drafts"); n != 0 || rows != 5 {
		t.Errorf("%d runs and %d rows of drafts while somebody works on them", n, rows)
	}
	for i := range 5 {
		if i%2 == 0 {
			goOn(t, j, lanes[i], runs[i])
		}
		end(t, j, lanes[i], runs[i])
	}
	if n, rows, due := rowsOf(t, j, "runs"), rowsOf(t, j, "drafts"), rowsOf(t, j, "lanes"); n != 5 || rows != 0 || due != 0 {
		t.Errorf("%d runs, %d rows of drafts, %d lanes are due", n, rows, due)
	}
	for i, r := range runs {
		if got := found(t, j, r.ID); got.State != engine.Done || len(got.Steps) != len(r.Steps) || got.Steps[0].State != engine.StepDone || got.Event != int64(i+1) {
			t.Errorf("%+v", got)
		}
	}
}

// What an engine that died was working on is found by the next one as it was recorded last, and what was over is not found again.
func TestDraftsOfAnEngineThatDied(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, patient)
	first, one := begin(t, j, "first", "lane 1")
	second, two := begin(t, j, "second", "lane 2", func(st *engine.Start) {
		st.Run.Ancestry, st.Run.Reason, st.Run.Steps[0].Error = []string{"greet", "label"}, "\xff\x00 it is so", `"quoted"`
		st.Run.WakeAt = time.Now()
		st.Run.Steps[0].N, st.Run.Steps[0].Attempts = 70_000, 900 // as in a long list, after many attempts
	})
	third, three := begin(t, j, "third", "lane 3")
	end(t, j, first, one)
	goOn(t, j, second, two)
	goOn(t, j, third, three)
	goOn(t, j, third, three)
	left := died(t, file)
	want := map[int64]*engine.Run{one.ID: found(t, j, one.ID), two.ID: found(t, j, two.ID), three.ID: found(t, j, three.ID)}

	k, err := OpenKeeper(t.Context(), left, true)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if report, err := k.Check(t.Context(), func(string) {}); err != nil || len(report.Findings) > 0 {
		t.Errorf("%v %v", report, err)
	}

	j = open(t, left, Options{})
	lanes, err := j.Claim(t.Context(), time.Now().Add(time.Minute), 10, nil)
	if err != nil || len(lanes) != 2 || rowsOf(t, j, "drafts") != 0 {
		t.Fatalf("%d lanes are due, %d rows of drafts are left: %v", len(lanes), rowsOf(t, j, "drafts"), err)
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
	if diff := cmp.Diff(want[one.ID], found(t, j, one.ID)); diff != "" {
		t.Error(diff)
	}
	if _, four := begin(t, j, "fourth", "lane 4"); four.ID != three.ID+1 {
		t.Errorf("the next run has the number %d", four.ID)
	}
}

// Drafts that began in one transaction go on each for itself, and the newest of each counts.
func TestDraftsOfOneTransaction(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, patient)
	held, begun := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_ = j.writer.write(t.Context(), &operation{do: func(*tx) error {
			close(begun)
			<-held
			return nil
		}})
	})
	<-begun
	var lanes [3]*engine.Lane
	var runs [3]*engine.Run
	for i := range runs {
		lanes[i] = j.Open("default", fmt.Sprint("lane ", i))
		_, c := decided(fmt.Sprint("event ", i), lanes[i].Name)
		c.Release = false
		runs[i] = starts(c, engine.Running)
		group.Go(func() {
			if err := j.Save(t.Context(), lanes[i], c); err != nil {
				t.Error(err)
			}
		})
	}
	for j.writer.Len() < len(runs) {
		time.Sleep(time.Millisecond)
	}
	close(held)
	group.Wait()
	goOn(t, j, lanes[0], runs[0])
	end(t, j, lanes[1], runs[1])
	if rows := rowsOf(t, j, "drafts"); rows != 2 {
		t.Errorf("%d rows of drafts", rows)
	}
	after := open(t, died(t, file), Options{})
	for i, want := range []struct {
		state engine.State
		steps int
	}{{engine.Running, 2}, {engine.Done, 1}, {engine.Running, 1}} {
		if got := found(t, after, runs[i].ID); got.State != want.state || len(got.Steps) != want.steps {
			t.Errorf("%d: %+v", i, got)
		}
	}
	end(t, j, lanes[0], runs[0])
	end(t, j, lanes[2], runs[2])
	if rows := rowsOf(t, j, "drafts"); rows != 0 {
		t.Errorf("%d rows of drafts are left", rows)
	}
}

// A journal that no engine uses and that is copied, looked after or looked at has everything in its place.
func TestDraftsOfAJournalThatIsCopied(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, patient)
	begin(t, j, "first", "lane 1")
	runs := func(rows func(*stored.Table) ([][]any, error)) {
		t.Helper()
		for _, table := range []string{"runs", "steps", "lanes"} {
			if got, err := rows(stored.Named(table)); err != nil || len(got) != 1 {
				t.Errorf("%s: %v %v", table, got, err)
			}
		}
	}
	c, err := OpenCopy(t.Context(), died(t, file), true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	runs(func(table *stored.Table) ([][]any, error) { return c.Rows(t.Context(), table, nil, 10) })
	k, err := OpenKeeper(t.Context(), died(t, file), false)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	runs(func(table *stored.Table) ([][]any, error) { return k.Rows(t.Context(), table, nil, 10) })

	looks := open(t, died(t, file), Options{Beside: true})
	runs(func(table *stored.Table) ([][]any, error) {
		return readRows(t.Context(), looks.reads, table, "true", nil, 10)
	})

	beside, err := OpenKeeper(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	open(t, file, Options{Beside: true})
	if rowsOf(t, j, "drafts") != 1 {
		t.Error("somebody else has placed what an engine works on")
	}
}

// Whoever asks for a run finds it, however it is recorded, and it comes to the same end.
func TestDraftsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	same := func(mode rules.Mode) func(*engine.Start) {
		return func(st *engine.Start) { st.Mode, st.Max, st.Run.By = mode, 1, "the same" }
	}
	for name, ask := range map[string]func(t *testing.T, j *Journal, lane *engine.Lane, run *engine.Run){
		"by somebody who looks": func(t *testing.T, j *Journal, _ *engine.Lane, run *engine.Run) {
			list, err := j.ListRuns(t.Context(), engine.RunFilter{State: engine.Running})
			counts, err2 := j.CountRuns(t.Context())
			if err != nil || err2 != nil || len(list) != 1 || list[0].ID != run.ID || len(list[0].Steps) != 1 || counts[engine.Running] != 1 {
				t.Errorf("%+v %v %v %v", list, counts, err, err2)
			}
		},
		"by one that may not run beside it": func(t *testing.T, j *Journal, _ *engine.Lane, run *engine.Run) {
			lane := j.Open("default", "another")
			e, c := decided("another", "another")
			starts(c, engine.Running)
			same(rules.Single)(c.Starts[0])
			if save(t, j, lane, c); e.Verdicts[0].Outcome != engine.Skipped {
				t.Errorf("%+v", e.Verdicts[0])
			}
		},
		"by one that waits for it": func(t *testing.T, j *Journal, _ *engine.Lane, run *engine.Run) {
			lane := j.Open("default", "another")
			_, c := decided("another", "another")
			next := starts(c, engine.Running)
			same(rules.Queued)(c.Starts[0])
			c.Starts[0].Max = 5
			if save(t, j, lane, c); next.State != engine.Queued {
				t.Errorf("it is %s", next.State)
			}
		},
		"by one in the same transaction": func(t *testing.T, j *Journal, _ *engine.Lane, run *engine.Run) {
			lane := j.Open("default", "another")
			e, c := decided("another", "another")
			first := starts(c, engine.Running)
			e.Verdicts = append(e.Verdicts, engine.Verdict{Rule: "greet", Outcome: engine.Fired})
			second := *first
			second.Key += "/2"
			c.Starts[0].Verdict, c.Release = &e.Verdicts[0], false
			c.Starts = append(c.Starts, &engine.Start{Run: &second, Mode: rules.Single, Source: "source", Verdict: &e.Verdicts[1]})
			first.By, second.By = "mine", "mine"
			if save(t, j, lane, c); e.Verdicts[1].Outcome != engine.Skipped {
				t.Errorf("%+v", e.Verdicts)
			}
		},
		"to be cancelled": func(t *testing.T, j *Journal, _ *engine.Lane, run *engine.Run) {
			if err := j.Ask(t.Context(), time.Now(), run.ID, engine.Ask{What: engine.AskCancel}); err != nil {
				t.Error(err)
			}
			if got := found(t, j, run.ID); got.Asked == nil {
				t.Error("nobody sees what was asked")
			}
		},
		"by what is forgotten": func(t *testing.T, j *Journal, _ *engine.Lane, run *engine.Run) {
			if _, err := j.Prune(t.Context(), time.Now().Add(48*time.Hour), time.Hour); err != nil {
				t.Error(err)
			}
			if got, err := j.Events(t.Context(), run.Event); err != nil || len(got) != 1 {
				t.Errorf("the event of a run under way is gone: %v", err)
			}
		},
		"by nobody, for a while": func(t *testing.T, j *Journal, _ *engine.Lane, run *engine.Run) {
			beside := open(t, j.file, Options{Beside: true})
			for i, id := range []int64{run.ID, run.ID + 1} { // the second is begun when the first has waited for long
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
					r, err := beside.FindRun(t.Context(), id)
					if err == nil && r.State == engine.Running && len(r.Steps) == 1 {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("%d %+v %v", i, r, err)
					}
					if i == 0 && rowsOf(t, j, "drafts") == 1 && time.Since(run.StartedAt) > 600*time.Millisecond {
						begin(t, j, "another", "another")
					}
				}
			}
		},
		"by its key, once more": func(t *testing.T, j *Journal, lane *engine.Lane, run *engine.Run) {
			again := *run
			again.ID, again.Event = 0, run.Event
			st := &engine.Start{Run: &again, Source: "source"}
			if save(t, j, lane, &engine.Change{Starts: []*engine.Start{st}}); again.ID != run.ID || st.Begun {
				t.Errorf("it is begun again, as %d", again.ID)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "quando.db")
			j := open(t, file, Options{stay: time.Second})
			lane, run := begin(t, j, "it", "lane", same(rules.Parallel))
			ask(t, j, lane, run)
			if n := rowsOf(t, j, "runs"); n == 0 {
				t.Error("it is not among the runs")
			}
			after := open(t, died(t, file), Options{})
			if due := claimed(t, after); !slices.Contains(due, "lane") {
				t.Errorf("if nobody finishes it, the lanes %v are due", due)
			}
			goOn(t, j, lane, run)
			end(t, j, lane, run)
			if got := found(t, j, run.ID); got.State != engine.Done || len(got.Steps) != 2 || got.Steps[0].State != engine.StepDone || got.Steps[1].State != engine.StepDone {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A transaction that comes to nothing leaves drafts as they were.
func TestDraftsOfATransactionThatFails(t *testing.T) {
	t.Parallel()
	var broken error
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{stay: time.Hour, Fail: func(p Point) error {
		if p == BeforeCommit {
			return broken
		}
		return nil
	}})
	lane, run := begin(t, j, "first", "lane 1")
	broken = errors.New("no")
	run.Steps[0].State = engine.StepDone
	if err := j.Save(t.Context(), lane, &engine.Change{At: time.Now(), Release: true, Runs: []*engine.RunChange{{Run: run, Steps: run.Steps}}}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	other := j.Open("default", "lane 2")
	_, c := decided("second", "lane 2")
	c.Release = false
	starts(c, engine.Running)
	if err := j.Save(t.Context(), other, c); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	broken = nil
	end(t, j, lane, run)
	if n, rows := rowsOf(t, j, "runs"), rowsOf(t, j, "drafts"); n != 1 || rows != 0 {
		t.Errorf("%d runs, %d rows of drafts", n, rows)
	}
	if _, third := begin(t, j, "third", "lane 3"); third.ID != run.ID+1 {
		t.Errorf("a run that never was has a number: the next one's is %d", third.ID)
	}
}

// Whatever a row of drafts holds, it is read or refused.
func FuzzDrafts(f *testing.F) {
	record, text := "{}", "text"
	var c coder
	for _, d := range []*draft{
		{},
		{run: engine.Run{ID: 7, Key: "k", Event: 9, StartedAt: time.Now(), State: engine.Running, Stage: rules.Live}, texts: stored.Run{Gathered: &text, About: "{}"},
			steps: []engine.Step{{N: 2, Path: "3", State: engine.StepOpen, Attempts: 1, Record: []byte(record)}, {N: 3, Error: "\xff"}}},
	} {
		c.draft(d)
		f.Add(c.bytes)
		f.Add(c.bytes[:len(c.bytes)-1])
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		in := coder{bytes: bytes, reading: true}
		var list []*draft
		for len(in.bytes) > 0 {
			d := &draft{}
			in.draft(d)
			list = append(list, d)
		}
		if in.failed() != nil {
			return
		}
		var out coder
		for _, d := range list {
			out.draft(d)
		}
		again := coder{bytes: out.bytes, reading: true}
		for _, d := range list {
			twin := &draft{}
			again.draft(twin)
			if diff := cmp.Diff(d, twin, cmp.AllowUnexported(draft{})); diff != "" || again.failed() != nil {
				t.Errorf("%v %s", again.failed(), diff)
			}
		}
	})
}
