package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// An arrival is an event that is decided on before it is recorded. Whoever delivers it waits for no more than that: the service is not called before,
// and the journal not asked for what the event itself would be a part of.
type arrival struct {
	event    *journal.Event
	calls    *actions.Abstinence
	tooSoon  bool      // more had to be known than may be asked for
	recorded chan bool // whether it was
}

// errTooSoon says that an event cannot be decided on before it is recorded.
var errTooSoon = errors.New("the event must be recorded before it can be decided on")

// For how long nothing of a type is decided at once after that could not be done: longer each time, because most often what was missing is soon known.
const (
	shortVain = 20 * time.Millisecond
	longVain  = 2 * time.Second
)

// attempts is what deciding at once has come to lately, by the type of the event.
type attempts struct{ byType sync.Map }

// An attempt is what came of the last one.
type attempt struct {
	vain  time.Duration // for how long it is not tried again; 0 is that it was not in vain
	until time.Time
}

// worthwhile reports whether an event of a type should be tried.
func (t *attempts) worthwhile(eventType string) bool {
	last, ok := t.byType.Load(eventType)
	if !ok {
		return true
	}
	a := last.(attempt)
	return a.vain == 0 || !time.Now().Before(a.until)
}

// note notes what became of an attempt.
func (t *attempts) note(eventType string, vain bool) {
	var before attempt
	if last, ok := t.byType.Load(eventType); ok {
		before = last.(attempt)
	}
	var after attempt
	if vain {
		after.vain = min(max(2*before.vain, shortVain), longVain)
		after.until = time.Now().Add(after.vain)
	}
	if after != before {
		t.byType.Store(eventType, after)
	}
}

// acceptDecided has an event decided on at once, and reports whether it is recorded. If not, it may be recorded as any other.
func (e *Engine) acceptDecided(ctx context.Context, event rules.Event) (recorded bool, err error) {
	opener, ok := e.journal.(journal.Opener)
	w := e.workspaces[event.Workspace]
	if !ok || w == nil || w.rules.Load() == nil || event.Rule != "" || !w.attempts.worthwhile(event.Type) || e.holdOn(event.Workspace, "", "") != nil || e.shares.full(event.Workspace) {
		return false, nil
	}
	lane := opener.Open(event.Workspace, event.Lane)
	if lane == nil {
		return false, nil
	}
	if !e.workers.join() {
		opener.Drop(lane)
		return false, nil
	}
	e.shares.begin([]*journal.Lane{lane})
	v := e.newVisit(lane, e.workers.clock, e.workers.stopping)
	a := &arrival{event: &journal.Event{Event: event}, recorded: make(chan bool, 1)}
	lane.Events, v.arrival = []*journal.Event{a.event}, a
	var visiting context.Context
	visiting, a.calls = actions.Abstain(e.workers.working)
	began := time.Now()
	end := func(err error) {
		defer e.workers.visits.Done()
		e.over(v, began, err)
	}
	if v.decideFirst(visiting) {
		go func() { end(e.visitAtOnce(visiting, v)) }()
	} else if err := e.visitAtOnce(visiting, v); err != nil {
		go end(err) // which may take long
	} else {
		end(nil)
	}
	select {
	case recorded = <-a.recorded:
		return recorded, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// decideFirst decides on the event that arrives, and reports whether runs begin: then the visit is not over when the event is recorded, and whoever delivers it is not to wait for the rest.
func (v *visit) decideFirst(ctx context.Context) bool {
	v.decided = &decision{}
	defer v.survive(&v.decided.err)
	v.decided = v.decide(ctx, v.arrival.event)
	return len(v.decided.starts) > 0
}

// visitAtOnce works on a lane that was opened for an event. What keeps the event from being recorded is nobody's trouble: it is recorded as any other.
func (e *Engine) visitAtOnce(ctx context.Context, v *visit) error {
	a := v.arrival
	err := v.work(ctx)
	v.evaluated()
	if v.hasWorker {
		e.workers.Release(1)
	}
	v.workspace.attempts.note(a.event.Type, v.tooSoon())
	e.forgetUnsaved(v.pending.Caused)
	switch {
	case v.arrival == nil:
		return e.leave(ctx, v.lane, v.clock, err)
	case errors.Is(err, errTooSoon), errors.Is(err, journal.ErrOccupied):
		e.journal.(journal.Opener).Drop(v.lane)
		err = nil
	default:
		err = e.leave(ctx, v.lane, v.clock, err) // nobody knows whether it was recorded
	}
	a.recorded <- false
	return err
}

// mayRecord returns an error where the visit's event cannot be recorded as one that is decided on.
func (v *visit) mayRecord() error {
	if len(v.pending.Gather) > 0 {
		v.arrival.tooSoon = true
	}
	if v.tooSoon() || !v.arrival.event.Decided {
		return errTooSoon
	}
	return nil
}

// tooSoon reports whether something was asked for that must wait until the visit's event is recorded.
func (v *visit) tooSoon() bool {
	return v.arrival != nil && (v.arrival.tooSoon || v.arrival.calls.Wanted())
}

// arrived tells whoever delivered the visit's event that it is recorded. Whatever the visit does after that it does as one of the workers.
func (v *visit) arrived(ctx context.Context, over bool) error {
	v.arrival.calls.End()
	v.arrival.recorded <- true
	v.arrival = nil
	if over || v.hasWorker {
		return nil
	}
	return v.acquireWorker(ctx)
}

// A call that is announced must not have to wait for a worker. Where all of them are busy for
// this long, the event is better recorded.
const workerPatience = 250 * time.Millisecond

// needWorker makes the visit one of the workers before it announces a call.
func (v *visit) needWorker(ctx context.Context) error {
	if v.arrival == nil || v.hasWorker {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, workerPatience)
	defer cancel()
	if v.acquireWorker(ctx) != nil {
		v.arrival.tooSoon = true
		return errTooSoon
	}
	return nil
}

// acquireWorker waits until the visit is one of the workers.
func (v *visit) acquireWorker(ctx context.Context) error {
	err := v.engine.workers.Acquire(ctx, 1)
	v.hasWorker = err == nil
	return err
}
