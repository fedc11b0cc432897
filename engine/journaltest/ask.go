package journaltest

import (
	"errors"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
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

// started begins a run in a lane and releases it.
func (c *check) started(lane, rule, key string) *engine.Run {
	c.Helper()
	l := c.fresh(lane)
	s := start(rules.Parallel, run(lane, rule, "", key))
	c.save(l, engine.Change{Decided: l.Events, Starts: []*engine.Start{s}, Release: true})
	return s.Run
}

func asks(c *check) {
	r := c.started("a", "r", "key")
	if err := c.Ask(c.Context(), noon, r.ID+1, engine.Ask{What: engine.AskCancel}); !errors.Is(err, engine.ErrNoRun) {
		c.Errorf("a run that is not there: %v", err)
	}
	c.due(time.Time{})
	ask := engine.Ask{What: engine.AskCancel, Reason: "not wanted", At: at(time.Second)}
	c.ok(c.Ask(c.Context(), at(time.Second), r.ID, ask))
	c.due(at(time.Second))
	l := c.lane(at(time.Second), "a")
	c.equal("asked", l.Runs[0].Asked, &ask)

	unanswered := *l.Runs[0]
	unanswered.Asked = nil
	c.save(l, engine.Change{Runs: []*engine.RunChange{{Run: &unanswered}}})
	c.equal("asked", c.find(r.ID).Asked, &ask)
	c.save(l, engine.Change{Runs: []*engine.RunChange{{Run: l.Runs[0], Answered: true}}, Release: true})
	c.equal("asked", c.find(r.ID).Asked, (*engine.Ask)(nil))
	c.due(time.Time{})
}

func asksDuringClaim(c *check) {
	r := c.started("a", "r", "key")
	l := c.fresh("a")
	c.ok(c.Ask(c.Context(), noon, r.ID, engine.Ask{What: engine.AskDone, At: noon}))
	c.claim(noon)
	c.done(l)
	c.equal("asked", c.lane(noon, "a").Runs[0].Asked.What, engine.AskDone)
}

func asksFinished(c *check) {
	r := c.started("a", "r", "key")
	l := c.fresh("a")
	c.finish(l, r, engine.FailedRun)
	c.done(l)
	c.ok(c.Ask(c.Context(), noon, r.ID, engine.Ask{What: engine.AskRetry, At: noon}))
	l = c.lane(noon, "a")
	c.equal("runs", len(l.Runs), 1)
	c.equal("state", l.Runs[0].State, engine.FailedRun)
	c.save(l, engine.Change{Runs: []*engine.RunChange{{Run: l.Runs[0], Answered: true}}, Release: true, Next: noon})
	c.equal("runs after the answer", len(c.lane(noon, "a").Runs), 0)
}

func asksAgain(c *check) {
	r := c.started("a", "r", "key")
	c.ok(c.Ask(c.Context(), noon, r.ID, engine.Ask{What: engine.AskRepeat, At: noon}))
	l := c.lane(noon, "a")
	second := engine.Ask{What: engine.AskCancel, At: at(time.Second)}
	c.ok(c.Ask(c.Context(), noon, r.ID, second))
	c.save(l, engine.Change{Runs: []*engine.RunChange{{Run: l.Runs[0], Answered: true}}, Release: true})
	c.equal("asked", c.lane(noon, "a").Runs[0].Asked, &second)
}

func asksByHolder(c *check) {
	here, there := c.started("a", "r", "1"), c.started("b", "r", "2")
	l := c.fresh("a")
	ask := engine.Ask{What: engine.AskCancel, Reason: "why", At: at(time.Minute)}
	c.save(l, engine.Change{At: at(time.Minute), Decided: l.Events, Asks: []engine.RunAsk{{Run: here.ID, Ask: ask}, {Run: there.ID, Ask: ask}, {Run: there.ID + 100, Ask: ask}}, Release: true})
	lanes := c.claimAfter(time.Minute)
	c.equal("lanes", len(lanes), 2)
	for _, l := range lanes {
		c.equal("asked in "+l.Name, l.Runs[0].Asked, &ask)
	}
}

func holds(c *check) {
	person := engine.Hold{Workspace: ws, Rule: "r", Kind: engine.HoldPerson, Reason: "holiday", Since: noon}
	rate := engine.Hold{Workspace: ws, Kind: engine.HoldRate, Reason: "429", Since: noon, Until: at(time.Minute)}
	all := engine.Hold{Kind: engine.HoldPerson, Since: at(time.Second)}
	lane := engine.Hold{Workspace: ws, Rule: "r", Lane: "a", Kind: engine.HoldPerson, Since: noon}
	for _, h := range []engine.Hold{person, rate, lane, all} {
		c.hold(h)
	}
	rate.Until, rate.Reason = at(time.Hour), "429 again"
	c.hold(rate)
	check := func(want ...engine.Hold) {
		c.Helper()
		got, err := c.Holds(c.Context())
		c.ok(err)
		c.equal("holds", got, want)
	}
	check(all, rate, person, lane)
	for _, no := range []engine.Hold{{Workspace: ws, Rule: "r", Kind: engine.HoldSafety}, {Workspace: ws, Rule: "other", Kind: engine.HoldPerson}, {Workspace: ws, Rule: "r", Lane: "b", Kind: engine.HoldPerson}, {Workspace: "other", Rule: "r", Kind: engine.HoldPerson}} {
		lifted, err := c.Lift(c.Context(), noon, no)
		c.ok(err)
		c.equal("lifted what was not held", lifted, false)
	}
	lifted, err := c.Lift(c.Context(), noon, engine.Hold{Workspace: ws, Rule: "r", Kind: engine.HoldPerson})
	c.ok(err)
	c.equal("lifted", lifted, true)
	check(all, rate, lane)
}

func holdsLifted(c *check) {
	everything := engine.Hold{Kind: engine.HoldPerson, Since: noon}
	c.hold(everything)
	for _, place := range []struct{ workspace, rule, state string }{
		{ws, "r", "held"}, {ws, "other", "held"}, {"w2", "r", "held"}, {ws, "r", "waiting"},
	} {
		e := event(place.workspace+place.rule+place.state, "of "+place.workspace+" "+place.rule+" "+place.state)
		e.Workspace = place.workspace
		c.accept(e)
		l := c.lane(noon, e.Lane)
		r := run(e.Lane, place.rule, "", e.ID)
		r.Workspace, r.State = place.workspace, engine.State(place.state)
		c.save(l, engine.Change{Decided: l.Events, Starts: []*engine.Start{start(rules.Parallel, r)}, Release: true})
	}
	for _, h := range []struct {
		hold engine.Hold
		want map[string]bool
	}{
		{engine.Hold{Workspace: ws, Rule: "r"}, map[string]bool{"of default r held": true}},
		{engine.Hold{Workspace: ws}, map[string]bool{"of default r held": true, "of default other held": true}},
		{engine.Hold{Rule: "r"}, map[string]bool{"of default r held": true, "of w2 r held": true}},
		{engine.Hold{}, map[string]bool{"of default r held": true, "of default other held": true, "of w2 r held": true}},
	} {
		h.hold.Kind = engine.HoldKey
		if lifted, err := c.Lift(c.Context(), noon, engine.Hold{Workspace: h.hold.Workspace, Rule: h.hold.Rule, Kind: engine.HoldKey}); err != nil || lifted {
			c.Fatalf("lifted %v, %v", lifted, err)
		}
		c.due(time.Time{})
		c.hold(h.hold)
		_, err := c.Lift(c.Context(), at(time.Minute), engine.Hold{Workspace: h.hold.Workspace, Rule: h.hold.Rule, Kind: engine.HoldKey})
		c.ok(err)
		c.claim(noon)
		due := map[string]bool{}
		for _, l := range c.claimAfter(time.Minute) {
			due[l.Name] = true
			c.done(l)
		}
		c.equal("due lanes", due, h.want)
	}
}

// heldByNothing records runs as held, one that begins and one that goes on, after what held them was lifted.
func heldByNothing(c *check) {
	c.hold(engine.Hold{Workspace: ws, Rule: "another", Kind: engine.HoldPerson, Since: noon})
	l := c.fresh("a")
	r := run("a", "r", "", "key")
	r.State = engine.Held
	c.save(l, engine.Change{At: noon, Decided: l.Events, Starts: []*engine.Start{start(rules.Parallel, r)}, Release: true})
	c.due(noon)
	l = c.lane(noon, "a")
	c.save(l, engine.Change{At: noon, Runs: []*engine.RunChange{{Run: l.Runs[0]}}, Release: true})
	c.due(noon)
	c.hold(engine.Hold{Workspace: ws, Rule: "r", Kind: engine.HoldPerson, Since: noon})
	l = c.lane(noon, "a")
	c.save(l, engine.Change{At: noon, Runs: []*engine.RunChange{{Run: l.Runs[0]}}, Release: true})
	c.due(time.Time{})
}
