package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// shareTests are about several engines that share a journal.
var shareTests = []test{
	{"a lane is one engine's at a time", shareClaims},
	{"news is never lost between engines", shareNews},
	{"an engine that was cut off writes over nobody", shareTakeover},
	{"an engine that is alive keeps its lanes, whatever the clock of another says", shareClocks},
	{"an event that reaches two engines is recorded once", shareAccept},
	{"of single runs that engines start at once one begins", shareSingle},
	{"a run that is queued while the one before it finishes begins", shareQueued},
	{"engines together take no more slots than there are", shareSlots},
	{"engines gather together", shareGathers},
	{"an opened lane is vacant when no engine has anything pending in it", shareVacant},
	{"what one engine stops is stopped for the others", shareHolds},
	{"a run that is held while its hold is lifted goes on", shareLifted},
	{"the source of a rule is not forgotten while another engine begins with it", shareVersions},
}

// second returns another engine of the same journal.
func (c *check) second() *check {
	if c.Second == nil {
		c.Skip("there is one engine only")
	}
	return &check{T: c.T, Setup: c.Setup, Journal: c.Second(c.T, c.Journal)}
}

func shareClaims(c *check) { c.exclusive(c.Journal, c.second().Journal) }

func shareNews(c *check) { c.newsStress(c.Journal, c.second().Journal) }

func shareTakeover(c *check) {
	other := c.second()
	run := c.startReleased("a", "r", "key")
	first := c.claimNew("a")
	other.claim(at(time.Hour))
	c.Expire(c.T, c.Journal)
	other.due(noon)
	second := other.claimLane(noon, "a")
	c.equal("what waits", ids(second.Events), ids(first.Events))

	first.Events[0].Verdicts = []journal.Verdict{{Rule: "late", Outcome: journal.Fired}}
	finished := *run
	finished.State = journal.Done
	for _, change := range []journal.Change{
		{At: noon, Decided: first.Events},
		{At: noon, Runs: []*journal.RunChange{{Run: &finished}}, Caused: []journal.Caused{{Workspace: ws, Object: "late"}}},
		{At: noon, Release: true},
	} {
		if err := c.Save(c.Context(), first, &change); !errors.Is(err, journal.ErrLost) {
			c.Errorf("a change of an engine that was cut off: %v", err)
		}
	}
	e, err := other.FindEvent(other.Context(), ws, first.Events[0].ID)
	c.ok(err)
	c.equal("decided", e.Decided, false)
	c.equal("the run", other.find(run.ID).State, journal.Running)
	c.claim(noon) // the other engine holds the lane
	other.finishLane(second)
	other.due(time.Time{})
}

func shareClocks(c *check) {
	other := c.second()
	l := c.claimNew("a")
	for _, now := range []time.Time{at(-1000 * time.Hour), at(1000 * time.Hour)} {
		lanes, err := other.Claim(c.Context(), now, 10, nil)
		c.ok(err)
		c.equal("lanes", laneNames(lanes), []string(nil))
	}
	c.save(l, journal.Change{Decided: l.Events})
	c.save(l, journal.Change{Release: true, Next: at(time.Minute)})
	other.claim(noon)
	other.claim(at(time.Minute), "a")
}

func shareAccept(c *check) {
	other := c.second()
	const n = 300
	var fresh atomic.Int32
	var group sync.WaitGroup
	for i := range 8 {
		j := []Journal{c.Journal, other.Journal}[i%2]
		group.Go(func() {
			for k := range n {
				if i%4 > 1 {
					k = n - 1 - k // in another order
				}
				got, err := j.Accept(c.Context(), []rules.Event{event(fmt.Sprint(k), "a"), event(fmt.Sprint((k+150)%n), "a")})
				if err != nil {
					c.Error(err)
					return
				}
				for _, f := range got {
					if f {
						fresh.Add(1)
					}
				}
			}
		})
	}
	group.Wait()
	c.equal("times that one was fresh", fresh.Load(), int32(n))
	c.equal("events", c.recorded("a"), n)
}

// rounds is how often two engines do something at once: often enough for conflicts.
const rounds = 30

// A pair is two engines with a lane of each.
type pair struct {
	*check
	other       *check
	here, there *journal.Lane
}

func (c *check) pair() *pair {
	p := &pair{check: c, other: c.second()}
	p.here, p.there = c.claimNew("first"), p.other.claimNew("second")
	return p
}

// atOnce has both engines save a change at once, and returns their errors.
func (p *pair) atOnce(here, there *journal.Change) (errs [2]error) {
	here.At, there.At = noon, noon
	var group sync.WaitGroup
	group.Go(func() { errs[0] = p.Save(p.Context(), p.here, here) })
	group.Go(func() { errs[1] = p.other.Save(p.Context(), p.there, there) })
	group.Wait()
	return errs
}

func shareSingle(c *check) {
	p := c.pair()
	for i := range rounds {
		one, two := start(rules.Single, run("first", "r", fmt.Sprint(i), fmt.Sprint("one ", i))), start(rules.Single, run("second", "r", fmt.Sprint(i), fmt.Sprint("two ", i)))
		errs := p.atOnce(&journal.Change{Starts: []*journal.Start{one}}, &journal.Change{Starts: []*journal.Start{two}})
		c.ok(errors.Join(errs[:]...))
		if one.Begun == two.Begun {
			c.Fatalf("round %d: begun %v and %v", i, one.Begun, two.Begun)
		}
	}
}

// shareQueued has one engine finish a run while the other queues one behind it.
func shareQueued(c *check) {
	p := c.pair()
	for i := range rounds {
		ahead, queued := start(rules.Queued, run("first", "r", fmt.Sprint(i), fmt.Sprint("ahead ", i))), start(rules.Queued, run("second", "r", fmt.Sprint(i), fmt.Sprint("queued ", i)))
		c.begin(p.here, ahead)
		finished := *ahead.Run
		finished.State = journal.Done
		errs := p.atOnce(&journal.Change{Runs: []*journal.RunChange{{Run: &finished}}}, &journal.Change{Starts: []*journal.Start{queued}})
		c.ok(errors.Join(errs[:]...))
		c.equal("the run that was queued", c.find(queued.Run.ID).State, journal.Running)
	}
}

func shareSlots(c *check) {
	p := c.pair()
	for i := range rounds {
		take := []journal.Slot{{Key: fmt.Sprint(i), Times: 1, Per: time.Hour}}
		full := 0
		for _, err := range p.atOnce(&journal.Change{Take: take}, &journal.Change{Take: take}) {
			if _, ok := errors.AsType[*journal.BoundError](err); ok {
				full++
			} else {
				c.ok(err)
			}
		}
		c.equal("refused", full, 1)
	}
}

func shareGathers(c *check) {
	p := c.pair()
	for i := range rounds {
		one := journal.Gather{Workspace: ws, Rule: "g", By: fmt.Sprint(i), Events: []int64{p.here.Events[0].Seq}, Quiet: time.Minute}
		two := one
		two.Events = []int64{p.there.Events[0].Seq}
		errs := p.atOnce(&journal.Change{Gather: []journal.Gather{one}}, &journal.Change{Gather: []journal.Gather{two}})
		c.ok(errors.Join(errs[:]...))
	}
	c.finishLane(p.here)
	p.other.finishLane(p.there)
	gathered := 0
	for _, l := range c.claimAfter(time.Minute) {
		for _, g := range l.Gathers {
			gathered += len(g.Events)
		}
	}
	c.equal("gathered", gathered, 2*rounds)
}

func shareHolds(c *check) {
	other := c.second()
	hold := journal.Hold{Workspace: ws, Kind: journal.HoldRate, Reason: "429", Since: noon, Until: at(time.Minute)}
	c.hold(hold)
	held, err := other.Holds(c.Context())
	c.ok(err)
	c.equal("holds", held, []journal.Hold{hold})
	longer := hold
	longer.Until = at(time.Hour)
	c.hold(longer)
	lifted, err := other.Lift(c.Context(), noon, hold)
	c.ok(err)
	c.equal("lifted though it was prolonged", lifted, false)
	lifted, err = other.Lift(c.Context(), noon, longer)
	c.ok(err)
	c.equal("lifted", lifted, true)
	lifted, err = c.Lift(c.Context(), noon, journal.Hold{Workspace: ws, Kind: journal.HoldRate})
	c.ok(err)
	c.equal("lifted once more", lifted, false)
}

func shareVacant(c *check) {
	other := c.second()
	vacant := func(l *journal.Lane, want bool) {
		c.Helper()
		is, err := other.Vacant(c.Context(), l)
		c.ok(err)
		c.equal("vacant", is, want)
	}
	opened := other.openLane("a")
	vacant(opened, true)
	mine := c.claimNew("a")
	vacant(opened, false)
	waits := run("a", "r", "a", ws+"/r/waits")
	c.begin(mine, start(rules.Queued, waits))
	c.finishLane(mine)
	vacant(opened, false)
	mine = c.claimNew("a")
	c.finish(mine, waits, journal.Done)
	c.finishLane(mine)
	vacant(opened, true)
	other.Drop(opened)
}

func shareLifted(c *check) {
	other := c.second()
	for i := range rounds {
		rule := fmt.Sprint("r", i)
		c.hold(journal.Hold{Workspace: ws, Rule: rule, Kind: journal.HoldPerson, Since: noon})
		l := c.claimNew("a")
		r := run("a", rule, "", rule)
		r.State, r.WakeAt = journal.Held, time.Time{}
		var group sync.WaitGroup
		group.Go(func() {
			if lifted, err := other.Lift(c.Context(), noon, journal.Hold{Workspace: ws, Rule: rule, Kind: journal.HoldPerson}); err != nil || !lifted {
				c.Errorf("lifted %v, %v", lifted, err)
			}
		})
		c.save(l, journal.Change{Decided: l.Events, Starts: []*journal.Start{start(rules.Parallel, r)}, Release: true})
		group.Wait()
		c.finishLane(c.claimLane(noon, "a")) // the lane is due again
	}
}

// shareVersions has one engine start a run with a version whose last run the other prunes.
func shareVersions(c *check) {
	other := c.second()
	l := c.claimNew("a")
	for i := range rounds {
		version := fmt.Sprint("v", i)
		last, next := run("a", "r", "", fmt.Sprint("last ", i)), run("a", "r", "", fmt.Sprint("next ", i))
		last.Version, last.State, next.Version = version, journal.Done, version
		c.begin(l, start(rules.Parallel, last))
		var begun atomic.Bool
		var group sync.WaitGroup
		group.Go(func() {
			for !begun.Load() {
				if _, err := other.Prune(c.Context(), at(time.Minute), time.Second); err != nil {
					c.Error(err)
					return
				}
			}
		})
		c.begin(l, start(rules.Parallel, next))
		begun.Store(true)
		group.Wait()
		if _, err := c.Version(c.Context(), version); err != nil {
			c.Fatal(err)
		}
	}
}
