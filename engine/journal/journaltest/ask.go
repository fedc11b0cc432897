package journaltest

import (
	"errors"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

var askTests = []test{
	{"what is asked of a run reaches whoever has its lane", asks},
	{"what is asked while a lane is claimed is news", asksDuringClaim},
	{"a finished run can be asked", asksFinished},
	{"an answer leaves what was asked after it", asksAgain},
	{"a holder can ask", asksByHolder},
	{"holds are kept and replaced", holds},
	{"a lifted hold makes the lanes of held runs due", holdsLifted},
	{"a run that is recorded as held by nothing makes its lane due", heldByNothing},
}

// startReleased starts a run in a lane and releases the lane.
func (c *check) startReleased(lane, rule, key string) *journal.Run {
	c.Helper()
	l := c.claimNew(lane)
	s := start(rules.Parallel, run(lane, rule, "", key))
	c.save(l, journal.Change{Decided: l.Events, Starts: []*journal.Start{s}, Release: true})
	return s.Run
}

func asks(c *check) {
	r := c.startReleased("a", "r", "key")
	if err := c.Ask(c.Context(), noon, r.ID+1, journal.Ask{What: journal.AskCancel}); !errors.Is(err, journal.ErrNoRun) {
		c.Errorf("a run that is not there: %v", err)
	}
	c.due(time.Time{})
	ask := journal.Ask{What: journal.AskCancel, Reason: "not wanted", At: at(time.Second)}
	c.ok(c.Ask(c.Context(), at(time.Second), r.ID, ask))
	c.due(at(time.Second))
	l := c.claimLane(at(time.Second), "a")
	c.equal("asked", l.Runs[0].Asked, &ask)

	unanswered := *l.Runs[0]
	unanswered.Asked = nil
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: &unanswered}}})
	c.equal("asked", c.find(r.ID).Asked, &ask)
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: l.Runs[0], Answered: true}}, Release: true})
	c.equal("asked", c.find(r.ID).Asked, (*journal.Ask)(nil))
	c.due(time.Time{})
}

func asksDuringClaim(c *check) {
	r := c.startReleased("a", "r", "key")
	l := c.claimNew("a")
	c.ok(c.Ask(c.Context(), noon, r.ID, journal.Ask{What: journal.AskDone, At: noon}))
	c.claim(noon)
	c.finishLane(l)
	c.equal("asked", c.claimLane(noon, "a").Runs[0].Asked.What, journal.AskDone)
}

func asksFinished(c *check) {
	r := c.startReleased("a", "r", "key")
	l := c.claimNew("a")
	c.finish(l, r, journal.FailedRun)
	c.finishLane(l)
	c.ok(c.Ask(c.Context(), noon, r.ID, journal.Ask{What: journal.AskRetry, At: noon}))
	l = c.claimLane(noon, "a")
	c.equal("runs", len(l.Runs), 1)
	c.equal("state", l.Runs[0].State, journal.FailedRun)
	l.Runs[0].State = journal.Dealt
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: l.Runs[0], Answered: true}}, Release: true, Next: noon})
	c.equal("runs after the answer", len(c.claimLane(noon, "a").Runs), 0)
	c.equal("state after the answer", c.find(r.ID).State, journal.Dealt)
	failed, err := c.ListRuns(c.Context(), journal.RunFilter{State: journal.FailedRun})
	c.ok(err)
	c.equal("failed runs that nobody has dealt with", len(failed), 0)
}

func asksAgain(c *check) {
	r := c.startReleased("a", "r", "key")
	c.ok(c.Ask(c.Context(), noon, r.ID, journal.Ask{What: journal.AskRepeat, At: noon}))
	l := c.claimLane(noon, "a")
	second := journal.Ask{What: journal.AskCancel, At: at(time.Second)}
	c.ok(c.Ask(c.Context(), noon, r.ID, second))
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: l.Runs[0], Answered: true}}, Release: true})
	c.equal("asked", c.claimLane(noon, "a").Runs[0].Asked, &second)
}

func asksByHolder(c *check) {
	here, there := c.startReleased("a", "r", "1"), c.startReleased("b", "r", "2")
	l := c.claimNew("a")
	ask := journal.Ask{What: journal.AskCancel, Reason: "why", At: at(time.Minute)}
	c.save(l, journal.Change{At: at(time.Minute), Decided: l.Events, Asks: []journal.RunAsk{{Run: here.ID, Ask: ask}, {Run: there.ID, Ask: ask}, {Run: there.ID + 100, Ask: ask}}, Release: true})
	lanes := c.claimAfter(time.Minute)
	c.equal("lanes", len(lanes), 2)
	for _, l := range lanes {
		c.equal("asked in "+l.Name, l.Runs[0].Asked, &ask)
	}
}

func holds(c *check) {
	person := journal.Hold{Workspace: ws, Rule: "r", Kind: journal.HoldPerson, Reason: "holiday", Since: noon}
	rate := journal.Hold{Workspace: ws, Kind: journal.HoldRate, Reason: "limit: 4 per 29s", Why: phrases.New(phrases.Limit, 4, "29s"), Since: noon, Until: at(time.Minute)}
	all := journal.Hold{Kind: journal.HoldPerson, Since: at(time.Second)}
	lane := journal.Hold{Workspace: ws, Rule: "r", Lane: "a", Kind: journal.HoldPerson, Since: noon}
	for _, h := range []journal.Hold{person, rate, lane, all} {
		c.hold(h)
	}
	rate.Until, rate.Reason = at(time.Hour), "429 again"
	c.hold(rate)
	check := func(want ...journal.Hold) {
		c.Helper()
		got, err := c.Holds(c.Context())
		c.ok(err)
		c.equal("holds", got, want)
	}
	check(all, rate, person, lane)
	for _, no := range []journal.Hold{{Workspace: ws, Rule: "r", Kind: journal.HoldSafety}, {Workspace: ws, Rule: "other", Kind: journal.HoldPerson}, {Workspace: ws, Rule: "r", Lane: "b", Kind: journal.HoldPerson}, {Workspace: "other", Rule: "r", Kind: journal.HoldPerson}} {
		lifted, err := c.Lift(c.Context(), noon, no)
		c.ok(err)
		c.equal("lifted what was not held", lifted, false)
	}
	lifted, err := c.Lift(c.Context(), noon, journal.Hold{Workspace: ws, Rule: "r", Kind: journal.HoldPerson})
	c.ok(err)
	c.equal("lifted", lifted, true)
	check(all, rate, lane)
}

func holdsLifted(c *check) {
	everything := journal.Hold{Kind: journal.HoldPerson, Since: noon}
	c.hold(everything)
	for _, place := range []struct{ workspace, rule, state string }{
		{ws, "r", "held"}, {ws, "other", "held"}, {"w2", "r", "held"}, {ws, "r", "waiting"},
	} {
		e := event(place.workspace+place.rule+place.state, "of "+place.workspace+" "+place.rule+" "+place.state)
		e.Workspace = place.workspace
		c.accept(e)
		l := c.claimLane(noon, e.Lane)
		r := run(e.Lane, place.rule, "", e.ID)
		r.Workspace, r.State = place.workspace, journal.State(place.state)
		c.save(l, journal.Change{Decided: l.Events, Starts: []*journal.Start{start(rules.Parallel, r)}, Release: true})
	}
	for _, h := range []struct {
		hold journal.Hold
		want map[string]bool
	}{
		{journal.Hold{Workspace: ws, Rule: "r"}, map[string]bool{"of default r held": true}},
		{journal.Hold{Workspace: ws}, map[string]bool{"of default r held": true, "of default other held": true}},
		{journal.Hold{Rule: "r"}, map[string]bool{"of default r held": true, "of w2 r held": true}},
		{journal.Hold{}, map[string]bool{"of default r held": true, "of default other held": true, "of w2 r held": true}},
	} {
		h.hold.Kind = journal.HoldKey
		if lifted, err := c.Lift(c.Context(), noon, journal.Hold{Workspace: h.hold.Workspace, Rule: h.hold.Rule, Kind: journal.HoldKey}); err != nil || lifted {
			c.Fatalf("lifted %v, %v", lifted, err)
		}
		c.due(time.Time{})
		c.hold(h.hold)
		_, err := c.Lift(c.Context(), at(time.Minute), journal.Hold{Workspace: h.hold.Workspace, Rule: h.hold.Rule, Kind: journal.HoldKey})
		c.ok(err)
		c.claim(noon)
		due := map[string]bool{}
		for _, l := range c.claimAfter(time.Minute) {
			due[l.Name] = true
			c.finishLane(l)
		}
		c.equal("due lanes", due, h.want)
	}
}

// heldByNothing records runs as held, a new one and a continued one, after their hold was lifted.
func heldByNothing(c *check) {
	c.hold(journal.Hold{Workspace: ws, Rule: "another", Kind: journal.HoldPerson, Since: noon})
	l := c.claimNew("a")
	r := run("a", "r", "", "key")
	r.State = journal.Held
	c.save(l, journal.Change{At: noon, Decided: l.Events, Starts: []*journal.Start{start(rules.Parallel, r)}, Release: true})
	c.due(noon)
	l = c.claimLane(noon, "a")
	c.save(l, journal.Change{At: noon, Runs: []*journal.RunChange{{Run: l.Runs[0]}}, Release: true})
	c.due(noon)
	c.hold(journal.Hold{Workspace: ws, Rule: "r", Kind: journal.HoldPerson, Since: noon})
	l = c.claimLane(noon, "a")
	c.save(l, journal.Change{At: noon, Runs: []*journal.RunChange{{Run: l.Runs[0]}}, Release: true})
	c.due(time.Time{})
}
