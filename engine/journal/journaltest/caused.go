package journaltest

import (
	"encoding/json"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var causedTests = []test{
	{"what own calls caused is found by its objects", caused},
	{"what is recorded later has a higher number than the newest event", newest},
	{"the newest event is known after a stop", newestAfterCrash},
	{"the newest event of another engine is known when its lane is claimed", newestShared},
}

func caused(c *check) {
	l := c.claimNew("a")
	message := journal.Caused{Workspace: ws, Lane: "a", Event: "message.sent", Object: "m1", Run: 3, Rule: "r", Ancestry: []string{"q", "r"}}
	updated := journal.Caused{Workspace: ws, Lane: "a", Event: "conversation.updated", Object: "a", Set: json.RawMessage(`{"label_ids":["x"],"n":1}`), After: 7, From: noon, To: at(30 * time.Second)}
	moved := journal.Caused{Workspace: ws, Lane: "a", Event: "kanban.card.moved", Object: "m1", Stage: "s2"}
	foreign := journal.Caused{Workspace: "other", Event: "message.sent", Object: "m1"}
	change := journal.Change{At: noon, Caused: []journal.Caused{message, updated, moved, foreign}}
	c.ok(c.Save(c.Context(), l, &change))

	message.ID, updated.ID, moved.ID = change.Caused[0].ID, change.Caused[1].ID, change.Caused[2].ID
	if message.ID == 0 || message.ID == updated.ID {
		c.Errorf("ids %d and %d", message.ID, updated.ID)
	}
	check := func(typ string, objects []string, want ...journal.Caused) {
		c.Helper()
		got, err := c.Caused(c.Context(), ws, typ, objects, time.Time{})
		c.ok(err)
		c.equal("caused", got, want)
	}
	check("", []string{"m1"}, message, moved)
	check("message.sent", []string{"m1", "a", "none"}, message)
	check("", []string{"a", "m1"}, message, updated, moved)
	check("", nil)
	check("message.read", []string{"m1"})

	since := func(t time.Time, typ string, objects []string, want ...journal.Caused) {
		c.Helper()
		got, err := c.Caused(c.Context(), ws, typ, objects, t)
		c.ok(err)
		c.equal("caused", got, want)
	}
	since(updated.To, "conversation.updated", []string{"a"}, updated)
	since(updated.To.Add(time.Microsecond), "conversation.updated", []string{"a"})
	since(noon, "", []string{"a", "m1"}, updated)

	c.save(l, journal.Change{Used: []int64{updated.ID}, Gone: []int64{moved.ID}, Release: true})
	updated.Used = true
	check("conversation.updated", []string{"a"}, updated)
	check("", []string{"m1"}, message)
}

// seqsOf returns the numbers of the events of a lane.
func (c *check) seqsOf(lane string) (list []int64) {
	c.Helper()
	events, err := c.ListEvents(c.Context(), journal.EventFilter{Lane: lane, Forward: true})
	c.ok(err)
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}

func newest(c *check) {
	before := c.Newest()
	known := func(lane string) {
		c.Helper()
		for _, seq := range c.seqsOf(lane) {
			if seq <= before || seq > c.Newest() {
				c.Errorf("the event %d of %s was recorded after %d, and the newest is %d", seq, lane, before, c.Newest())
			}
		}
		before = c.Newest()
	}
	c.accept(event("1", "a"), event("2", "b"))
	known("a")
	c.accept(event("3", "c"), event("4", "c"))
	known("c")
	_, err := c.Accept(c.Context(), []rules.Event{event("4", "c"), event("5", "d")})
	c.ok(err)
	known("d")
	if f, ok := c.Journal.(journal.Finder); ok {
		_, err := f.AcceptFound(c.Context(), []rules.Finding{{Event: event("6", "e")}})
		c.ok(err)
		known("e")
	}
	l := c.openLane("f")
	_, _, change := decidedEvent("7", "f")
	c.save(l, *change)
	known("f")
}

func newestAfterCrash(c *check) {
	c.accept(event("1", "a"), event("2", "a"))
	newest := c.Newest()
	c.Journal = c.Crash(c.T, c.Journal)
	if n := c.Newest(); n != newest {
		c.Errorf("the newest event was %d, and is %d", newest, n)
	}
	c.accept(event("3", "b"))
	if seq := c.seqsOf("b")[0]; seq <= newest || seq > c.Newest() {
		c.Errorf("the event %d was recorded after %d, and the newest is %d", seq, newest, c.Newest())
	}
}

func newestShared(c *check) {
	if c.Second == nil {
		c.Skip("there can be one engine only")
	}
	other := c.Second(c.T, c.Journal)
	fresh, err := other.Accept(c.Context(), []rules.Event{event("1", "a"), event("2", "a")})
	c.ok(err)
	c.equal("fresh", fresh, []bool{true, true})
	c.claimAll()
	seqs := c.seqsOf("a")
	if last := seqs[len(seqs)-1]; c.Newest() < last || other.Newest() < last {
		c.Errorf("the newest event is %d, %d is known here and %d there", last, c.Newest(), other.Newest())
	}
}
