package journaltest

import (
	"errors"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

var gatherTests = []test{
	{"events are gathered until it is quiet", gatherQuiet},
	{"a gather ends in time", gatherAtMost},
	{"a gather goes to the lane of the newest event", gatherMoves},
	{"a gather that has grown does not end", gatherGrown},
}

// gather returns a gather of one event.
func gather(e *journal.Event) journal.Gather {
	return journal.Gather{Workspace: ws, Rule: "g", By: "b", Events: []int64{e.Seq}, Quiet: 30 * time.Second, AtMost: time.Minute}
}

// gatherEvent accepts an event, gathers it and releases its lane.
func (c *check) gatherEvent(d time.Duration, id, lane string) *journal.Event {
	c.Helper()
	e := event(id, lane)
	e.ReceivedAt = at(d)
	c.accept(e)
	l := c.claimLane(at(d), lane)
	got := l.Events[len(l.Events)-1]
	c.save(l, journal.Change{At: at(d), Decided: l.Events, Gather: []journal.Gather{gather(got)}, Release: true})
	return got
}

func gatherQuiet(c *check) {
	a := c.gatherEvent(0, "1", "a")
	c.due(at(30 * time.Second))
	b := c.gatherEvent(20*time.Second, "2", "a")
	c.due(at(50 * time.Second))
	c.claim(at(50*time.Second - time.Microsecond))
	l := c.claimLane(at(50*time.Second), "a")
	want := &journal.Gather{Workspace: ws, Rule: "g", By: "b", Lane: "a", Events: []int64{a.Seq, b.Seq}, Since: noon, Until: at(50 * time.Second), Quiet: 30 * time.Second, AtMost: time.Minute}
	c.equal("gathers", l.Gathers, []*journal.Gather{want})

	// A gather survives a claim that is released without a change of it.
	c.save(l, journal.Change{At: at(50 * time.Second), Release: true})
	c.due(at(50 * time.Second))
	l = c.claimLane(at(50*time.Second), "a")
	// A gather that could not be ended is due again at Next.
	c.save(l, journal.Change{At: at(52 * time.Second), Release: true, Next: at(54 * time.Second)})
	c.due(at(54 * time.Second))
	l = c.claimLane(at(54*time.Second), "a")
	// A gather that ends makes room for the next in the same change.
	c.save(l, journal.Change{At: at(55 * time.Second), Ended: l.Gathers, Gather: []journal.Gather{gather(b)}, Release: true, Next: at(time.Hour)})
	c.due(at(85 * time.Second))
	l = c.claimLane(at(85*time.Second), "a")
	c.equal("events", l.Gathers[0].Events, []int64{b.Seq})
	c.save(l, journal.Change{At: at(85 * time.Second), Ended: l.Gathers, Release: true})
	c.due(time.Time{})
}

func gatherAtMost(c *check) {
	c.gatherEvent(0, "1", "a")
	c.gatherEvent(25*time.Second, "2", "a")
	c.gatherEvent(50*time.Second, "3", "a")
	c.due(at(time.Minute))
	l := c.claimLane(at(time.Minute), "a")
	c.equal("events", len(l.Gathers[0].Events), 3)
	c.equal("since", l.Gathers[0].Since, noon)
	c.equal("until", l.Gathers[0].Until, at(time.Minute))

	// Without AtMost a gather continues as long as events arrive.
	open := gather(&journal.Event{Seq: 77})
	open.Rule, open.AtMost = "open", 0
	c.save(l, journal.Change{At: at(time.Hour), Ended: l.Gathers, Release: true})
	l = c.claimNew("b")
	c.save(l, journal.Change{At: at(time.Hour), Gather: []journal.Gather{open}})
	open.Events = []int64{78}
	c.save(l, journal.Change{At: at(2 * time.Hour), Gather: []journal.Gather{open}})
	c.save(l, journal.Change{At: at(2 * time.Hour), Release: true})
	c.due(at(2*time.Hour + 30*time.Second))
}

func gatherMoves(c *check) {
	a := c.gatherEvent(0, "1", "a")
	b := c.gatherEvent(20*time.Second, "2", "b")
	l := c.claimLane(at(30*time.Second), "a")
	c.equal("gathers in the lane of the first", len(l.Gathers), 0)
	c.save(l, journal.Change{At: at(30 * time.Second), Release: true})
	c.due(at(50 * time.Second))
	l = c.claimLane(at(50*time.Second), "b")
	c.equal("events", l.Gathers[0].Events, []int64{a.Seq, b.Seq})
}

func gatherGrown(c *check) {
	c.gatherEvent(0, "1", "a")
	l := c.claimLane(at(30*time.Second), "a")
	c.gatherEvent(30*time.Second, "2", "b")
	end := &journal.Change{At: at(30 * time.Second), Ended: l.Gathers, Release: true}
	if err := c.Save(c.Context(), l, end); !errors.Is(err, journal.ErrChanged) {
		c.Fatalf("a gather that has grown: %v", err)
	}
	c.save(l, journal.Change{At: at(30 * time.Second), Release: true})
	l = c.claimLane(at(time.Minute), "b")
	end = &journal.Change{At: at(time.Minute), Ended: l.Gathers}
	c.ok(c.Save(c.Context(), l, end))
	if err := c.Save(c.Context(), l, end); !errors.Is(err, journal.ErrChanged) {
		c.Fatalf("a gather that is over: %v", err)
	}
	c.save(l, journal.Change{Release: true})
	c.due(time.Time{})
}
