package journaltest

import (
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

var modeTests = []test{
	{"a rule's mode decides on the second run", modeSecond},
	{"a queued run begins when the one before it has finished", modePromotes},
	{"a queued run in the same lane is news for its holder", modePromotesHere},
	{"a queued run that is cancelled lets nobody pass", modeCancelledInQueue},
	{"restart asks the runs before to make way", modeRestart},
	{"max bounds the unfinished runs", modeMax},
	{"a limit bounds the runs of a time", modeLimit},
	{"the runs of one change see each other", modeWithin},
	{"a run that finishes makes way for one that starts in the same change", modeMakesWay},
}

// modeSecond starts a second run in another lane while a first one is unfinished.
func modeSecond(c *check) {
	for _, m := range []struct {
		mode    rules.Mode
		outcome journal.Outcome
		state   journal.State // of the second
		asked   bool          // the first
	}{
		{rules.Single, journal.Skipped, "", false},
		{rules.Queued, journal.Fired, journal.Queued, false},
		{rules.Restart, journal.Fired, journal.Queued, true},
		{rules.Parallel, journal.Fired, journal.Running, false},
	} {
		for _, other := range []string{"", "by", "rule", "workspace", "stage", "finished"} {
			name := fmt.Sprintf("%s, another %s", m.mode, other)
			first := start(m.mode, run("a "+name, "r "+name, "x", "first "+name))
			second := start(m.mode, run("b "+name, "r "+name, "x", "second "+name))
			second.Run.Steps = []*journal.Step{{Verb: "wait"}}
			l := c.claimNew("a " + name)
			c.begin(l, first)
			outcome, state, asked := journal.Fired, journal.Running, false
			switch other {
			case "":
				outcome, state, asked = m.outcome, m.state, m.asked
			case "by":
				second.Run.By = "y"
			case "rule":
				second.Run.Rule = "other " + name
			case "workspace":
				second.Run.Workspace = "other"
			case "stage": // shadow runs do not exclude others
				second.Run.Stage = rules.Shadow
			case "finished":
				c.finish(l, first.Run, journal.Done)
			}
			c.finishLane(l)
			from := c.claimNew("b " + name)
			c.save(from, journal.Change{Decided: from.Events, Starts: []*journal.Start{second}, Release: true})

			c.equal(name+": outcome", second.Verdict.Outcome, outcome)
			c.equal(name+": begun", second.Begun, state == journal.Running)
			c.equal(name+": first is asked", c.find(first.Run.ID).Asked != nil, asked)
			if state == "" {
				c.equal(name+": id", second.Run.ID, int64(0))
				c.equal(name+": reason", strings.Contains(second.Verdict.Error, "single"), true)
			} else {
				got := c.find(second.Run.ID)
				c.equal(name+": state", []journal.State{got.State, second.Run.State}, []journal.State{state, state})
				c.equal(name+": has its steps", len(got.Steps) == 1, state == journal.Running)
				c.equal(name+": run of the verdict", second.Verdict.Run, second.Run.Key)
			}
			for _, l := range c.claimAll() { // the lane of the run with a request, and of the other workspace
				c.finishLane(l)
			}
		}
	}
}

func modePromotes(c *check) {
	a, b, d := start(rules.Queued, run("a", "r", "", "a")), start(rules.Queued, run("b", "r", "", "b")), start(rules.Queued, run("d", "r", "", "d"))
	la := c.claimNew("a")
	c.begin(la, a)
	for _, s := range []*journal.Start{b, d} {
		l := c.claimNew(s.Run.Lane)
		c.begin(l, s)
		c.finishLane(l)
		c.claim(noon) // a queued run does not make its lane due
	}
	finished := *a.Run
	finished.State = journal.Done
	c.save(la, journal.Change{At: at(time.Minute), Decided: la.Events, Runs: []*journal.RunChange{{Run: &finished}}, Release: true})
	lb := c.claimLane(at(time.Minute), "b")
	c.equal("runs", len(lb.Runs), 1)
	c.equal("state", lb.Runs[0].State, journal.Running)
	c.equal("wakes at", lb.Runs[0].WakeAt, at(time.Minute))
	c.equal("the third", c.find(d.Run.ID).State, journal.Queued)
	c.finish(lb, lb.Runs[0], journal.FailedRun)
	c.finishLane(lb)
	ld := c.claimLane(noon, "d")
	c.equal("state", ld.Runs[0].State, journal.Running)
	c.finish(ld, ld.Runs[0], journal.Stopped)
	c.finishLane(ld)
	c.due(time.Time{})
}

func modePromotesHere(c *check) {
	l := c.claimNew("a")
	first, second := start(rules.Queued, run("a", "r", "", "1")), start(rules.Queued, run("a", "r", "", "2"))
	c.begin(l, first, second)
	c.finish(l, first.Run, journal.Done)
	c.save(l, journal.Change{Decided: l.Events, Release: true, Next: at(time.Hour)})
	l = c.claimLane(noon, "a")
	c.equal("runs", len(l.Runs), 1)
	c.equal("state", l.Runs[0].State, journal.Running)
	c.finishLane(l)
	c.due(time.Time{})
}

func modeCancelledInQueue(c *check) {
	l := c.claimNew("a")
	var runs []*journal.Run
	for i := range 4 {
		s := start(rules.Queued, run("a", "r", "", fmt.Sprint(i)))
		c.begin(l, s)
		runs = append(runs, s.Run)
	}
	states := func(want ...journal.State) {
		c.Helper()
		var got []journal.State
		for _, r := range runs {
			got = append(got, c.find(r.ID).State)
		}
		c.equal("states", got, want)
	}
	c.finish(l, runs[1], journal.Cancelled)
	states(journal.Running, journal.Cancelled, journal.Queued, journal.Queued)
	// The first and the third end together: the fourth begins.
	first, third := *runs[0], *runs[2]
	first.State, third.State = journal.Done, journal.Cancelled
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: &first}, {Run: &third}}})
	states(journal.Done, journal.Cancelled, journal.Cancelled, journal.Running)
}

func modeRestart(c *check) {
	la := c.claimNew("a")
	first, second, third := start(rules.Restart, run("a", "r", "", "1")), start(rules.Restart, run("b", "r", "", "2")), start(rules.Restart, run("b", "r", "", "3"))
	c.begin(la, first)
	c.finishLane(la)
	lb := c.claimNew("b")
	c.begin(lb, second, third)
	c.save(lb, journal.Change{Decided: lb.Events, Release: true})

	// A queued run is replaced at once.
	waited := c.find(second.Run.ID)
	c.equal("state", waited.State, journal.Cancelled)
	if waited.Reason == "" || !waited.FinishedAt.Equal(noon) {
		c.Errorf("the one between: %+v", waited)
	}
	la = c.claimLane(noon, "a")
	r := la.Runs[0]
	if r.ID != first.Run.ID || r.Asked == nil || r.Asked.What != journal.AskCancel || r.Asked.Reason == "" || !r.Asked.At.Equal(noon) {
		c.Errorf("run %d is asked %+v", r.ID, r.Asked)
	}
	c.equal("the newest", c.find(third.Run.ID).State, journal.Queued)
	r.State = journal.Cancelled
	c.save(la, journal.Change{Runs: []*journal.RunChange{{Run: r, Answered: true}}, Release: true})
	c.equal("the newest", c.find(third.Run.ID).State, journal.Running)
	c.equal("asked", c.find(first.Run.ID).Asked, (*journal.Ask)(nil))
	c.claim(noon, "b")
}

func modeMax(c *check) {
	for _, mode := range []rules.Mode{rules.Queued, rules.Parallel, rules.Restart, rules.Single} {
		l := c.claimNew("lane " + string(mode))
		var runs []*journal.Start
		for i := range 4 {
			s := start(mode, run(l.Name, string(mode), "", fmt.Sprint(mode, i)))
			s.Max = 2
			runs = append(runs, s)
			c.begin(l, s)
		}
		limited := 0
		for _, s := range runs {
			if s.Verdict.Outcome == journal.Limited {
				limited++
				c.equal("reason", strings.Contains(s.Verdict.Error, "2"), true)
			}
		}
		c.equal(string(mode)+": limited", limited, map[rules.Mode]int{rules.Queued: 2, rules.Parallel: 2}[mode])
		if limited > 0 {
			c.finish(l, runs[0].Run, journal.Done)
			s := start(mode, run(l.Name, string(mode), "", fmt.Sprint(mode, "again")))
			s.Max = 2
			c.begin(l, s)
			c.equal("after one has finished", s.Verdict.Outcome, journal.Fired)
		}
		c.save(l, journal.Change{Decided: l.Events, Release: true})
		for _, l := range c.claimAll() { // after a promotion
			c.finishLane(l)
		}
	}
}

func modeLimit(c *check) {
	l := c.claimNew("a")
	slot := journal.Slot{Key: "limit r", Times: 2, Per: 12 * time.Hour}
	try := func(d time.Duration, want journal.Outcome) {
		c.Helper()
		s := start(rules.Parallel, run("a", "r", "", fmt.Sprint(d)))
		s.Limit = &slot
		c.save(l, journal.Change{At: at(d), Starts: []*journal.Start{s}})
		c.equal(fmt.Sprint("after ", d), s.Verdict.Outcome, want)
		if want == journal.Limited {
			c.equal("reason", s.Verdict.Error, "limit: 2 per 12h")
			c.equal("why", s.Verdict.Why, phrases.New(phrases.Limit, 2, "12h"))
		}
	}
	try(0, journal.Fired)
	try(time.Hour, journal.Fired)
	try(2*time.Hour, journal.Limited)
	try(12*time.Hour-time.Microsecond, journal.Limited)
	try(12*time.Hour, journal.Fired)
	try(12*time.Hour+time.Microsecond, journal.Limited)
	try(13*time.Hour, journal.Fired)

	// A run that is refused for another reason takes no slot.
	single := start(rules.Single, run("a", "r", "", "single"))
	single.Limit = &journal.Slot{Key: "other", Times: 1, Per: time.Hour}
	c.begin(l, single)
	c.equal("outcome", single.Verdict.Outcome, journal.Skipped)
	free := start(rules.Parallel, run("a", "r", "", "free"))
	free.Limit = single.Limit
	c.begin(l, free)
	c.equal("outcome", free.Verdict.Outcome, journal.Fired)
}

func modeWithin(c *check) {
	l := c.claimNew("a")
	first, second, third := start(rules.Single, run("a", "r", "", "1")), start(rules.Single, run("a", "r", "", "2")), start(rules.Single, run("a", "r", "other", "3"))
	c.begin(l, first, second, third)
	c.equal("outcomes", []journal.Outcome{first.Verdict.Outcome, second.Verdict.Outcome, third.Verdict.Outcome}, []journal.Outcome{journal.Fired, journal.Skipped, journal.Fired})
}

func modeMakesWay(c *check) {
	l := c.claimNew("a")
	first, second := start(rules.Single, run("a", "r", "", "1")), start(rules.Single, run("a", "r", "", "2"))
	c.begin(l, first)
	finished := *first.Run
	finished.State, finished.FinishedAt = journal.Done, noon
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: &finished}}, Starts: []*journal.Start{second}})
	c.equal("begun", second.Begun, true)
}
