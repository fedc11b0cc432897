package journaltest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var slotTests = []test{
	{"slots are exact", slotsExact},
	{"no window holds too many, in whatever order changes come", slotsShuffled},
	{"the slots of one change count each other", slotsWithin},
	{"the same slot in two workspaces is two", slotsApart},
	{"a run that is queued takes none", slotsOfQueued},
	{"what is full tells whose doing that is, and until when", slotsFull},
	{"what a bound has stopped is counted anew when it goes on", slotsLifted},
}

// take reports whether a slot was free at a time.
func (c *check) take(l *journal.Lane, when time.Time, slots ...journal.Slot) bool {
	c.Helper()
	err := c.Save(c.Context(), l, &journal.Change{At: when, Take: slots})
	var full *journal.BoundError
	if err != nil && !errors.As(err, &full) {
		c.Fatal(err)
	}
	return err == nil
}

// slotsExact compares with a reference that remembers everything.
func slotsExact(c *check) {
	l := c.claimNew("a")
	random := rand.New(rand.NewPCG(1, 2))
	for _, slot := range []journal.Slot{{Key: "1", Times: 1, Per: time.Minute}, {Key: "3", Times: 3, Per: 10 * time.Second}, {Key: "20", Times: 20, Per: time.Minute}} {
		var taken []time.Time
		now := noon
		for range 200 {
			now = now.Add(time.Duration(random.ExpFloat64() * float64(slot.Per) / float64(slot.Times) / 2).Round(time.Second))
			inside := 0
			for _, t := range taken {
				if t.After(now.Add(-slot.Per)) {
					inside++
				}
			}
			free := c.take(l, now, slot)
			if free != (inside < slot.Times) {
				c.Fatalf("slot %s at %v: free is %v with %d in the window", slot.Key, now.Sub(noon), free, inside)
			}
			if free {
				taken = append(taken, now)
			}
		}
		if len(taken) < 20 || len(taken) == 200 {
			c.Fatalf("slot %s: %d taken, which proves little", slot.Key, len(taken))
		}
	}
}

// slotsShuffled takes slots at times that go back and forth, like those of concurrent changes.
func slotsShuffled(c *check) {
	l := c.claimNew("a")
	random := rand.New(rand.NewPCG(3, 4))
	slot := journal.Slot{Key: "k", Times: 4, Per: 20 * time.Second}
	var taken []time.Time
	for i := range 400 {
		now := at(time.Duration(i)*time.Second + time.Duration(random.IntN(60000))*time.Millisecond)
		if c.take(l, now, slot) {
			taken = append(taken, now)
		}
	}
	if len(taken) < 40 {
		c.Errorf("only %d taken", len(taken))
	}
	for _, from := range taken {
		inside := 0
		for _, t := range taken {
			if !t.Before(from) && t.Before(from.Add(slot.Per)) {
				inside++
			}
		}
		if inside > slot.Times {
			c.Errorf("%d in the window from %v", inside, from.Sub(noon))
		}
	}

	// A clock that was far ahead for a moment does not block the slot forever.
	wrong := at(1000 * time.Hour)
	c.take(l, wrong, journal.Slot{Key: "wrong", Times: 1, Per: time.Hour})
	c.equal("free after a wrong clock", c.take(l, noon, journal.Slot{Key: "wrong", Times: 1, Per: time.Hour}), true)
	c.equal("free at once after that", c.take(l, noon, journal.Slot{Key: "wrong", Times: 1, Per: time.Hour}), false)
}

func slotsWithin(c *check) {
	l := c.claimNew("a")
	slot := journal.Slot{Key: "k", Times: 3, Per: time.Hour}
	other := journal.Slot{Key: "other", Times: 1, Per: time.Hour}
	c.equal("four of three", c.take(l, noon, other, slot, slot, slot, slot), false)
	c.equal("two of three", c.take(l, noon, slot, other, slot), true)
	c.equal("two more", c.take(l, noon, slot, slot), false)
	c.equal("the third", c.take(l, at(time.Minute), slot), true)
	c.equal("another", c.take(l, at(time.Minute), slot), false)
	c.equal("two after an hour", c.take(l, at(time.Hour), slot, slot), true)
	c.equal("a third then", c.take(l, at(time.Hour), slot), false)
	c.equal("none of none", c.take(l, noon, journal.Slot{Key: "none", Per: time.Hour}), false)
}

func slotsApart(c *check) {
	for i := range 2 {
		e := event(fmt.Sprint(i), "a")
		e.Workspace = fmt.Sprint("w", i)
		c.accept(e)
	}
	slot := journal.Slot{Key: "k", Times: 1, Per: time.Hour}
	for _, l := range c.claim(noon, "a", "a") {
		c.equal("free in "+l.Workspace, c.take(l, noon, slot), true)
		c.equal("free again in "+l.Workspace, c.take(l, noon, slot), false)
	}
}

func slotsOfQueued(c *check) {
	l := c.claimNew("a")
	slot := journal.Slot{Key: "k", Times: 2, Per: time.Hour}
	for i, begins := range []bool{true, false, false} {
		s := start(rules.Queued, run("a", "r", "a", fmt.Sprint(i)))
		c.save(l, journal.Change{Call: s.Run, Take: []journal.Slot{slot}, Starts: []*journal.Start{s}})
		c.equal("begun", s.Begun, begins)
	}
	c.equal("one is left", c.take(l, noon, slot), true)
	c.equal("and no other", c.take(l, noon, slot), false)
}

func slotsFull(c *check) {
	l := c.claimNew("a")
	slot := func(rule string) journal.Slot {
		return journal.Slot{Key: "messages/a", Times: 2, Per: 10 * time.Minute, Rule: rule}
	}
	full := func(when time.Time, rule string) journal.BoundError {
		c.Helper()
		err := c.Save(c.Context(), l, &journal.Change{At: when, Take: []journal.Slot{slot(rule)}})
		bound, ok := errors.AsType[*journal.BoundError](err)
		if !ok {
			c.Fatalf("not full: %v", err)
		}
		return *bound
	}
	c.equal("free", c.take(l, noon, slot("first")) && c.take(l, at(time.Minute), slot("second")), true)
	room := at(10 * time.Minute)
	c.equal("another's", full(at(2*time.Minute), "third"), journal.BoundError{Slot: slot("third"), Free: room})
	c.equal("its own", full(at(2*time.Minute), "first"), journal.BoundError{Slot: slot("first"), Own: true, Free: room})
	c.equal("free", c.take(l, room, slot("third")), true)
	c.equal("its own of long ago", full(room, "first"), journal.BoundError{Slot: slot("first"), Free: at(11 * time.Minute)})
}

func slotsLifted(c *check) {
	l := c.claimNew("a")
	here, all := journal.Slot{Key: "messages/a", Times: 1, Per: time.Hour, Rule: "r"}, journal.Slot{Key: "messages", Times: 1, Per: time.Hour, Rule: "r"}
	hold := journal.Hold{Workspace: ws, Rule: "r", Lane: "a", Kind: journal.HoldSafety, Since: noon}
	lift := func() {
		c.Helper()
		c.hold(hold)
		lifted, err := c.Lift(c.Context(), noon, hold)
		c.ok(err)
		c.equal("lifted", lifted, true)
	}
	c.equal("free", c.take(l, noon, here) && c.take(l, noon, all), true)
	lift()
	c.equal("free in the lane", c.take(l, noon, here), true)
	c.equal("free everywhere", c.take(l, noon, all), false)
	hold.Lane = ""
	lift()
	c.equal("free everywhere", c.take(l, noon, all), true)
	c.equal("full again", c.take(l, noon, all), false)
	hold.Kind = journal.HoldPerson
	lift()
	c.equal("full, whatever a person had stopped", c.take(l, noon, all), false)
}
