package journaltest

import (
	"fmt"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var foundTests = []test{
	{"what is found is recorded once", foundOnce},
	{"what was told is not found", foundTold},
	{"what was found is not told again", foundThenTold},
	{"events that are told are the same by their ids alone", foundNot},
	{"what happened at another time is something else", foundWhen},
	{"what was found is known after a crash", foundCrash},
	{"what was found is forgotten with the ids of events", foundPruned},
	{"what was erased counts as what is found where it happened at that time", foundErased},
	{"what was found is counted", foundCounted},
	{"what was seen is kept, changed and forgotten", seenKept},
	{"two engines tell and find the same: one of them records it", shareFound},
}

// finder returns the journal as a Finder, or skips the test.
func (c *check) finder() journal.Finder {
	c.Helper()
	f, ok := c.Journal.(journal.Finder)
	if !ok {
		c.Skip("it takes nothing that was found")
	}
	return f
}

// identify returns the identity that tests put into an event's data.
func identify(e rules.Event) string {
	about, _ := e.Data["about"].(string)
	return about
}

// delivered returns a delivered event about something.
func delivered(id, lane, about string) rules.Event {
	e := event(id, lane)
	e.Data = map[string]any{"about": about}
	e.Identity = about
	return e
}

// finding returns a found event about something.
func finding(lane, about string) rules.Finding {
	return rules.Finding{Event: delivered(rules.FoundID(about), lane, about), Lanes: []string{lane, "elsewhere"}, Identify: identify}
}

// acceptFound accepts found events, and checks which of them are new.
func (c *check) acceptFound(want []bool, list ...rules.Finding) {
	c.Helper()
	fresh, err := c.finder().AcceptFound(c.Context(), list)
	c.ok(err)
	c.equal("fresh", fresh, want)
}

// acceptDelivered accepts a delivered event, and checks whether it is new.
func (c *check) acceptDelivered(want bool, e rules.Event) {
	c.Helper()
	fresh, err := c.Accept(c.Context(), []rules.Event{e})
	c.ok(err)
	c.equal("fresh "+e.ID, fresh, []bool{want})
}

func foundOnce(c *check) {
	c.acceptFound([]bool{true, true, false}, finding("a", "m1"), finding("a", "m2"), finding("a", "m1"))
	c.acceptFound([]bool{false, true}, finding("a", "m2"), finding("b", "m3"))
	lanes := c.claim(noon, "a", "b")
	c.equal("events", ids(lanes[0].Events), []string{rules.FoundID("m1"), rules.FoundID("m2")})
	c.equal("was found", lanes[0].Events[0].Found(), true)
}

func foundTold(c *check) {
	c.finder()
	other := delivered("3", "a", "m3")
	other.Type = "message.sent"
	strange := delivered("4", "a", "m4")
	strange.Workspace = "strange"
	c.accept(delivered("1", "a", "m1"), delivered("2", "elsewhere", "m2"), other, strange)
	c.acceptFound([]bool{false, false, true, true}, finding("a", "m1"), finding("a", "m2"), finding("a", "m3"), finding("a", "m4"))
	except := finding("a", "m1")
	except.Except = []string{"1"}
	c.acceptFound([]bool{true}, except)
}

func foundThenTold(c *check) {
	c.acceptFound([]bool{true}, finding("a", "m1"))
	c.acceptDelivered(false, delivered("1", "a", "m1"))
	c.acceptDelivered(false, delivered("1", "a", "m1"))
	c.acceptDelivered(true, delivered("2", "a", "m1")) // a second delivery with another id is another event
	c.acceptDelivered(true, delivered("3", "a", "m2"))
	strange := delivered("4", "a", "m1")
	strange.Workspace = "strange"
	c.acceptDelivered(true, strange)
	other := delivered("5", "a", "m1")
	other.Type = "message.sent"
	c.acceptDelivered(true, other)
	lanes, err := c.Claim(c.Context(), noon, 10, []string{"strange"})
	c.ok(err)
	c.equal("events", ids(lanes[0].Events), []string{rules.FoundID("m1"), "2", "3", "5"})

	fresh, err := c.Accept(c.Context(), []rules.Event{delivered("6", "a", "m1"), delivered("1", "a", "m1"), delivered("6", "a", "m1")})
	c.ok(err)
	c.equal("fresh", fresh, []bool{true, false, false})
	fresh, err = c.Accept(c.Context(), []rules.Event{delivered("1", "a", "m1"), delivered("7", "a", "m3")})
	c.ok(err)
	c.equal("fresh behind one that was found", fresh, []bool{false, true})
}

func foundNot(c *check) {
	c.finder()
	c.accept(delivered("1", "a", "m1"), delivered("2", "a", "m1"))
	c.acceptFound([]bool{true}, finding("b", "m9"))
	c.accept(delivered("3", "a", "m1"))
	c.acceptDelivered(true, event("without", "a"))
	c.acceptFound([]bool{false}, finding("a", "m1"))
}

func foundWhen(c *check) {
	c.finder()
	when := func(id string, after time.Duration) rules.Event {
		e := delivered(id, "a", "card")
		e.CreatedAt = at(after)
		return e
	}
	f := finding("a", "card")
	f.Since, f.Until = at(-time.Minute), at(time.Minute)
	c.accept(when("before", -2*time.Minute), when("after", 2*time.Minute))
	c.acceptFound([]bool{true}, f)
	c.acceptDelivered(true, when("long before", -time.Hour))
	c.acceptDelivered(true, when("long after", time.Hour))
	c.acceptDelivered(false, when("within", time.Second))
	f.ID = rules.FoundID("once more")
	c.acceptFound([]bool{false}, f)
}

func foundCrash(c *check) {
	c.acceptFound([]bool{true}, finding("a", "m1"))
	again := &check{T: c.T, Setup: c.Setup, Journal: c.Crash(c.T, c.Journal)}
	again.acceptDelivered(false, delivered("1", "a", "m1"))
	again.acceptFound([]bool{false}, finding("a", "m1"))
}

func foundPruned(c *check) {
	c.acceptFound([]bool{true}, finding("a", "m1"))
	c.ok(c.finder().SetSeen(c.Context(), noon, ws, "card", map[string]string{"1": "here"}))
	c.finishLane(c.claimLane(noon, "a"))
	c.pruneAll(at(keep + 15*day - time.Hour))
	c.acceptDelivered(false, delivered("1", "a", "m1"))
	seen, err := c.finder().Seen(c.Context(), ws, "card")
	c.ok(err)
	c.equal("seen", seen, map[string]string{"1": "here"})
	c.pruneAll(at(keep + 15*day + time.Hour))
	c.acceptDelivered(true, delivered("1", "a", "m1"))
	seen, err = c.finder().Seen(c.Context(), ws, "card")
	c.ok(err)
	c.equal("seen", seen, map[string]string{})
}

func foundErased(c *check) {
	c.finder()
	c.accept(delivered("1", "a", "m1"))
	c.finishLane(c.claimLane(noon, "a"))
	c.pruneAll(at(keep + time.Hour))
	when := func(about string, after time.Duration, exact bool) rules.Finding {
		f := finding("a", about)
		f.CreatedAt, f.Since, f.Exact = at(after), at(after-time.Hour), exact
		return f
	}
	c.acceptFound([]bool{false, true, false}, when("m1", time.Minute, true), when("m2", 30*time.Minute, true), when("m3", 31*time.Minute, false))
}

func foundCounted(c *check) {
	late := finding("a", "m3")
	late.ReceivedAt, late.Type = at(time.Hour), "message.sent"
	c.acceptFound([]bool{true, true, true}, finding("a", "m1"), finding("a", "m2"), late)
	for since, want := range map[time.Duration]map[string]int{0: {"message.received": 2, "message.sent": 1}, time.Minute: {"message.sent": 1}, day: {}} {
		got, err := c.finder().CountFound(c.Context(), ws, at(since))
		c.ok(err)
		c.equal("found", got, want)
	}
}

func seenKept(c *check) {
	f := c.finder()
	c.ok(f.SetSeen(c.Context(), noon, ws, "card", map[string]string{"1": "here", "2": "there", "a\x00'": "odd\xff"}))
	c.ok(f.SetSeen(c.Context(), noon, ws, "card", map[string]string{"1": "elsewhere", "2": "", "9": ""}))
	c.ok(f.SetSeen(c.Context(), noon, ws, "attendance", map[string]string{"1": "open"}))
	c.ok(f.SetSeen(c.Context(), noon, "other", "card", map[string]string{"1": "other"}))
	got, err := f.Seen(c.Context(), ws, "card")
	c.ok(err)
	c.equal("seen", got, map[string]string{"1": "elsewhere", "a\x00'": "odd\xff"})
}

func shareFound(c *check) {
	other := c.second()
	finder := other.finder()
	for i := range 2 * rounds {
		about := fmt.Sprint("m", i)
		var group sync.WaitGroup
		var one, two []bool
		var errs [2]error
		group.Go(func() { one, errs[0] = c.Accept(c.Context(), []rules.Event{delivered(about, "a", about)}) })
		group.Go(func() { two, errs[1] = finder.AcceptFound(c.Context(), []rules.Finding{finding("a", about)}) })
		group.Wait()
		c.ok(errs[0])
		c.ok(errs[1])
		if one[0] == two[0] {
			c.Fatalf("round %d: told is new: %v, found is new: %v", i, one[0], two[0])
		}
	}
	c.equal("events", c.recorded("a"), 2*rounds)
}
