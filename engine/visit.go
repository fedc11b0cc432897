package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A visit is one worker's time in a claimed lane: what was asked of its runs, its events in order,
// then the runs that are due.
//
// What happens is collected and handed to the journal at two moments only: before a call is made,
// because its intent must be on disk by then, and at the end. So a call's receipt and the next
// call's intent are one commit.
type visit struct {
	*laneState
	*pending
	*judge

	stopping func() bool           // nothing more is to be begun
	refused  map[*journal.Run]bool // runs that the journal did not let begin
	next     time.Time             // when the lane is due again
	halted   bool                  // the workspace is stopped, or the engine is
	waited   time.Duration         // for the service's answers to calls
	calls    int                   // that were made

	hasWorker bool // it counts as one of the workers

	postponed bool                  // there are events that cannot be decided yet
	deferred  map[*journal.Run]bool // runs that such an event may concern
	settling  *journal.Run          // whose open call an event waits for: it begins no other step

	// For a tracer, where there is one.
	since   time.Time                  // when the visit began
	matches map[*journal.Event]stretch // how long events took that are not recorded yet
	told    map[*journal.Step]bool     // of which steps the end was told
}

func (e *Engine) newVisit(lane *journal.Lane, clock func() time.Time, stopping func() bool) *visit {
	all := &struct { // one piece of memory
		visit
		at   laneState
		todo pending
		by   judge
	}{}
	all.at = laneState{engine: e, workspace: e.workspaces[lane.Workspace], lane: lane, clock: clock}
	all.todo.laneState, all.by.laneState = &all.at, &all.at
	all.visit = visit{laneState: &all.at, pending: &all.todo, judge: &all.by, stopping: stopping}
	v := &all.visit
	v.since = v.moment().Truncate(time.Microsecond)
	return v
}

// asWorker returns a visit that is one of the workers from the beginning.
func (v *visit) asWorker() *visit {
	v.hasWorker = true
	return v
}

// put puts something into a map, which it makes where there is none.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// work does what there is to do in the lane and gives it back. First is what was decided already on
// the first event; nil is nothing.
func (v *visit) work(ctx context.Context, first *decision) (err error) {
	defer v.survive(&err)
	if v.workspace == nil || v.workspace.rules.Load() == nil {
		v.engine.leaveAlone(v.lane.Workspace)
		v.wake(v.now())
		return v.save(ctx, true)
	}
	if slices.ContainsFunc(v.lane.Runs, v.isHeld) {
		// The lane may be due because that was lifted a moment ago: nobody would ask for its attention
		// again.
		if err := v.engine.readHolds(ctx, v.now()); err != nil {
			return err
		}
	}
	decideAll := func(ctx context.Context) error { return v.decideAll(ctx, first) }
	for _, do := range []func(context.Context) error{v.answer, decideAll, v.goOn} {
		if v.stopped() {
			break
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
	v.plan()
	return v.save(ctx, true)
}

// stopped reports whether nothing more is to be begun in this visit.
func (v *visit) stopped() bool {
	if !v.halted && (v.stopping() || v.engine.holdOn(v.lane.Workspace, "", "") != nil) {
		v.halt()
	}
	return v.halted
}

// halt ends the visit: what is left is done in a later one.
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

// plan finds out when the lane is due again. What a hold stops is due when that is lifted.
func (v *visit) plan() {
	for _, r := range v.lane.Runs {
		if r.Lane == v.lane.Name && !r.State.Finished() && r.State != journal.Queued && !r.WakeAt.IsZero() && !v.deferred[r] && !v.isHeld(r) {
			v.wake(r.WakeAt)
		}
	}
	for _, g := range v.lane.Gathers {
		v.wake(g.Until)
	}
}

// answer does what was asked of runs from outside of the lane.
func (v *visit) answer(ctx context.Context) error {
	for _, r := range v.lane.Runs {
		if r.Asked == nil || r.Lane != v.lane.Name {
			continue
		}
		ask := *r.Asked
		v.changed(r).Answered = true
		var err error
		switch {
		case ask.What == journal.AskCancel && !r.State.Finished():
			v.finish(r, journal.Cancelled, ask.Said())
		case ask.What == journal.AskRetry && r.State == journal.FailedRun:
			err = v.retry(r)
		case (ask.What == journal.AskDone || ask.What == journal.AskRepeat) && r.State == journal.Uncertain:
			err = v.resolve(r, ask.What)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// goOn ends gathers and takes the steps of runs whose time has come.
func (v *visit) goOn(ctx context.Context) error {
	if err := v.endGathers(ctx, v.now()); err != nil || v.stopped() {
		return err
	}
	return v.walkDue(ctx, v.now())
}

// walkDue takes the steps of the runs whose time had come by a time.
func (v *visit) walkDue(ctx context.Context, by time.Time) error {
	if !slices.ContainsFunc(v.lane.Runs, func(r *journal.Run) bool { return v.due(r, by) }) {
		return nil
	}
	runs := slices.Clone(v.lane.Runs)
	slices.SortFunc(runs, func(a, b *journal.Run) int { return cmp.Compare(a.ID, b.ID) })
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

// save hands in everything that has happened since the last time.
func (v *visit) save(ctx context.Context, release bool, take ...journal.Slot) error {
	if err := v.takeMarks(ctx); err != nil {
		return err
	}
	c := &v.change
	c.At, c.Runs, c.Take, c.Release, c.Next = v.now(), nil, take, release, v.next
	for _, s := range c.Starts {
		if err := v.seal(s.Run.Steps); err != nil {
			return err
		}
	}
	for _, r := range v.lane.Runs {
		if changed := v.touched[r]; changed != nil {
			if err := v.seal(changed.Steps); err != nil {
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
		v.recorded()
		if !release {
			v.acquireWorker(ctx) // for what comes behind
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
			o.Began(s.Run, v.known(s.Run.Event))
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
		v.replace(r)
	}
}
