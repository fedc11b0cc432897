package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine"
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
	{"what one engine stops is stopped for the others", shareHolds},
	{"a run that is held while its hold is lifted goes on", shareLifted},
	{"the source of a rule is not forgotten while another engine begins with it", shareVersions},
}

// second returns another engine on the same journal.
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
	run := c.started("a", "r", "key")
	first := c.fresh("a")
	other.claim(at(time.Hour))
	c.Expire(c.T, c.Journal)
	other.due(noon)
	second := other.lane(noon, "a")
	c.equal("what waits", ids(second.Events), ids(first.Events))

	first.Events[0].Verdicts = []engine.Verdict{{Rule: "late", Outcome: engine.Fired}}
	over := *run
	over.State = engine.Done
	for _, change := range []engine.Change{
		{At: noon, Decided: first.Events},
		{At: noon, Runs: []*engine.RunChange{{Run: &over}}, Caused: []engine.Caused{{Workspace: ws, Object: "late"}}},
		{At: noon, Release: true},
	} {
		if err := c.Save(c.Context(), first, &change); !errors.Is(err, engine.ErrLost) {
			c.Errorf("a change of an engine that was cut off: %v", err)
		}
	}
	e, err := other.FindEvent(other.Context(), ws, first.Events[0].ID)
	c.ok(err)
	c.equal("decided", e.Decided, false)
	c.equal("the run", other.find(run.ID).State, engine.Running)
	c.claim(noon) // the lane is the other's
	other.done(second)
	other.due(time.Time{})
}

func shareClocks(c *check) {
	other := c.second()
	l := c.fresh("a")
	for _, now := range []time.Time{at(-1000 * time.Hour), at(1000 * time.Hour)} {
		lanes, err := other.Claim(c.Context(), now, 10, nil)
		c.ok(err)
		c.equal("lanes", laneNames(lanes), []string(nil))
	}
	c.save(l, engine.Change{Decided: l.Events})
	c.save(l, engine.Change{Release: true, Next: at(time.Minute)})
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
	c.equal("events", len(c.lane(noon, "a").Events), n)
}

// atOnce lets the holders of lanes, half of them of another engine, do something at once. The lanes are claimed before, and not given back.
func (c *check) atOnce(other *check, n int, do func(of *check, l *engine.Lane) error) {
	c.Helper()
	for i := range n {
		c.accept(event(fmt.Sprint(serial()), fmt.Sprintf("lane %03d", i)))
	}
	var group sync.WaitGroup
	for _, of := range []*check{c, other} {
		lanes, err := of.Claim(c.Context(), noon, (n+1)/2, nil)
		c.ok(err)
		for _, l := range lanes {
			group.Go(func() {
				if err := do(of, l); err != nil {
					c.Errorf("%s: %v", l.Name, err)
				}
			})
		}
	}
	group.Wait()
}

func shareSingle(c *check) {
	var begun, skipped atomic.Int32
	c.atOnce(c.second(), 60, func(of *check, l *engine.Lane) error {
		s := start(rules.Single, run(l.Name, "r", "same", l.Name))
		err := of.Save(c.Context(), l, &engine.Change{At: noon, Starts: []*engine.Start{s}})
		if s.Begun {
			begun.Add(1)
		} else if s.Verdict.Outcome == engine.Skipped {
			skipped.Add(1)
		}
		return err
	})
	c.equal("begun, skipped", []int32{begun.Load(), skipped.Load()}, []int32{1, 59})
}

// shareQueued lets every lane queue a run of the same kind, and finishes whichever runs, until none is left.
func shareQueued(c *check) {
	other := c.second()
	const n = 40
	c.atOnce(other, n, func(of *check, l *engine.Lane) error {
		s := start(rules.Queued, run(l.Name, "r", "same", l.Name))
		change := &engine.Change{At: noon, Decided: l.Events, Starts: []*engine.Start{s}}
		if err := of.Save(c.Context(), l, change); err != nil {
			return err
		}
		last := &engine.Change{At: noon, Release: true}
		if s.Begun { // while others queue behind it
			s.Run.State = engine.Done
			last.Runs = []*engine.RunChange{{Run: s.Run}}
		}
		return of.Save(c.Context(), l, last)
	})
	for range 2 * n {
		counts, err := c.CountRuns(c.Context(), time.Time{})
		c.ok(err)
		if counts[engine.Done] == n {
			return
		}
		c.equal("runs that are under way", counts[engine.Running], 1)
		for _, of := range []*check{c, other} {
			for _, l := range of.claimAll() {
				change := engine.Change{Release: true}
				for _, r := range l.Runs {
					if r.State == engine.Running {
						r.State = engine.Done
						change.Runs = append(change.Runs, &engine.RunChange{Run: r})
					}
				}
				of.save(l, change)
			}
		}
	}
	c.Error("some runs never began")
}

func shareSlots(c *check) {
	var taken atomic.Int32
	slot := engine.Slot{Key: "k", Times: 25, Per: time.Hour}
	c.atOnce(c.second(), 40, func(of *check, l *engine.Lane) error {
		for k := range 3 {
			err := of.Save(c.Context(), l, &engine.Change{At: at(time.Duration(k) * time.Second), Take: []engine.Slot{slot}})
			if _, full := errors.AsType[*engine.BoundError](err); full {
				continue
			}
			if err != nil {
				return err
			}
			taken.Add(1)
		}
		return nil
	})
	c.equal("taken", taken.Load(), int32(25))
}

func shareGathers(c *check) {
	other := c.second()
	const n = 40
	c.atOnce(other, n, func(of *check, l *engine.Lane) error {
		g := engine.Gather{Workspace: ws, Rule: "g", By: "same", Events: []int64{l.Events[0].Seq}, Quiet: time.Minute}
		return of.Save(c.Context(), l, &engine.Change{At: noon, Decided: l.Events, Gather: []engine.Gather{g}, Release: true})
	})
	gathered := 0
	for _, l := range c.claimAfter(time.Minute) {
		for _, g := range l.Gathers {
			gathered += len(g.Events)
		}
	}
	c.equal("gathered", gathered, n)
}

func shareHolds(c *check) {
	other := c.second()
	hold := engine.Hold{Workspace: ws, Kind: engine.HoldRate, Reason: "429", Since: noon, Until: at(time.Minute)}
	c.ok(c.Hold(c.Context(), hold))
	held, err := other.Holds(c.Context())
	c.ok(err)
	c.equal("holds", held, []engine.Hold{hold})
	lifted, err := other.Lift(c.Context(), noon, ws, "", engine.HoldRate)
	c.ok(err)
	c.equal("lifted", lifted, true)
	lifted, err = c.Lift(c.Context(), noon, ws, "", engine.HoldRate)
	c.ok(err)
	c.equal("lifted once more", lifted, false)
}

func shareLifted(c *check) {
	other := c.second()
	const n = 40
	hold := engine.Hold{Workspace: ws, Rule: "r", Kind: engine.HoldPerson, Since: noon}
	c.ok(c.Hold(c.Context(), hold))
	var recorded atomic.Int32
	c.atOnce(other, n, func(of *check, l *engine.Lane) error {
		r := run(l.Name, "r", l.Name, l.Name)
		r.State, r.WakeAt = engine.Held, time.Time{}
		if recorded.Add(1) == n/2 {
			if lifted, err := other.Lift(c.Context(), noon, ws, "r", engine.HoldPerson); err != nil || !lifted {
				return fmt.Errorf("lifted %v: %w", lifted, err)
			}
		}
		return of.Save(c.Context(), l, &engine.Change{At: noon, Decided: l.Events, Starts: []*engine.Start{start(rules.Parallel, r)}, Release: true})
	})
	c.equal("lanes that are looked at again", len(c.claimAll()), n)
}

func shareVersions(c *check) {
	other := c.second()
	l := c.fresh("a")
	for i := range 30 {
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := other.Prune(c.Context(), at(time.Minute), time.Second); err != nil {
				c.Error(err)
			}
		})
		r := run("a", "r", "", fmt.Sprint(i))
		r.Version, r.State = "v", engine.Done
		c.begin(l, start(rules.Parallel, r))
		group.Wait()
		if _, err := c.FindRun(c.Context(), r.ID); errors.Is(err, engine.ErrNoRun) {
			continue // it was forgotten with its version
		}
		if _, err := c.Version(c.Context(), "v"); err != nil {
			c.Fatal(err)
		}
	}
}
