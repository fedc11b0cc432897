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

var claimTests = []test{
	{"the longest due lane is claimed first", claimOrder},
	{"of lanes that are due at one time the first by name is claimed first", claimByName},
	{"a lane is one claim's at a time", claimExclusive},
	{"workspaces can be left out", claimExcept},
	{"a lane is due when its release says so", claimNext},
	{"what comes while a lane is claimed makes it due at once", claimNews},
	{"news is never lost", claimNewsStress},
	{"undecided events stay in their lane", claimUndecided},
	{"a change of a lane that is not the caller's is refused", claimLost},
	{"many lanes are claimed with what is theirs", claimMany},
	{"a workspace in which much is due does not keep the others waiting", claimFair},
}

func claimOrder(c *check) {
	for i, lane := range []string{"b", "c", "a", "d"} {
		e := event(lane, lane)
		e.ReceivedAt = at(-time.Duration(i) * time.Minute)
		c.accept(e)
	}
	late, again := event("late", "later"), event("again", "d")
	late.ReceivedAt, again.ReceivedAt = at(time.Microsecond), at(time.Hour)
	c.accept(late, again) // a later event does not delay a lane that is due

	c.due(at(-3 * time.Minute))
	lanes, err := c.Claim(c.Context(), noon, 2, nil)
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string{"d", "a"})
	c.due(at(-time.Minute))
	lanes, err = c.Claim(c.Context(), noon, 0, nil)
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string(nil))
	lanes, err = c.Claim(c.Context(), noon, 10, nil)
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string{"c", "b"})
	c.claim(noon)
	c.due(at(time.Microsecond))
	c.claim(at(time.Microsecond), "later")
	c.due(time.Time{})
}

func claimByName(c *check) {
	for _, lane := range []string{"b", "ç", "B", "c", "a-1", "a", "a1"} {
		c.accept(event(lane, lane))
	}
	lanes, err := c.Claim(c.Context(), noon, 4, nil)
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string{"B", "a", "a-1", "a1"})
	lanes, err = c.Claim(c.Context(), noon, 4, nil)
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string{"b", "c", "ç"})
}

func claimExclusive(c *check) { c.exclusive(c.Journal) }

// exclusive has many workers of engines claim lanes that are made due repeatedly.
func (c *check) exclusive(engines ...Journal) {
	const lanes, workers, rounds = 40, 8, 25
	inside := map[string]*atomic.Int32{}
	for i := range lanes {
		e := event(fmt.Sprint(i), fmt.Sprint("lane ", i))
		c.accept(e)
		inside[e.Lane] = &atomic.Int32{}
	}
	var turns atomic.Int32
	var group sync.WaitGroup
	for w := range workers {
		j := engines[w%len(engines)]
		group.Go(func() {
			for turns.Load() < lanes*rounds && !c.Failed() {
				claimed, err := j.Claim(c.Context(), noon, 3, nil)
				if err != nil {
					c.Error(err)
					return
				}
				for _, l := range claimed {
					if inside[l.Name].Add(1) != 1 {
						c.Errorf("%s is claimed twice", l.Name)
					}
				}
				for _, l := range claimed {
					turns.Add(1)
					inside[l.Name].Add(-1)
					if err := j.Save(c.Context(), l, &journal.Change{At: noon, Release: true, Next: noon}); err != nil {
						c.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
}

func claimExcept(c *check) {
	for i, w := range []string{"a", "b", "c", "a"} {
		e := event(fmt.Sprint(i), fmt.Sprint("lane ", i))
		e.Workspace, e.ReceivedAt = w, at(time.Duration(i)*time.Second)
		c.accept(e)
	}
	now := at(time.Minute)
	next, err := c.Due(c.Context(), []string{"a", "c"})
	c.ok(err)
	c.equal("due", next, at(time.Second))
	next, err = c.Due(c.Context(), []string{"a", "b", "c", "d"})
	c.ok(err)
	c.equal("due", next, time.Time{})
	lanes, err := c.Claim(c.Context(), now, 10, []string{"a", "b", "c"})
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string(nil))
	lanes, err = c.Claim(c.Context(), now, 10, []string{"c"})
	c.ok(err)
	c.equal("lanes", laneNames(lanes), []string{"lane 0", "lane 1", "lane 3"})
	c.claim(now, "lane 2")
}

func claimNext(c *check) {
	l := c.claimNew("a")
	c.due(time.Time{})
	c.save(l, journal.Change{Decided: l.Events})
	c.claim(noon) // still claimed
	c.save(l, journal.Change{Release: true, Next: at(time.Hour)})
	c.due(at(time.Hour))
	c.claim(at(time.Hour - time.Microsecond))
	l = c.claimLane(at(time.Hour), "a")
	c.equal("events", len(l.Events), 0)
	c.save(l, journal.Change{At: at(time.Hour), Release: true})
	c.due(time.Time{})
	c.claim(at(1000 * time.Hour))
	c.accept(event("2", "a"))
	c.equal("events", ids(c.claimLane(noon, "a").Events), []string{"2"})
}

func claimNews(c *check) {
	for name, next := range map[string]time.Time{"never": {}, "later": at(time.Hour), "before": at(-time.Hour)} {
		due := at(time.Minute)
		if name == "before" {
			due = next
		}
		l := c.claimNew(name)
		late := event("late "+name, name)
		late.ReceivedAt = at(time.Second)
		c.accept(late)
		c.claim(at(time.Minute))
		c.save(l, journal.Change{At: at(time.Minute), Decided: l.Events, Release: true, Next: next})
		c.due(due)
		l = c.claimLane(at(time.Minute), name)
		c.equal("events", ids(l.Events), []string{late.ID})
		c.finishLane(l)
		c.claim(at(time.Minute))
	}
}

func claimNewsStress(c *check) { c.newsStress(c.Journal) }

// newsStress accepts events while workers of engines decide and release: every accepted event is
// decided once, without any polling.
func (c *check) newsStress(engines ...Journal) {
	const lanes, producers, each = 5, 4, 150
	var produced sync.WaitGroup
	for p := range producers {
		j := engines[p%len(engines)]
		produced.Go(func() {
			for i := range each {
				if _, err := j.Accept(c.Context(), []rules.Event{event(fmt.Sprint(p, "-", i), fmt.Sprint("lane ", i%lanes))}); err != nil {
					c.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex
	decided := map[string]int{}
	all := make(chan struct{})
	go func() { produced.Wait(); close(all) }()
	var workers sync.WaitGroup
	for w := range 4 {
		j := engines[w/2%len(engines)]
		workers.Go(func() {
			for !c.Failed() {
				var over bool
				select {
				case <-all:
					over = true
				default:
				}
				claimed, err := j.Claim(c.Context(), noon, 2, nil)
				if err != nil {
					c.Error(err)
					return
				}
				if len(claimed) == 0 && over {
					return
				}
				for _, l := range claimed {
					change := &journal.Change{At: noon, Decided: l.Events, Release: true}
					if l.More {
						change.Next = noon
					}
					if err := j.Save(c.Context(), l, change); err != nil {
						c.Error(err)
						return
					}
					mu.Lock()
					for _, e := range l.Events {
						decided[e.ID]++
					}
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	for _, l := range c.claimAll() {
		c.Errorf("%s was left with %d events", l.Name, len(l.Events))
	}
	c.equal("events decided", len(decided), producers*each)
	for id, n := range decided {
		if n != 1 {
			c.Errorf("%s was decided %d times", id, n)
		}
	}
}

func claimUndecided(c *check) {
	c.accept(event("1", "a"), event("2", "a"), event("3", "a"), event("4", "a"))
	l := c.claimLane(noon, "a")
	c.save(l, journal.Change{Decided: []*journal.Event{l.Events[1]}})
	c.save(l, journal.Change{Decided: []*journal.Event{l.Events[0]}, Release: true, Next: at(time.Minute)})
	c.claim(noon)
	l = c.claimLane(at(time.Minute), "a")
	c.equal("events", ids(l.Events), []string{"3", "4"})
	c.save(l, journal.Change{Decided: []*journal.Event{l.Events[1]}, Release: true})
	c.claim(at(time.Hour))
	c.accept(event("5", "a"))
	l = c.claimLane(noon, "a")
	c.equal("events", ids(l.Events), []string{"3", "5"})
	c.finishLane(l)
	c.accept(event("6", "a"))
	c.equal("events", ids(c.claimLane(noon, "a").Events), []string{"6"})
}

func claimLost(c *check) {
	first := c.claimNew("a")
	lost := func(what string, l *journal.Lane) {
		c.Helper()
		if err := c.Save(c.Context(), l, &journal.Change{At: noon, Decided: first.Events, Release: true}); !errors.Is(err, journal.ErrLost) {
			c.Errorf("%s: %v", what, err)
		}
	}
	lost("a lane that nobody claimed", &journal.Lane{Workspace: ws, Name: "b", Epoch: first.Epoch, News: first.News})
	lost("another epoch", &journal.Lane{Workspace: ws, Name: "a", Epoch: first.Epoch + 1, News: first.News})
	c.save(first, journal.Change{Release: true, Next: noon})
	lost("a released lane", first)
	second := c.claimLane(noon, "a")
	lost("a lane that was claimed once more", first)
	c.equal("events that are undecided", ids(second.Events), ids(first.Events))
	c.finishLane(second)
	c.due(time.Time{})
}

func claimMany(c *check) {
	const n = 70
	var names []string
	for i := range n {
		e := event(fmt.Sprint(i), fmt.Sprintf("lane %02d", i))
		e.ReceivedAt = at(time.Duration(i) * time.Millisecond)
		names = append(names, e.Lane)
		c.accept(e)
	}
	for _, l := range c.claim(at(time.Minute), names...) {
		r := run(l.Name, "r", l.Name, l.Name)
		r.Steps = []*journal.Step{{N: 0, Path: "1", Verb: "wait"}, {N: 1, Path: "2", Verb: l.Name}}
		g := journal.Gather{Workspace: ws, Rule: "g", By: l.Name, Events: []int64{l.Events[0].Seq}, Quiet: time.Minute}
		c.save(l, journal.Change{Starts: []*journal.Start{start(rules.Queued, r)}, Gather: []journal.Gather{g}, Release: true, Next: noon})
	}
	lanes := c.claimAll()
	c.equal("lanes", len(lanes), n)
	for _, l := range lanes {
		if len(l.Events) != 1 || l.Events[0].Lane != l.Name || len(l.Runs) != 1 || l.Runs[0].Key != l.Name || len(l.Gathers) != 1 || l.Gathers[0].By != l.Name {
			c.Fatalf("%s: %+v", l.Name, l)
		}
		if s := l.Runs[0].Steps; len(s) != 2 || s[1].Verb != l.Name {
			c.Fatalf("%s: steps %+v", l.Name, s)
		}
	}
}

// claimFair has one of 200 workspaces with a large backlog.
func claimFair(c *check) {
	const workspaces = 200
	in := func(workspace int, lane string, due time.Duration) rules.Event {
		e := event(lane, lane)
		e.Workspace, e.ReceivedAt = fmt.Sprintf("w%03d", workspace), at(due)
		return e
	}
	var events []rules.Event
	for i := range 1000 {
		events = append(events, in(77, fmt.Sprint("flood ", i), -time.Hour))
	}
	for w := range workspaces {
		if w != 77 {
			events = append(events, in(w, fmt.Sprint("first ", w), 0))
		}
	}
	c.accept(events...)
	countByWorkspace := func(lanes []*journal.Lane) map[string]int {
		n := map[string]int{}
		for _, l := range lanes {
			n[l.Workspace]++
		}
		return n
	}
	first, err := c.Claim(c.Context(), noon, workspaces, nil)
	c.ok(err)
	c.equal("workspaces that have a turn", len(countByWorkspace(first)), workspaces)
	c.equal("the first", first[0].Workspace, "w077")
	for _, l := range first {
		c.finishLane(l)
	}

	// While no other workspace has due lanes, the flood gets all claims; as soon as one has, the next
	// claim is its.
	flood, err := c.Claim(c.Context(), noon, 64, nil)
	c.ok(err)
	c.equal("lanes of the flood", countByWorkspace(flood), map[string]int{"w077": 64})
	c.accept(in(3, "second", time.Minute), in(5, "second", time.Minute+time.Second))
	c.finishLane(flood[0])
	one, err := c.Claim(c.Context(), at(time.Hour), 1, nil)
	c.ok(err)
	c.equal("the next turn", countByWorkspace(one), map[string]int{"w003": 1})
	two, err := c.Claim(c.Context(), at(time.Hour), 2, nil)
	c.ok(err)
	c.equal("the turns after it", countByWorkspace(two), map[string]int{"w005": 1, "w077": 1})
}
