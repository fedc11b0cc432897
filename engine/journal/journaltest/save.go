package journaltest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var saveTests = []test{
	{"verdicts are recorded with their event", saveVerdicts},
	{"a refused change leaves nothing", saveRefused},
	{"many changes at once do not disturb each other", saveAtOnce},
	{"a cursor is where it was set", saveCursor},
	{"a cursor is swapped where it is what was thought", swapCursor},
	{"of many who swap a cursor at once one does", swapCursorAtOnce},
	{"a rule's version is kept", saveVersion},
}

func saveVerdicts(c *check) {
	l := c.claimNew("a")
	e := l.Events[0]
	e.Verdicts = []journal.Verdict{
		{Rule: "no", Outcome: journal.False, Clause: "x > 1", Values: map[string]any{"x": 0.5, "y": nil}, Version: "v"},
		{Rule: "yes", Outcome: journal.Fired},
		{Rule: "skip", Outcome: journal.Fired},
		{Rule: "odd", Outcome: journal.Failed, Error: "it is odd", Values: map[string]any{"x": math.NaN(), "y": 1.0}},
	}
	yes, skip := start(rules.Single, run("a", "yes", "", "yes")), start(rules.Single, run("a", "yes", "", "skip"))
	yes.Verdict, skip.Verdict = &e.Verdicts[1], &e.Verdicts[2]
	c.save(l, journal.Change{Decided: l.Events, Starts: []*journal.Start{yes, skip}, Release: true})

	got, err := c.FindEvent(c.Context(), ws, e.ID)
	c.ok(err)
	c.equal("decided", got.Decided, true)
	// NaN must not prevent an event from being decided.
	c.equal("a value that JSON does not know", got.Verdicts[3].Values["x"], any("NaN"))
	e.Verdicts[3].Values["x"] = "NaN"
	c.equal("verdicts", got.Verdicts, e.Verdicts)
	c.equal("outcome", []journal.Outcome{e.Verdicts[1].Outcome, e.Verdicts[2].Outcome}, []journal.Outcome{journal.Fired, journal.Skipped})
	c.equal("the run of the verdict", e.Verdicts[1].Run, "yes")
	if v := e.Verdicts[2]; v.Run != "" || v.Error == "" {
		c.Errorf("a verdict without a run: %+v", v)
	}
}

// saveRefused saves changes with everything that a change can have, each with one reason to be
// refused.
func saveRefused(c *check) {
	l := c.claimNew("a")
	slot := journal.Slot{Key: "full", Times: 1, Per: time.Hour}
	old := start(rules.Parallel, run("a", "old", "", "old"))
	c.save(l, journal.Change{Take: []journal.Slot{slot}, Starts: []*journal.Start{old}, Gather: []journal.Gather{{Workspace: ws, Rule: "g", Events: []int64{1}, Quiet: time.Minute}}})
	before := c.find(old.Run.ID)

	fullChange := func() *journal.Change {
		changed := *old.Run
		changed.State, changed.Reason = journal.Done, "changed"
		e := *l.Events[0]
		e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Fired}}
		s := start(rules.Parallel, run("b", "r", "", "new"))
		s.Verdict, s.Limit = &e.Verdicts[0], &journal.Slot{Key: "limit", Times: 1, Per: time.Hour}
		return &journal.Change{
			At: noon, Take: []journal.Slot{{Key: "free", Times: 1, Per: time.Hour}}, Decided: []*journal.Event{&e}, Starts: []*journal.Start{s},
			Gather: []journal.Gather{{Workspace: ws, Rule: "other", Events: []int64{2}, Quiet: time.Minute}},
			Runs:   []*journal.RunChange{{Run: &changed, Steps: []*journal.Step{{N: 0, Verb: "wait"}}}},
			Caused: []journal.Caused{{Workspace: ws, Object: "m1", Event: "message.sent"}}, Asks: []journal.RunAsk{{Run: old.Run.ID, Ask: journal.Ask{What: journal.AskCancel}}},
			Release: true, Next: noon,
		}
	}
	bound, grown, lost := fullChange(), fullChange(), fullChange()
	bound.Take = append(bound.Take, slot)
	grown.Ended = []*journal.Gather{{Workspace: ws, Rule: "g", Events: []int64{0}}}

	var full *journal.BoundError
	if err := c.Save(c.Context(), l, bound); !errors.As(err, &full) || full.Slot != slot {
		c.Fatalf("a full slot: %v", err)
	}
	if err := c.Save(c.Context(), l, grown); !errors.Is(err, journal.ErrChanged) {
		c.Fatalf("a gather that has grown: %v", err)
	}
	other := *l
	other.Epoch--
	if err := c.Save(c.Context(), &other, lost); !errors.Is(err, journal.ErrLost) {
		c.Fatalf("a lost lane: %v", err)
	}
	for _, change := range []*journal.Change{bound, grown, lost} {
		c.equal("the caller's start", *change.Starts[0].Run, *run("b", "r", "", "new"))
		c.equal("the caller's verdict", *change.Starts[0].Verdict, journal.Verdict{Rule: "r", Outcome: journal.Fired})
	}
	c.claim(noon) // neither released nor due elsewhere
	c.equal("the run", c.find(old.Run.ID), before)
	e, err := c.FindEvent(c.Context(), ws, l.Events[0].ID)
	c.ok(err)
	c.equal("the event", e, l.Events[0])
	caused, err := c.Caused(c.Context(), ws, "", []string{"m1"}, time.Time{})
	c.ok(err)
	c.equal("caused", len(caused), 0)

	c.save(l, *fullChange()) // takes everything that the refused changes did not
	c.claim(noon, "a", "b")
}

// saveAtOnce has many workers save concurrently, a third of them without success.
func saveAtOnce(c *check) {
	const n = 60
	for i := range n {
		c.accept(event(fmt.Sprint(i), fmt.Sprint("lane ", i)))
	}
	lanes := c.claimAll()
	c.equal("lanes", len(lanes), n)
	var group sync.WaitGroup
	for i, l := range lanes {
		group.Go(func() {
			for k := range 10 {
				s := start(rules.Parallel, run(l.Name, "r", "", fmt.Sprint(l.Name, " ", k)))
				s.Run.Steps = []*journal.Step{{Path: "1", Verb: "wait"}}
				change := &journal.Change{At: noon, Starts: []*journal.Start{s}, Take: []journal.Slot{{Key: l.Name, Times: 100, Per: time.Hour}}}
				holder := *l
				if i%3 == 0 {
					holder.Epoch--
				}
				err := c.Save(c.Context(), &holder, change)
				if lost := errors.Is(err, journal.ErrLost); lost != (i%3 == 0) || err != nil && !lost {
					c.Errorf("%s: %v", l.Name, err)
				}
			}
			if err := c.Save(c.Context(), l, &journal.Change{At: noon, Decided: l.Events, Release: true, Next: at(time.Hour)}); err != nil {
				c.Error(err)
			}
		})
	}
	group.Wait()
	want := map[string]int{}
	for i, l := range lanes {
		if i%3 != 0 {
			want[l.Name] = 10
		}
	}
	for _, l := range c.claimAfter(time.Hour) {
		c.equal("runs of "+l.Name, len(l.Runs), want[l.Name])
	}
	counts, err := c.CountRuns(c.Context())
	c.ok(err)
	c.equal("runs", counts, map[journal.State]int{journal.Running: n / 3 * 2 * 10})
}

func saveCursor(c *check) {
	value, err := c.Cursor(c.Context(), "backfill")
	c.ok(err)
	c.equal("cursor", value, "")
	for _, want := range []string{"1", "2 ' 😀", ""} {
		c.ok(c.SetCursor(c.Context(), "backfill", want))
		c.ok(c.SetCursor(c.Context(), "other", "x"))
		value, err := c.Cursor(c.Context(), "backfill")
		c.ok(err)
		c.equal("cursor", value, want)
	}
}

func swapCursor(c *check) {
	swap := func(old, value string, want bool, kept string) {
		c.Helper()
		swapped, err := c.SwapCursor(c.Context(), "state", old, value)
		c.ok(err)
		c.equal("swapped from "+old, swapped, want)
		got, err := c.Cursor(c.Context(), "state")
		c.ok(err)
		c.equal("cursor", got, kept)
	}
	swap("x", "1", false, "")
	swap("", "1 ' \x00 😀", true, "1 ' \x00 😀")
	swap("", "2", false, "1 ' \x00 😀")
	swap("1", "2", false, "1 ' \x00 😀")
	swap("1 ' \x00 😀", "2", true, "2")
	swap("2", "2", true, "2")
	swap("2", "", true, "")
	swap("", "3", true, "3")
	c.ok(c.SetCursor(c.Context(), "state", "4"))
	swap("3", "5", false, "4")
	other, err := c.Cursor(c.Context(), "other")
	c.ok(err)
	c.equal("another cursor", other, "")
}

// swapCursorAtOnce has several callers increment one number, in two engines and beside them if the
// journal supports that: every successful swap counts once.
func swapCursorAtOnce(c *check) {
	const each = 10
	all := []Journal{c.Journal, c.Journal}
	if c.Second != nil {
		all = append(all, c.Second(c.T, c.Journal))
	}
	if c.Beside != nil {
		all = append(all, c.Beside(c.T, c.Journal))
	}
	var wait sync.WaitGroup
	for _, j := range all {
		wait.Go(func() {
			for done := 0; done < each; {
				old, err := j.Cursor(c.Context(), "counter")
				if err != nil {
					c.Error(err)
					return
				}
				n, _ := strconv.Atoi(old)
				swapped, err := j.SwapCursor(c.Context(), "counter", old, strconv.Itoa(n+1))
				if err != nil {
					c.Error(err)
					return
				}
				if swapped {
					done++
				}
			}
		})
	}
	wait.Wait()
	got, err := c.Cursor(c.Context(), "counter")
	c.ok(err)
	c.equal("counter", got, strconv.Itoa(each*len(all)))
}

func saveVersion(c *check) {
	l := c.claimNew("a")
	if _, err := c.Version(c.Context(), "v-r"); !errors.Is(err, journal.ErrNoVersion) {
		c.Errorf("a version before any run: %v", err)
	}
	skipped := start(rules.Parallel, run("a", "r", "", "none"))
	skipped.Limit = &journal.Slot{Key: "k", Per: time.Hour}
	c.begin(l, skipped) // it is refused, and must not count as one that has recorded the source
	again := start(rules.Parallel, run("a", "r", "", "2"))
	again.Source = ""
	c.begin(l, start(rules.Parallel, run("a", "r", "", "1")), again)
	source, err := c.Version(c.Context(), "v-r")
	c.ok(err)
	c.equal("source", source, "source of r")
}
