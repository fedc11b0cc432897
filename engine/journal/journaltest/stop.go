package journaltest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// stopTests are about calls that must not begin because a hold covers them.
var stopTests = []test{
	{"a call of what is stopped does not begin", stopCalls},
	{"an event is not recorded with a call of what is stopped", stopFresh},
	{"a rule that is stopped begins no run", stopStarts},
	{"who stops something is told of the calls under way", stopNames},
	{"a call that begins while something is stopped is refused or named", stopAtOnce},
}

// Records of a step whose call may be under way, and of one whose call has ended.
const (
	calling  = `{"at":"2026-11-13T12:00:00Z","intent":{"call":"send","generation":0,"at":"2026-11-13T12:00:00Z","request":{}},"tried":"2026-11-13T12:00:01Z"`
	planned  = `{"at":"2026-11-13T12:00:00Z"}`
	answered = calling + `,"answered":true}`
	lost     = calling + `,"lost":true}`
)

// callStep returns a step with a record.
func callStep(n int, record string) *journal.Step {
	return &journal.Step{N: n, Path: fmt.Sprint(n + 1), Verb: "send_message", Key: fmt.Sprint("k", n), State: journal.StepOpen, Attempts: 1, Record: json.RawMessage(record)}
}

// callChange returns a change with which a call of a run begins.
func callChange(r *journal.Run, n int) *journal.Change {
	return &journal.Change{At: noon, Call: r, Runs: []*journal.RunChange{{Run: r, Steps: []*journal.Step{callStep(n, calling+"}")}}}, Take: []journal.Slot{{Key: "messages", Times: 1000, Per: time.Hour}}}
}

// stopCalls places holds that cover more and less than the rule of a run whose call is to begin.
func stopCalls(c *check) {
	l := c.claimNew("a")
	s := start(rules.Parallel, run("a", "r", "", "key"))
	c.begin(l, s)
	for i, h := range []struct {
		hold  journal.Hold
		stops bool
	}{
		{journal.Hold{Kind: journal.HoldPerson, Reason: "all"}, true},
		{journal.Hold{Workspace: ws, Kind: journal.HoldPerson}, true},
		{journal.Hold{Workspace: ws, Rule: "r", Kind: journal.HoldPerson, Reason: "it"}, true},
		{journal.Hold{Workspace: ws, Rule: "r", Kind: journal.HoldSafety}, true},
		{journal.Hold{Workspace: ws, Rule: "r", Lane: "a", Kind: journal.HoldSafety}, true},
		{journal.Hold{Workspace: ws, Rule: "r", Lane: "b", Kind: journal.HoldSafety}, false},
		{journal.Hold{Rule: "r", Kind: journal.HoldPerson}, true},
		{journal.Hold{Workspace: ws, Kind: journal.HoldKey, Until: at(-time.Minute)}, true},
		{journal.Hold{Workspace: ws, Kind: journal.HoldRate, Until: at(time.Second)}, true},
		{journal.Hold{Workspace: ws, Kind: journal.HoldRate, Until: noon}, false}, // it has expired
		{journal.Hold{Workspace: "other", Kind: journal.HoldPerson}, false},
		{journal.Hold{Workspace: ws, Rule: "other", Kind: journal.HoldPerson}, false},
		{journal.Hold{Workspace: "other", Rule: "r", Kind: journal.HoldPerson}, false},
	} {
		h.hold.Since = at(-time.Minute)
		c.hold(h.hold)
		err := c.Save(c.Context(), l, callChange(s.Run, i))
		held, refused := errors.AsType[*journal.HeldError](err)
		if refused != h.stops || err != nil && !refused {
			c.Fatalf("with %+v: %v", h.hold, err)
		}
		if refused {
			c.equal("what stops it", held.Hold, h.hold)
		}
		steps := slices.DeleteFunc(c.find(s.Run.ID).Steps, func(st *journal.Step) bool { return st.N != i })
		c.equal(fmt.Sprintf("steps with %+v", h.hold), len(steps) == 0, h.stops)
		// A change without a call is recorded all the same.
		c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: s.Run, Steps: []*journal.Step{callStep(i, planned)}}}})
		_, err = c.Lift(c.Context(), noon, h.hold)
		c.ok(err)
		c.ok(c.Save(c.Context(), l, callChange(s.Run, i)))
	}
	c.finishLane(l)
}

// stopFresh refuses a fresh event with a call; without the call, it is recorded.
func stopFresh(c *check) {
	l := c.openLane("a")
	_, r, change := decidedEvent("it", "a")
	c.hold(journal.Hold{Workspace: ws, Kind: journal.HoldPerson, Since: noon})
	change.Call = r
	if _, refused := errors.AsType[*journal.HeldError](c.Save(c.Context(), l, change)); !refused {
		c.Fatal("the call begins")
	}
	c.Drop(l)
	if _, err := c.FindEvent(c.Context(), ws, "it"); !errors.Is(err, journal.ErrNoEvent) {
		c.Fatalf("the event: %v", err)
	}
	c.accept(event("it", "a"))
	c.finishLane(c.claimLane(noon, "a"))
}

// stopStarts starts runs of a rule that is on hold, of another, and of one that was put on hold
// while its run was claimed.
func stopStarts(c *check) {
	l := c.claimNew("a")
	held := run("a", "r", "", "held")
	held.State, held.WakeAt = journal.Held, time.Time{}
	starts := []*journal.Start{start(rules.Parallel, run("a", "r", "", "1")), start(rules.Parallel, run("a", "other", "", "2")), start(rules.Parallel, held)}
	c.hold(journal.Hold{Workspace: ws, Rule: "r", Kind: journal.HoldPerson, Reason: "holiday", Since: noon})
	c.hold(journal.Hold{Workspace: ws, Kind: journal.HoldRate, Since: noon, Until: at(time.Minute)}) // a hold of the whole workspace does not prevent a run from being recorded
	c.begin(l, starts...)
	var begun []bool
	for _, s := range starts {
		begun = append(begun, s.Begun)
	}
	c.equal("begun", begun, []bool{false, true, true})
	c.equal("the verdict", *starts[0].Verdict, journal.Verdict{Rule: "r", Outcome: journal.Paused, Error: "holiday", Version: "v-r"})
	_, err := c.Lift(c.Context(), noon, journal.Hold{Workspace: ws, Rule: "r", Kind: journal.HoldPerson})
	c.ok(err)
	again := start(rules.Parallel, run("a", "r", "", "1"))
	c.begin(l, again)
	c.equal("begun when it is lifted", again.Begun, true)
}

// allHandles returns the journal as every process sees it that can place holds.
func (c *check) allHandles() map[string]Journal {
	all := map[string]Journal{"the engine": c.Journal}
	if c.Second != nil {
		all["another engine"] = c.Second(c.T, c.Journal)
	}
	if c.Beside != nil {
		all["a command"] = c.Beside(c.T, c.Journal)
	}
	return all
}

// stopNames has calls in every state, of runs that have just started and of older ones.
func stopNames(c *check) {
	all := c.allHandles()
	old, other := c.claimNew("old"), c.claimNew("other")
	before, elsewhere := start(rules.Parallel, run("old", "r", "", "before")), start(rules.Parallel, run("other", "r2", "", "elsewhere"))
	c.begin(old, before)
	c.begin(other, elsewhere)
	for _, l := range []*journal.Lane{old, other} {
		c.save(l, journal.Change{Decided: l.Events, Release: true, Next: noon})
	}
	lanes := c.claim(noon, "old", "other")
	old, other = lanes[0], lanes[1]
	c.ok(c.Save(c.Context(), old, callChange(old.Runs[0], 0)))
	c.ok(c.Save(c.Context(), other, callChange(other.Runs[0], 0)))

	l := c.claimNew("a")
	first, over := run("a", "r", "", "first"), run("a", "r", "", "over")
	first.Steps, over.Steps = []*journal.Step{callStep(0, calling+"}")}, []*journal.Step{callStep(0, answered), callStep(1, lost), callStep(2, planned)}
	c.ok(c.Save(c.Context(), l, &journal.Change{At: noon, Call: first, Starts: []*journal.Start{start(rules.Parallel, first)}}))
	c.begin(l, start(rules.Parallel, over))

	named := func(r *journal.Run, step string) journal.UnderWay {
		return journal.UnderWay{Run: r.ID, Key: r.Key, Workspace: ws, Rule: r.Rule, Lane: r.Lane, Step: step, Verb: "send_message", Since: at(time.Second)}
	}
	check := func(h journal.Hold, want ...journal.UnderWay) {
		c.Helper()
		h.Kind, h.Since = journal.HoldPerson, noon
		for who, j := range all {
			got, err := j.Hold(c.Context(), h)
			c.ok(err)
			slices.SortFunc(got, func(a, b journal.UnderWay) int { return cmp.Compare(a.Run, b.Run) })
			c.equal(fmt.Sprintf("named to %s with %+v", who, h), got, want)
			_, err = j.Lift(c.Context(), noon, h)
			c.ok(err)
		}
	}
	check(journal.Hold{}, named(before.Run, "1"), named(elsewhere.Run, "1"), named(first, "1"))
	check(journal.Hold{Workspace: ws}, named(before.Run, "1"), named(elsewhere.Run, "1"), named(first, "1"))
	check(journal.Hold{Workspace: ws, Rule: "r"}, named(before.Run, "1"), named(first, "1"))
	check(journal.Hold{Workspace: "another"})

	// The next call of a run that has just started, and the answers.
	done := callStep(0, answered)
	done.State = journal.StepDone
	c.ok(c.Save(c.Context(), l, &journal.Change{At: noon, Call: first, Runs: []*journal.RunChange{{Run: first, Steps: []*journal.Step{done, callStep(1, calling+"}")}}}}))
	c.save(old, journal.Change{Runs: []*journal.RunChange{{Run: old.Runs[0], Steps: []*journal.Step{callStep(0, answered)}}}})
	c.finish(other, other.Runs[0], journal.Done)
	check(journal.Hold{}, named(first, "2"))
	c.finish(l, first, journal.Done)
	check(journal.Hold{})
}

// stopAtOnce begins calls, one after another in each lane, until they are refused, while a hold is
// placed: every call that has begun by then has ended, or is returned by Hold.
func stopAtOnce(c *check) {
	const lanes, rounds = 12, 10
	for i := range lanes {
		c.accept(event(fmt.Sprint(i), fmt.Sprint("lane ", i)))
	}
	claimed := c.claimAll()
	c.equal("lanes", len(claimed), lanes)
	for who, j := range c.allHandles() {
		for i := range rounds {
			hold := journal.Hold{Kind: journal.HoldPerson, Since: noon}
			if i%2 == 0 {
				hold.Workspace, hold.Rule = ws, "r"
			}
			var begun sync.Map // by the keys of the runs
			var group sync.WaitGroup
			for _, l := range claimed {
				group.Go(func() {
					for k := 0; ; k++ {
						r := run(l.Name, "r", "", fmt.Sprintf("%s, round %d, %s, %d", who, i, l.Name, k))
						r.Steps = []*journal.Step{callStep(0, calling+"}")}
						err := c.Save(c.Context(), l, &journal.Change{At: noon, Call: r, Starts: []*journal.Start{start(rules.Parallel, r)}})
						if _, held := errors.AsType[*journal.HeldError](err); held {
							return
						}
						begun.Store(r.Key, true)
						over := *r
						over.State, over.FinishedAt = journal.Done, noon
						if err == nil {
							err = c.Save(c.Context(), l, &journal.Change{At: noon, Runs: []*journal.RunChange{{Run: &over}}})
						}
						if err != nil {
							c.Error(err)
							return
						}
					}
				})
			}
			time.Sleep(time.Duration(i) * time.Millisecond)
			named, err := j.Hold(c.Context(), hold)
			c.ok(err)
			known := map[any]bool{}
			begun.Range(func(key, _ any) bool { known[key] = true; return true })
			for _, u := range named {
				known[u.Key] = true
			}
			stopped := make(chan struct{})
			go func() { group.Wait(); close(stopped) }()
			select {
			case <-stopped:
			case <-time.After(20 * time.Second):
				c.Fatalf("calls go on and on that %s has stopped", who)
			}
			begun.Range(func(key, _ any) bool {
				if !known[key] {
					c.Errorf("it was stopped, and this began and was not named: %s", key)
				}
				return true
			})
			_, err = j.Lift(c.Context(), noon, hold)
			c.ok(err)
		}
	}
}
