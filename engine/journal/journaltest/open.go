package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// openTests are about recording an event together with its verdicts.
var openTests = []test{
	{"an event is recorded with its verdicts, and nothing is left to do", openRecords},
	{"an event is not recorded beside what waits in its lane, nor twice", openOccupied},
	{"a lane that was opened is due when its engine is gone", openCrash},
	{"what comes into an opened lane makes it due", openNews},
	{"a run that waits makes the lane that was opened for it due", openWaits},
	{"an event that is not decided on when it is recorded is decided on behind that", openUndecided},
	{"an event that is recorded undecided waits in its lane when the engine is gone", openUndecidedCrash},
	{"of engines that open a lane at once one has it", openShared},
	{"an event that is decided on by two engines at once is recorded once, with one run", openTwice},
}

// openLane opens a lane.
func (c *check) openLane(name string) *journal.Lane {
	c.Helper()
	l := c.Journal.Open(ws, name)
	if l == nil {
		c.Fatalf("the lane %s is not opened", name)
	}
	return l
}

// decidedEvent returns a decided event, and the change that records it with a run.
func decidedEvent(id, lane string) (*journal.Event, *journal.Run, *journal.Change) {
	e := &journal.Event{Event: event(id, lane), Decided: true, Verdicts: []journal.Verdict{{Rule: "r", Outcome: journal.Fired}}}
	r := run(lane, "r", lane, ws+"/r/"+id)
	r.Steps = []*journal.Step{{Path: "1", Verb: "send_message", Key: "k", State: journal.StepOpen}}
	s := start(rules.Queued, r)
	s.Verdict = &e.Verdicts[0]
	return e, r, &journal.Change{At: noon, Fresh: e, Decided: []*journal.Event{e}, Starts: []*journal.Start{s}}
}

func openRecords(c *check) {
	l := c.openLane("a")
	if c.Journal.Open(ws, "a") != nil {
		c.Error("it is opened twice")
	}
	e, r, change := decidedEvent("it", "a")
	r.State, r.FinishedAt, change.Release = journal.Done, noon, true
	c.ok(c.Save(c.Context(), l, change))
	kept, err := c.FindEvent(c.Context(), ws, "it")
	c.ok(err)
	c.equal("the event's number", []int64{e.Seq, r.Event, c.find(r.ID).Event}, []int64{kept.Seq, kept.Seq, kept.Seq})
	c.equal("its verdict", kept.Decided && len(kept.Verdicts) == 1 && kept.Verdicts[0].Run == r.Key, true)
	c.equal("calm", l.Calm, true)
	c.claim(at(time.Hour))
	fresh, err := c.Accept(c.Context(), []rules.Event{event("it", "a")})
	c.ok(err)
	c.equal("fresh when it comes again", fresh, []bool{false})
	c.openLane("a")
}

func openOccupied(c *check) {
	for lane, occupy := range map[string]func(lane string){
		"another event":  func(lane string) { c.accept(event("another", lane)) },
		"a waiting run":  func(lane string) { c.leaveRun(lane, lane, journal.Waiting) },
		"a held run":     func(lane string) { c.leaveRun(lane, lane, journal.Held) },
		"a run far away": func(lane string) { c.leaveRun(lane, "elsewhere", journal.Waiting) },
		"the event itself": func(lane string) {
			c.accept(event("it in "+lane, "yet another"))
		},
	} {
		occupy(lane)
		l := c.Journal.Open(ws, lane)
		if l == nil {
			continue // the journal knows that something is pending in it
		}
		e, _, change := decidedEvent("it in "+lane, lane)
		if err := c.Save(c.Context(), l, change); !errors.Is(err, journal.ErrOccupied) || e.Seq != 0 {
			c.Errorf("%s: %v, the event has the number %d", lane, err, e.Seq)
		}
		c.Drop(l)
		fresh, err := c.Accept(c.Context(), []rules.Event{event("it in "+lane, lane)})
		c.ok(err)
		c.equal("fresh beside "+lane, fresh, []bool{lane != "the event itself"})
	}
}

// leaveRun leaves a run of a lane unfinished.
func (c *check) leaveRun(home, lane string, state journal.State) {
	c.Helper()
	l := c.openLane(home)
	_, r, change := decidedEvent("before in "+home, home)
	r.State, r.Lane, r.WakeAt, change.Release = state, lane, time.Time{}, true
	c.ok(c.Save(c.Context(), l, change))
}

func openCrash(c *check) {
	l := c.openLane("a")
	e, r, change := decidedEvent("it", "a")
	c.ok(c.Save(c.Context(), l, change))
	c.claim(at(time.Hour)) // the lane is claimed
	n := &check{T: c.T, Setup: c.Setup, Journal: c.Crash(c.T, c.Journal)}
	lanes, err := n.Claim(n.Context(), time.Now().Add(time.Hour), 10, nil)
	c.ok(err)
	c.equal("due", laneNames(lanes), []string{"a"})
	found := lanes[0]
	c.equal("what waits", len(found.Events) == 0 && len(found.Runs) == 1 && found.Runs[0].Key == r.Key && found.Runs[0].Event == e.Seq, true)
}

func openNews(c *check) {
	l := c.openLane("a")
	_, r, change := decidedEvent("it", "a")
	c.ok(c.Save(c.Context(), l, change))
	c.accept(event("another", "a"))
	c.claim(at(time.Hour))
	r.State, r.FinishedAt = journal.Done, noon
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: r}}, Release: true})
	c.equal("calm", l.Calm, false)
	c.equal("what waits", ids(c.claimLane(noon, "a").Events), []string{"another"})
}

func openWaits(c *check) {
	l := c.openLane("a")
	_, r, change := decidedEvent("it", "a")
	r.State, r.WakeAt, change.Release, change.Next = journal.Waiting, at(time.Hour), true, at(time.Hour)
	c.ok(c.Save(c.Context(), l, change))
	c.claim(noon)
	c.due(at(time.Hour))
	c.equal("what waits", c.claimLane(at(time.Hour), "a").Runs[0].ID, r.ID)
}

// recordFirst records an undecided event, in a lane that was opened for it.
func (c *check) recordFirst(l *journal.Lane, id string, release bool) *journal.Event {
	c.Helper()
	e := &journal.Event{Event: event(id, l.Name)}
	c.ok(c.Save(c.Context(), l, &journal.Change{At: noon, Fresh: e, Release: release}))
	kept, err := c.FindEvent(c.Context(), ws, id)
	c.ok(err)
	c.equal("recorded", []any{kept.Seq, kept.Decided}, []any{e.Seq, false})
	return e
}

func openUndecided(c *check) {
	l := c.openLane("a")
	e := c.recordFirst(l, "it", false)
	c.claim(at(time.Hour)) // the lane is claimed
	e.Decided, e.Verdicts = true, []journal.Verdict{{Rule: "r", Outcome: journal.False}}
	c.save(l, journal.Change{Decided: []*journal.Event{e}, Release: true})
	kept, err := c.FindEvent(c.Context(), ws, "it")
	c.ok(err)
	c.equal("decided", kept.Decided && len(kept.Verdicts) == 1, true)
	c.equal("calm", l.Calm, true)
	c.claim(at(time.Hour))

	c.recordFirst(c.openLane("b"), "another", true)
	c.equal("what waits", ids(c.claimLane(noon, "b").Events), []string{"another"})
}

func openUndecidedCrash(c *check) {
	c.recordFirst(c.openLane("a"), "it", false)
	n := &check{T: c.T, Setup: c.Setup, Journal: c.Crash(c.T, c.Journal)}
	c.equal("what waits", ids(n.claimLane(time.Now().Add(time.Hour), "a").Events), []string{"it"})
}

func openShared(c *check) {
	other := c.second()
	mine, theirs := c.openLane("a"), other.openLane("a")
	_, r, change := decidedEvent("mine", "a")
	c.ok(c.Save(c.Context(), mine, change))
	e, _, late := decidedEvent("theirs", "a")
	if err := other.Save(c.Context(), theirs, late); !errors.Is(err, journal.ErrOccupied) {
		c.Errorf("the other engine has it too: %v", err)
	}
	other.Drop(theirs)
	other.accept(e.Event)
	other.claim(at(time.Hour))
	c.Expire(c.T, c.Journal)
	taken := other.claimLane(noon, "a")
	c.equal("what waits", len(taken.Events)+len(taken.Runs), 2)
	r.State, r.FinishedAt = journal.Done, noon
	if err := c.Save(c.Context(), mine, &journal.Change{At: noon, Runs: []*journal.RunChange{{Run: r}}, Release: true}); !errors.Is(err, journal.ErrLost) {
		c.Errorf("what an engine hands in that was cut off: %v", err)
	}
}

func openTwice(c *check) {
	engines := []*check{c, c.second()}
	const n = 60
	var group sync.WaitGroup
	for i, e := range engines {
		for k := range 4 {
			group.Go(func() {
				for m := range n {
					if err := e.deliver(fmt.Sprint(m), fmt.Sprint("lane ", (m+k)%7), i == 0); err != nil {
						c.Error(err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	for _, l := range c.claimAfter(time.Hour) {
		c.finishLane(c.withAllEvents(l))
	}
	events, err := c.ListEvents(c.Context(), journal.EventFilter{Limit: 1000})
	c.ok(err)
	runs, err := c.ListRuns(c.Context(), journal.RunFilter{Limit: 1000})
	c.ok(err)
	c.equal("events", len(events), n)
	of := map[int64]int{}
	for _, r := range runs {
		of[r.Event]++
		c.equal("runs of one event", of[r.Event], 1)
	}
	for _, e := range events {
		c.equal("a run of "+e.ID, of[e.Seq] == 1, len(e.Verdicts) == 1)
	}
}

// deliver records an event, with its verdicts if possible, and with a run that ends at once or
// after another change.
func (c *check) deliver(id, lane string, atOnce bool) error {
	if l := c.Journal.Open(ws, lane); l != nil {
		_, r, change := decidedEvent(id, lane)
		if atOnce {
			r.State, r.FinishedAt, change.Release = journal.Done, noon, true
		}
		err := c.Save(c.Context(), l, change)
		if err == nil && !atOnce {
			r.State, r.FinishedAt = journal.Done, noon
			err = c.Save(c.Context(), l, &journal.Change{At: noon, Runs: []*journal.RunChange{{Run: r}}, Release: true})
		}
		if !errors.Is(err, journal.ErrOccupied) {
			return err
		}
		c.Drop(l)
	}
	_, err := c.Accept(c.Context(), []rules.Event{event(id, lane)})
	return err
}
