package journaltest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var acceptTests = []test{
	{"an event is recorded once", acceptOnce},
	{"a thousand deliveries of one event at once record it once", acceptOnceAtOnce},
	{"an event comes back as it was", acceptKeeps},
	{"events are in the order in which they were recorded", acceptOrder},
	{"hostile contents are kept", acceptHostile},
	{"hostile names are kept apart or refused", acceptHostileNames},
	{"what cannot be kept is refused with all that came with it", acceptRefused},
	{"a call whose time is over records nothing", acceptCancelled},
}

func acceptOnce(c *check) {
	other := event("1", "a")
	other.Workspace = "other"
	fresh, err := c.Accept(c.Context(), []rules.Event{event("1", "a"), event("2", "a"), event("1", "b"), other})
	c.ok(err)
	c.equal("fresh", fresh, []bool{true, true, false, true})
	fresh, err = c.Accept(c.Context(), []rules.Event{event("2", "a"), event("3", "a")})
	c.ok(err)
	c.equal("fresh", fresh, []bool{false, true})

	lanes, err := c.Claim(c.Context(), noon, 10, []string{"other"})
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string{"a"})
	c.equal("events", ids(lanes[0].Events), []string{"1", "2", "3"})
}

func ids(events []*journal.Event) (ids []string) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func acceptOnceAtOnce(c *check) {
	var fresh atomic.Int32
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() {
			f, err := c.Accept(c.Context(), []rules.Event{event("1", "a")})
			if err != nil {
				c.Error(err)
			} else if f[0] {
				fresh.Add(1)
			}
		})
	}
	group.Wait()
	c.equal("times that it was fresh", fresh.Load(), int32(1))
	c.equal("events", ids(c.claimLane(noon, "a").Events), []string{"1"})
}

func acceptKeeps(c *check) {
	precise := time.Date(2026, 3, 1, 23, 59, 59, 123456789, time.FixedZone("", -3*60*60))
	full := rules.Event{Workspace: ws, ID: "full", Type: "kanban.card.moved", Tenant: "t", Rule: "r", Lane: "card:1", CreatedAt: precise, ReceivedAt: noon,
		Data: map[string]any{"n": 1.5, "list": []any{"a", nil, true, map[string]any{}}, "text": "olá, \"mundo\" </script> 😀"}}
	bare := rules.Event{Workspace: ws, ID: "bare"}
	empty := rules.Event{Workspace: ws, ID: "", Lane: "empty", ReceivedAt: noon, Data: map[string]any{}}
	c.accept(bare)
	if next, err := c.Due(c.Context(), nil); err != nil || next.IsZero() {
		c.Errorf("an event without a time is due at %v, %v", next, err)
	}
	c.accept(full, empty)

	full.CreatedAt = precise.Truncate(time.Microsecond).UTC()
	for i, want := range []rules.Event{full, bare, empty} {
		got, err := c.FindEvent(c.Context(), ws, want.ID)
		c.ok(err)
		c.equal("event "+want.ID, got, &journal.Event{Event: want, Seq: got.Seq})
		c.equal("zone", got.ReceivedAt.Location(), time.UTC)
		lanes := c.claim(noon.Add(time.Hour), [][]string{{"", "card:1", "empty"}, {}, {}}[i]...)
		if i == 0 {
			c.equal("claimed", lanes[1].Events[0], got)
		}
	}
}

func acceptOrder(c *check) {
	var events []rules.Event
	for i := range 3000 {
		events = append(events, event(fmt.Sprint(i), fmt.Sprint("lane ", i%2)))
	}
	c.accept(events...)
	first, seen, last := map[string]int{"lane 0": 0, "lane 1": 1}, map[string]int{}, map[string]int64{}
	for parts := 0; ; parts++ {
		lanes := c.claimAfter(0)
		if len(lanes) == 0 {
			c.equal("parts", parts, (1500+journal.MostEvents-1)/journal.MostEvents)
			break
		}
		for _, l := range lanes {
			for _, e := range l.Events {
				if e.Seq <= last[l.Name] {
					c.Fatalf("event %s has number %d, after %d", e.ID, e.Seq, last[l.Name])
				}
				c.equal("the next of "+l.Name, e.ID, fmt.Sprint(2*seen[l.Name]+first[l.Name]))
				last[l.Name], seen[l.Name] = e.Seq, seen[l.Name]+1
			}
			c.equal("more of "+l.Name, l.More, seen[l.Name] < 1500)
			change := journal.Change{Decided: l.Events, Release: true}
			if l.More {
				change.Next = noon
			}
			c.save(l, change)
		}
	}
	c.equal("events", seen, map[string]int{"lane 0": 1500, "lane 1": 1500})
}

func acceptHostile(c *check) {
	deep := any("ground")
	for range 200 {
		deep = []any{map[string]any{"in": deep}}
	}
	data := map[string]any{
		"huge": strings.Repeat("0123456789abcdef", 1<<16), "deep": deep, "nul": "a\x00b", "broken": "a\xff\xfeb", "": "empty key", "a\x00key": 1.0,
		"sql": "'; DROP TABLE events; --", "max": math.MaxFloat64, "lines": "\u2028\r\n\t\u0007",
	}
	e := event("hostile", "a")
	e.Data = data
	c.accept(e, event("next", "a"))
	got := c.claimLane(noon, "a").Events
	c.equal("events", ids(got), []string{"hostile", "next"})
	data["broken"] = "a\ufffd\ufffdb" // as every JSON decoder reads it
	if !reflect.DeepEqual(got[0].Data, data) {
		c.Error("the data is another")
	}
}

func acceptHostileNames(c *check) {
	kept := 0
	for i, name := range []string{"a\xffb", "a\xfeb", "a\ufffdb", "a\x00b", "a\x00c", "a", "'a", strings.Repeat("long", 10000), "\u0000", " ", "a "} {
		e := event(name, "lane "+name)
		e.Type, e.Tenant, e.Rule, e.Data = name, name, name, nil
		fresh, err := c.Accept(c.Context(), []rules.Event{e})
		if err != nil {
			continue
		}
		if !fresh[0] {
			c.Fatalf("%q is taken for another", name)
		}
		kept++
		l := c.claimLane(noon, "lane "+name)
		if len(l.Events) != 1 {
			c.Fatalf("%q: %d events in its lane", name, len(l.Events))
		}
		c.equal("event", l.Events[0].Event, e)
		found, err := c.FindEvent(c.Context(), ws, name)
		c.ok(err)
		c.equal("found", found.Seq, l.Events[0].Seq)
		c.begin(l, start(rules.Queued, run(l.Name, name, name, fmt.Sprint(i))))
		c.save(l, journal.Change{Decided: l.Events, Release: true, Next: noon})
		l = c.claimLane(noon, l.Name)
		c.equal("runs", len(l.Runs), 1)
		c.equal("by", l.Runs[0].By, name)
		c.finishLane(l)
	}
	if kept < 6 {
		c.Errorf("only %d names were taken", kept)
	}
}

func acceptRefused(c *check) {
	deep := any(nil)
	for range 20000 {
		deep = []any{deep}
	}
	for _, data := range []map[string]any{{"x": math.NaN()}, {"x": func() {}}, {"x": deep}} {
		bad := event("bad", "a")
		bad.Data = data
		if _, err := c.Accept(c.Context(), []rules.Event{event("good", "a"), bad}); err == nil {
			c.Error("accepted")
		}
	}
	c.due(time.Time{})
	c.accept(event("good", "a"), event("bad", "a"))
}

func acceptCancelled(c *check) {
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	if _, err := c.Accept(ctx, []rules.Event{event("1", "a")}); err == nil {
		c.Error("accepted")
	}
	c.claim(noon)
}
