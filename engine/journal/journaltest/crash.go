package journaltest

import (
	"errors"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var crashTests = []test{
	{"after a crash everything is there, and what was claimed is due", crash},
	{"a command beside the engine looks, accepts, asks, holds and lifts", beside},
}

func crash(c *check) {
	c.accept(event("1", "claimed"), event("2", "claimed"))
	later := event("3", "later")
	later.ReceivedAt = at(time.Hour)
	c.accept(later)
	l := c.claimLane(noon, "claimed")
	s := start(rules.Queued, fullRun("claimed"))
	slot := journal.Slot{Key: "k", Times: 1, Per: time.Hour}
	c.save(l, journal.Change{Decided: l.Events[:1], Starts: []*journal.Start{s}, Take: []journal.Slot{slot}, Gather: []journal.Gather{{Workspace: ws, Rule: "g", Events: []int64{1}, Quiet: time.Minute}}})
	c.hold(journal.Hold{Workspace: ws, Kind: journal.HoldPerson, Since: noon})
	c.ok(c.SetCursor(c.Context(), "backfill", "here"))
	c.ok(c.Ask(c.Context(), noon, s.Run.ID, journal.Ask{What: journal.AskCancel, At: noon}))

	n := &check{T: c.T, Setup: c.Setup, Journal: c.Crash(c.T, c.Journal)}
	if err := n.Save(n.Context(), l, &journal.Change{At: noon, Release: true}); !errors.Is(err, journal.ErrLost) {
		n.Errorf("a change of a claim from before: %v", err)
	}
	n.due(noon)
	got := n.claimLane(noon, "claimed")
	n.equal("undecided", ids(got.Events), []string{"2"})
	n.equal("runs", len(got.Runs), 1)
	want := *s.Run
	want.Asked = &journal.Ask{What: journal.AskCancel, At: noon}
	n.equal("the run", got.Runs[0], &want)
	n.equal("gathers", len(got.Gathers), 1)
	n.equal("free", n.take(got, at(time.Minute), slot), false)
	if err := n.Save(n.Context(), l, &journal.Change{At: noon, Release: true}); !errors.Is(err, journal.ErrLost) {
		n.Errorf("a change of a claim from before: %v", err)
	}
	fresh, err := n.Accept(n.Context(), []rules.Event{event("1", "claimed")})
	n.ok(err)
	n.equal("fresh", fresh, []bool{false})
	holds, err := n.Holds(n.Context())
	n.ok(err)
	n.equal("holds", len(holds), 1)
	cursor, err := n.Cursor(n.Context(), "backfill")
	n.ok(err)
	n.equal("cursor", cursor, "here")
	n.claim(at(time.Hour), "later")
	again := start(rules.Parallel, run("claimed", "other", "", "next"))
	n.begin(got, again)
	if again.Run.ID <= s.Run.ID {
		n.Errorf("the next run has id %d after %d", again.Run.ID, s.Run.ID)
	}
}

func beside(c *check) {
	if c.Beside == nil {
		c.Skip("there is nothing beside this journal")
	}
	r := c.startReleased("a", "r", "key")
	l := c.claimNew("a")
	b := &check{T: c.T, Setup: c.Setup, Journal: c.Beside(c.T, c.Journal)}
	b.equal("the run", b.find(r.ID), c.find(r.ID))
	b.accept(event("beside", "a"))
	b.ok(b.Ask(b.Context(), noon, r.ID, journal.Ask{What: journal.AskCancel, At: noon}))
	hold := journal.Hold{Workspace: ws, Kind: journal.HoldPerson, Since: noon}
	b.hold(hold)
	for what, err := range map[string]error{
		"claim": func() error { _, err := b.Claim(b.Context(), noon, 1, nil); return err }(),
		"save":  b.Save(b.Context(), l, &journal.Change{At: noon, Release: true}),
		"prune": func() error { _, err := b.Prune(b.Context(), noon, keep); return err }(),
	} {
		if err == nil {
			b.Errorf("%s beside the engine", what)
		}
	}

	c.finishLane(l)
	l = c.claimLane(noon, "a") // events of another process make the lane due
	c.equal("events", ids(l.Events), []string{"beside"})
	c.equal("asked", l.Runs[0].Asked.What, journal.AskCancel)
	held, err := c.Holds(c.Context())
	c.ok(err)
	c.equal("holds", held, []journal.Hold{hold})
	c.save(l, journal.Change{Decided: l.Events, Runs: []*journal.RunChange{{Run: l.Runs[0], Answered: true}}, Release: true})
	lifted, err := b.Lift(b.Context(), noon, journal.Hold{Workspace: ws, Kind: journal.HoldPerson})
	b.ok(err)
	b.equal("lifted", lifted, true)
	c.due(time.Time{})
}
