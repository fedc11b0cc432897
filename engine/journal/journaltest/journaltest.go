// Package journaltest has conformance tests for journals.
package journaltest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A Journal is a journal and its reader.
type Journal interface {
	journal.Journal
	journal.Reader
}

// statisticsJournal is the optional interfaces of a journal for people.
type statisticsJournal interface {
	journal.Statistics
	journal.Auditor
}

// A Setup creates the journals to test.
type Setup struct {
	// Open returns an empty journal for a test, which is closed when the test ends.
	Open func(t *testing.T) Journal

	// Crash returns the journal as the next engine finds it after the engine of j was killed: nothing
	// was closed or released, and all leases have expired. No method of j is running when it is
	// called.
	Crash func(t *testing.T, j Journal) Journal

	// Second returns the journal of j as another engine sees it at the same time; nil if a journal has
	// only one engine.
	Second func(t *testing.T, j Journal) Journal

	// Expire expires the leases of j, as if it had been disconnected for a while. J can still be used.
	// Nil if a journal has only one engine.
	Expire func(t *testing.T, j Journal)

	// Beside returns the journal of j as another process sees it that is not an engine, to read,
	// accept, ask, hold and lift. Nil if the journal does not support that.
	Beside func(t *testing.T, j Journal) Journal
}

// Run runs all tests. The short form is for the race detector: of those that do one thing after
// another it runs one in four.
func Run(t *testing.T, s Setup) {
	for i, test := range slices.Concat(concurrent, sequential) {
		if testing.Short() && i >= len(concurrent) && i%4 != 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			test.run(&check{T: t, Setup: s, Journal: s.Open(t)})
		})
	}
}

// In the files of the concurrent ones, tests set goroutines against each other.
var (
	concurrent = slices.Concat(acceptTests, claimTests, saveTests, stopTests, muteTests, shareTests, foundTests, openTests)
	sequential = slices.Concat(runTests, modeTests, slotTests, gatherTests, askTests, causedTests, readTests, statisticsTests, mentionTests, pruneTests, crashTests)
)

type test struct {
	name string
	run  func(*check)
}

// A check is one test of a journal.
type check struct {
	*testing.T
	Setup
	Journal
}

// noon is when tests begin. Other times are relative to it.
var noon = time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

const ws = "default"

// ok ends the test on an error.
func (c *check) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// equal compares got with want. Empty lists equal nil.
func (c *check) equal(what string, got, want any) {
	c.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), gocmp.Comparer(func(a, b *time.Location) bool { return a == b })); diff != "" {
		c.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// event returns an event of a lane.
func event(id, lane string) rules.Event {
	return rules.Event{Workspace: ws, ID: id, Type: "message.received", Lane: lane, CreatedAt: noon, ReceivedAt: noon, Data: map[string]any{"id": id}}
}

// accept records events that must be new.
func (c *check) accept(events ...rules.Event) {
	c.Helper()
	fresh, err := c.Accept(c.Context(), events)
	c.ok(err)
	if len(fresh) != len(events) || slices.Contains(fresh, false) {
		c.Fatalf("accept: fresh is %v", fresh)
	}
}

// claimAfter claims everything that is due after a while, sorted by name: lanes that are due at the
// same time come in any order.
func (c *check) claimAfter(d time.Duration) []*journal.Lane {
	c.Helper()
	lanes, err := c.Claim(c.Context(), at(d), 1000, nil)
	c.ok(err)
	slices.SortFunc(lanes, func(a, b *journal.Lane) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Workspace, b.Workspace))
	})
	return lanes
}

func (c *check) claimAll() []*journal.Lane { c.Helper(); return c.claimAfter(0) }

// claim claims what is due, which must be these lanes.
func (c *check) claim(now time.Time, names ...string) []*journal.Lane {
	c.Helper()
	lanes := c.claimAfter(now.Sub(noon))
	c.equal("claimed lanes", laneNames(lanes), names)
	return lanes
}

func laneNames(lanes []*journal.Lane) (names []string) {
	for _, l := range lanes {
		names = append(names, l.Name)
	}
	return names
}

// claimLane claims the only lane that is due.
func (c *check) claimLane(now time.Time, name string) *journal.Lane {
	c.Helper()
	return c.claim(now, name)[0]
}

// claimNew makes a lane due and claims it, whatever else is pending.
func (c *check) claimNew(name string) *journal.Lane {
	c.Helper()
	c.accept(event(fmt.Sprintf("for %s, %d", name, serial()), name))
	return c.claimLane(noon, name)
}

// withAllEvents loads all pending events into a lane, also those beyond MostEvents.
func (c *check) withAllEvents(l *journal.Lane) *journal.Lane {
	c.Helper()
	events, err := c.ListEvents(c.Context(), journal.EventFilter{Workspace: l.Workspace, Lane: l.Name, Forward: true, Limit: 10_000})
	c.ok(err)
	l.Events, l.More = slices.DeleteFunc(events, func(e *journal.Event) bool { return e.Decided }), false
	return l
}

// recorded returns how many events a lane has had.
func (c *check) recorded(lane string) int {
	c.Helper()
	events, err := c.ListEvents(c.Context(), journal.EventFilter{Lane: lane, Limit: 10_000})
	c.ok(err)
	return len(events)
}

// save records a change, which must succeed.
func (c *check) save(l *journal.Lane, change journal.Change) {
	c.Helper()
	if change.At.IsZero() {
		change.At = noon
	}
	c.ok(c.Save(c.Context(), l, &change))
}

// hold places a hold, and returns the calls that were under way.
func (c *check) hold(h journal.Hold) []journal.UnderWay {
	c.Helper()
	calls, err := c.Hold(c.Context(), h)
	c.ok(err)
	return calls
}

// finishLane decides everything that is pending in a lane and releases it.
func (c *check) finishLane(l *journal.Lane) {
	c.Helper()
	c.save(l, journal.Change{Decided: l.Events, Release: true})
}

// due checks when the next lane is due.
func (c *check) due(want time.Time) {
	c.Helper()
	got, err := c.Due(c.Context(), nil)
	c.ok(err)
	if !got.Equal(want) {
		c.Fatalf("due at %v, want %v", got, want)
	}
}

// find returns a run as it is recorded.
func (c *check) find(id int64) *journal.Run {
	c.Helper()
	r, err := c.FindRun(c.Context(), id)
	c.ok(err)
	return r
}

// run returns a run that can be started in a lane.
func run(lane, rule, by, key string) *journal.Run {
	return &journal.Run{Key: key, Workspace: ws, Rule: rule, Version: "v-" + rule, Home: lane, Lane: lane, By: by, State: journal.Running, Stage: rules.Live,
		StartedAt: noon, WakeAt: noon}
}

// start returns a start of a run, with its own verdict.
func start(mode rules.Mode, r *journal.Run) *journal.Start {
	return &journal.Start{Run: r, Mode: mode, Source: "source of " + r.Rule, Verdict: &journal.Verdict{Rule: r.Rule, Outcome: journal.Fired, Version: r.Version}}
}

// begin starts runs in a lane and keeps the claim.
func (c *check) begin(l *journal.Lane, starts ...*journal.Start) {
	c.Helper()
	c.save(l, journal.Change{Starts: starts})
}

// finish ends a run in a claimed lane.
func (c *check) finish(l *journal.Lane, r *journal.Run, state journal.State) {
	c.Helper()
	finished := *r
	finished.State, finished.FinishedAt = state, noon
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: &finished}}})
}

var last atomic.Int64

// serial returns a unique number.
func serial() int64 { return last.Add(1) }
