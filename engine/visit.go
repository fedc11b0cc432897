package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A visit is one worker's time in a claimed lane. It handles requests to the lane's runs, then the
// lane's events in order, then the runs that are due.
//
// A visit collects its changes and saves them in the journal at two moments only: before a call is
// made, because its intent must be on disk by then, and at the end. So a call's receipt and the
// next call's intent are one commit.
type visit struct {
	*laneState
	*pending
	*judge

	stopping func() bool           // reports that nothing more may be begun
	refused  map[*journal.Run]bool // runs that the journal did not allow to begin
	next     time.Time             // when the lane is due again
	halted   bool                  // the workspace is on hold, or the engine is stopping
	waited   time.Duration         // time spent waiting for the service's answers to calls
	calls    int                   // how many were made

	hasWorker bool // it counts as one of the workers

	postponed bool                  // some events cannot be decided yet
	deferred  map[*journal.Run]bool // runs that such an event may concern
	settling  *journal.Run          // the run whose open call an event waits for: it begins no other step

	// Used only if there is a tracer.
	since   time.Time                   // when the visit began
	matches map[*journal.Event]interval // decisions that are not recorded yet
	traced  map[*journal.Step]bool      // steps whose end was traced
}

func (e *Engine) newVisit(lane *journal.Lane, clock func() time.Time, stopping func() bool) *visit {
	all := &struct { // a single allocation
		visit
		at   laneState
		todo pending
		by   judge
	}{}
	all.at = laneState{engine: e, workspace: e.workspaces[lane.Workspace], lane: lane, clock: clock, newest: e.journal.Newest()}
	all.todo.laneState, all.by.laneState = &all.at, &all.at
	all.visit = visit{laneState: &all.at, pending: &all.todo, judge: &all.by, stopping: stopping}
	v := &all.visit
	v.since = v.traceTime().Truncate(time.Microsecond)
	return v
}

// asWorker returns the visit, as one that has a worker from the beginning.
func (v *visit) asWorker() *visit {
	v.hasWorker = true
	return v
}

// put sets a key of a map, which it makes if it is nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// work does what is due in the lane and releases it. first is the decision already made on the
// first event, or nil.
func (v *visit) work(ctx context.Context, first *decision) (err error) {
	defer v.recoverPanic(&err)
	if v.workspace == nil || v.workspace.rules.Load() == nil {
		v.engine.skipUnconfigured(v.lane.Workspace)
		v.wake(v.now())
		return v.save(ctx, true)
	}
	if slices.ContainsFunc(v.lane.Runs, v.isHeld) {
		// The lane may be due because a hold was lifted a moment ago. If the visit missed that, nothing
		// would make the lane due again.
		if err := v.engine.readHolds(ctx, v.now()); err != nil {
			return err
		}
	}
	decideAll := func(ctx context.Context) error { return v.decideAll(ctx, first) }
	for _, do := range []func(context.Context) error{v.answerRequests, decideAll, v.continueRuns} {
		if v.stopped() {
			break
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
	v.planNext()
	return v.save(ctx, true)
}

// stopped reports whether this visit may begin nothing more.
func (v *visit) stopped() bool {
	if !v.halted && (v.stopping() || v.engine.holdOn(v.lane.Workspace, "", "") != nil) {
		v.halt()
	}
	return v.halted
}

// halt ends the visit and makes the lane due at once for what is left.
func (v *visit) halt() {
	v.halted = true
	v.wake(v.now())
}

// wake makes the lane due at a time.
func (v *visit) wake(at time.Time) {
	if v.next.IsZero() || at.Before(v.next) {
		v.next = at
	}
}

// planNext finds out when the lane is due again. What is on hold is due when the hold is lifted.
func (v *visit) planNext() {
	for _, r := range v.lane.Runs {
		if r.Lane == v.lane.Name && !r.State.Finished() && r.State != journal.Queued && !r.WakeAt.IsZero() && !v.deferred[r] && !v.isHeld(r) {
			v.wake(r.WakeAt)
		}
	}
	for _, g := range v.lane.Gathers {
		v.wake(g.Until)
	}
}

// answerRequests carries out what was requested of runs from outside of the lane.
func (v *visit) answerRequests(ctx context.Context) error {
	for _, r := range v.lane.Runs {
		if r.Asked == nil || r.Lane != v.lane.Name {
			continue
		}
		ask := *r.Asked
		v.runChange(r).Answered = true
		var err error
		switch {
		case ask.What == journal.AskCancel && !r.State.Finished():
			v.finish(r, journal.Cancelled, ask.Said())
		case ask.What == journal.AskRetry && r.State.Allows(ask.What):
			err = v.retry(r)
		case ask.What == journal.AskDealt && r.State.Allows(ask.What):
			r.State = journal.Dealt
			v.touch(r)
		case (ask.What == journal.AskDone || ask.What == journal.AskRepeat) && r.State == journal.Uncertain:
			err = v.resolve(r, ask.What)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// continueRuns ends gathers and takes the steps of runs that are due.
func (v *visit) continueRuns(ctx context.Context) error {
	if err := v.endGathers(ctx, v.now()); err != nil || v.stopped() {
		return err
	}
	return v.walkDue(ctx, v.now())
}

// walkDue takes the steps of the runs that were due at the time by, the oldest first.
func (v *visit) walkDue(ctx context.Context, by time.Time) error {
	if !slices.ContainsFunc(v.lane.Runs, func(r *journal.Run) bool { return v.due(r, by) }) {
		return nil
	}
	runs := slices.Clone(v.lane.Runs)
	slices.SortStableFunc(runs, func(a, b *journal.Run) int {
		if a.ID == 0 || b.ID == 0 {
			return cmp.Compare(b.ID, a.ID) // a run that is not recorded yet has no id, and is the youngest
		}
		return cmp.Compare(a.ID, b.ID)
	})
	for _, r := range runs {
		if v.stopped() {
			return nil
		}
		if !v.due(r, by) {
			continue
		}
		if deferred, err := v.mayConcern(ctx, r); deferred || err != nil {
			if err != nil {
				return err
			}
			put(&v.deferred, r, true)
			continue
		}
		if err := v.walk(ctx, r, nil); err != nil {
			return err
		}
	}
	return nil
}

// save writes everything that has changed since the last save to the journal.
func (v *visit) save(ctx context.Context, release bool, take ...journal.Slot) error {
	if err := v.collectEndedMarks(ctx); err != nil {
		return err
	}
	c := &v.change
	c.At, c.Runs, c.Take, c.Release, c.Next = v.now(), nil, take, release, v.next
	for _, s := range c.Starts {
		if err := v.encodeRecords(s.Run.Steps); err != nil {
			return err
		}
	}
	for _, r := range v.lane.Runs {
		if changed := v.touched[r]; changed != nil {
			if err := v.encodeRecords(changed.Steps); err != nil {
				return err
			}
			c.Runs = append(c.Runs, changed)
		}
	}
	if !release && len(c.Decided)+len(c.Starts)+len(c.Gather)+len(c.Ended)+len(c.Runs)+len(c.Caused)+len(c.Used)+len(c.Gone)+len(c.Asks)+len(c.Take) == 0 && c.Call == nil && v.fresh == nil {
		return nil
	}
	if v.fresh != nil {
		if err := v.fresh.mayRecord(); err != nil {
			return err
		}
		c.Fresh = v.fresh.event
	}
	if err := v.engine.journal.Save(ctx, v.lane, c); err != nil {
		return err
	}
	v.traceSaved(ctx, c)
	v.saved(c)
	if v.fresh != nil {
		v.confirmRecorded()
		if !release {
			v.acquireWorker(ctx) // for the steps that follow
		}
	}
	return nil
}

// saved tells the observer what is on disk, and begins the next change.
func (v *visit) saved(c *journal.Change) {
	o := v.engine.options.Observer
	var replaced []*journal.Run
	for _, e := range c.Decided {
		o.Decided(e)
	}
	for _, s := range c.Starts {
		if s.Begun {
			o.Began(s.Run, v.loadedEvent(s.Run.Event))
			o.Changed(s.Run)
			continue
		}
		put(&v.refused, s.Run, true)
		if s.Mode == rules.Restart && s.Run.State == journal.Queued {
			replaced = append(replaced, s.Run)
		}
		v.lane.Runs = slices.DeleteFunc(v.lane.Runs, func(r *journal.Run) bool { return r == s.Run })
	}
	for _, r := range c.Runs {
		o.Changed(r.Run)
		if r.Answered {
			r.Run.Asked = nil
		}
	}
	v.engine.forgetUnsaved(c.Caused)
	v.change = journal.Change{}
	clear(v.touched)
	for _, r := range replaced {
		v.replaceRuns(r)
	}
}
