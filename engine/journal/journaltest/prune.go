package journaltest

import (
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var pruneTests = []test{
	{"what is old is forgotten, and what is needed stays", prunes},
	{"an id outlives its event", prunesIDs},
	{"much is forgotten in parts", prunesMuch},
	{"what is caused and the sources of rules are forgotten", prunesRest},
}

const (
	day  = 24 * time.Hour
	keep = 30 * day
)

// pruneAll deletes everything that is old at a time, and returns in how many batches.
func (c *check) pruneAll(now time.Time) (batches int) {
	c.Helper()
	for more := true; more; batches++ {
		var err error
		more, err = c.Prune(c.Context(), now, keep)
		c.ok(err)
		if batches > 1000 {
			c.Fatal("prune does not come to an end")
		}
	}
	return batches
}

func (c *check) hasEvent(id string, want bool) {
	c.Helper()
	e, err := c.FindEvent(c.Context(), ws, id)
	if want {
		c.ok(err)
		c.equal("data of "+id, e.Data, map[string]any{"id": id})
	} else if !errors.Is(err, journal.ErrNoEvent) {
		c.Errorf("event %s: %v", id, err)
	}
}

func prunes(c *check) {
	c.accept(event("plain", "a"), event("of a waiting run", "a"), event("gathered 1", "a"), event("gathered 2", "a"), event("being gathered", "a"), event("of a done run", "a"), event("undecided", "b"))
	recent := event("recent", "a")
	recent.ReceivedAt = at(2 * day)
	c.accept(recent)
	lanes := c.claimAfter(2 * day)
	l := c.withAllEvents(lanes[0])
	seq := map[string]int64{}
	for _, e := range l.Events {
		e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.False}}
		seq[e.ID] = e.Seq
	}
	waiting, gathered, done, late := run("a", "r", "", "waiting"), run("a", "r", "", "gathered"), run("a", "r", "", "done"), run("a", "r", "", "late")
	dealt := run("a", "r", "", "dealt")
	dealt.State, dealt.Event, dealt.FinishedAt = journal.Dealt, seq["of a done run"], noon
	waiting.State, waiting.Event, waiting.Steps = journal.Waiting, seq["of a waiting run"], []*journal.Step{{Verb: "wait"}}
	gathered.State, gathered.Event, gathered.Gathered = journal.Waiting, seq["gathered 2"], []int64{seq["gathered 1"], seq["gathered 2"]}
	done.State, done.Event, done.FinishedAt = journal.Done, seq["of a done run"], noon
	late.State, late.Event, late.FinishedAt = journal.Done, seq["recent"], at(2*day)
	c.save(l, journal.Change{Decided: l.Events, Gather: []journal.Gather{{Workspace: ws, Rule: "g", Events: []int64{seq["being gathered"]}, Quiet: 90 * day}},
		Starts: []*journal.Start{start(rules.Parallel, waiting), start(rules.Parallel, gathered), start(rules.Parallel, done), start(rules.Parallel, dealt), start(rules.Parallel, late)}})

	c.pruneAll(at(keep - time.Hour))
	c.hasEvent("plain", true)
	c.find(done.ID)

	c.pruneAll(at(keep + day))
	for _, id := range []string{"of a waiting run", "gathered 1", "gathered 2", "being gathered", "undecided", "recent"} {
		c.hasEvent(id, true)
	}
	for _, id := range []string{"plain", "of a done run"} {
		c.hasEvent(id, false)
	}
	listed, err := c.ListEvents(c.Context(), journal.EventFilter{})
	c.ok(err)
	c.equal("listed", len(listed), 6)
	happened, err := c.Happened(c.Context(), ws, "a", []string{"message.received"}, time.Time{}, 100)
	c.ok(err)
	c.equal("happened, as far as it is known", len(happened), 5)
	count, err := c.Count(c.Context(), ws, "a", "message.received", time.Time{})
	c.ok(err)
	c.equal("count", count, 7)
	read, err := c.Events(c.Context(), seq["plain"], seq["recent"])
	c.ok(err)
	c.equal("read", ids(read), []string{"recent"})
	for _, r := range []*journal.Run{done, dealt} {
		if _, err := c.FindRun(c.Context(), r.ID); !errors.Is(err, journal.ErrNoRun) {
			c.Errorf("a run that was %s: %v", r.State, err)
		}
	}
	c.find(late.ID)
	c.equal("steps of the waiting run", len(c.find(waiting.ID).Steps), 1)

	// A finished run with a request stays.
	c.ok(c.Ask(c.Context(), at(keep), late.ID, journal.Ask{What: journal.AskRetry}))
	c.pruneAll(at(keep + 3*day))
	c.find(late.ID)
	// When the run has finished, its event goes too.
	c.finish(l, waiting, journal.Done)
	c.pruneAll(at(keep + 3*day))
	c.hasEvent("of a waiting run", false)
}

func prunesIDs(c *check) {
	l := c.claimNew("a")
	id := l.Events[0].ID
	c.finishLane(l)
	again := event(id, "a")
	known := func() bool {
		fresh, err := c.Accept(c.Context(), []rules.Event{again})
		c.ok(err)
		return !fresh[0]
	}
	c.pruneAll(at(keep + 15*day - time.Hour))
	c.hasEvent(id, false)
	c.equal("known before the 15 days are over", known(), true)
	c.claim(noon)
	c.pruneAll(at(keep + 15*day + time.Hour))
	c.equal("known after", known(), false)

	// Without keep, nothing is deleted.
	c.finishLane(c.claimLane(noon, "a"))
	if more, err := c.Prune(c.Context(), at(1000*day), 0); err != nil || more {
		c.Errorf("prune without a bound: %v, %v", more, err)
	}
	c.hasEvent(id, true)
}

// prunesMuch has many old events and runs that must stay before many that are deleted.
func prunesMuch(c *check) {
	const n = 1300
	var events []rules.Event
	for i := range n {
		lane := "a"
		if i < n/2 {
			lane = "undecided"
		}
		events = append(events, event(fmt.Sprint(i), lane))
	}
	c.accept(events...)
	lanes := map[string]*journal.Lane{}
	for _, l := range c.claim(noon, "a", "undecided") {
		lanes[l.Name] = l
	}
	decided := c.withAllEvents(lanes["a"])
	var starts []*journal.Start
	for i := range n {
		r := run("a", "r", "", fmt.Sprint(i))
		r.State, r.Steps = journal.Done, []*journal.Step{{Path: "1"}, {N: 1, Path: "2"}}
		if i < n/2 {
			r.State = journal.Waiting
		}
		starts = append(starts, start(rules.Parallel, r))
	}
	c.save(decided, journal.Change{Decided: decided.Events, Starts: starts, Release: true})
	if parts := c.pruneAll(at(keep + day)); parts < 3 {
		c.Errorf("it was done in %d parts", parts)
	}
	left, err := c.ListEvents(c.Context(), journal.EventFilter{Limit: 2 * n})
	c.ok(err)
	c.equal("events left", len(left), n/2)
	runs, err := c.ListRuns(c.Context(), journal.RunFilter{Limit: 2 * n})
	c.ok(err)
	c.equal("runs left", len(runs), n/2)
	for _, r := range runs {
		c.equal("the state of a run that is left", r.State, journal.Waiting)
	}
}

func prunesRest(c *check) {
	l := c.claimNew("a")
	r := run("a", "used", "", "1")
	c.save(l, journal.Change{Caused: []journal.Caused{{Workspace: ws, Object: "m1"}}, Starts: []*journal.Start{start(rules.Parallel, r)},
		Take: []journal.Slot{{Key: "short", Times: 1, Per: time.Minute}, {Key: "long", Times: 1, Per: 100 * day}}})
	old := run("a", "unused", "", "2")
	old.State = journal.Done
	c.save(l, journal.Change{Starts: []*journal.Start{start(rules.Parallel, old)}})
	has := func(now time.Duration, want bool) {
		c.Helper()
		c.pruneAll(at(now))
		found, err := c.Caused(c.Context(), ws, "", []string{"m1"}, time.Time{})
		c.ok(err)
		c.equal("caused", len(found) == 1, want)
	}
	has(keep+14*day, true)
	has(keep+16*day, false)
	c.equal("a slot of a window that is not over", c.take(l, at(99*day), journal.Slot{Key: "long", Times: 1, Per: 100 * day}), false)

	// A version is deleted with its last run, and comes back with the next.
	later := c.Crash(c.T, c.Journal)
	for range 10 {
		more, err := later.Prune(c.Context(), at(keep+16*day), keep)
		c.ok(err)
		if !more {
			break
		}
	}
	if _, err := later.Version(c.Context(), "v-used"); err != nil {
		c.Error(err)
	}
	if _, err := later.Version(c.Context(), "v-unused"); err == nil {
		c.Error("the version of a rule without runs is still there")
	}
	c.begin(l, start(rules.Parallel, run("a", "unused", "", "3")))
	if _, err := c.Version(c.Context(), "v-unused"); err != nil {
		c.Error(err)
	}
}
