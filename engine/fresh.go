package engine

import (
	"context"
	"errors"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A fresh event is one with which a visit begins before it is recorded. Most events come to a lane
// in which nothing waits, and rules decide on what the event itself carries: such an event is
// recorded together with what was decided on it, and with the intent of the first call.
//
// Who delivers the event waits until it is recorded, so the service is not called before that, and
// the journal not asked for what the event itself would be a part of.
type freshEvent struct {
	event    *journal.Event
	noCalls  *actions.NoCalls
	counted  bool      // events were to be counted, of which it is one
	recorded chan bool // whether it was
}

// errRecordFirst says that an event cannot be decided on before it is recorded.
var errRecordFirst = errors.New("the event must be recorded before it can be decided on")

// Accept records events. It is a triggers.Sink: when it returns they are on disk. One that comes
// alone to a lane in which nothing waits is decided on by then, most often.
func (e *Engine) Accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
	if len(events) == 1 {
		if v := e.open(events[0]); v != nil {
			if recorded, err := e.receive(ctx, v); recorded || err != nil {
				return []bool{recorded}, err
			}
		}
	}
	fresh, err := e.journal.Accept(ctx, events)
	if err == nil {
		e.wake()
	}
	return fresh, err
}

// open begins a visit with a fresh event. It returns nil where the event has to wait for its turn.
func (e *Engine) open(event rules.Event) *visit {
	w := e.workspaces[event.Workspace]
	if w == nil || w.rules.Load() == nil || event.Rule != "" || e.holdOn(event.Workspace, "", "") != nil || e.shares.full(event.Workspace) {
		return nil
	}
	lane := e.journal.Open(event.Workspace, event.Lane)
	if lane == nil {
		return nil
	}
	if !e.workers.join() {
		e.journal.Drop(lane)
		return nil
	}
	e.shares.begin([]*journal.Lane{lane})
	v := e.newVisit(lane, e.workers.clock, e.workers.stopping)
	v.fresh = &freshEvent{event: &journal.Event{Event: event}, recorded: make(chan bool, 1)}
	lane.Events = []*journal.Event{v.fresh.event}
	return v
}

// receive decides on a fresh event, and reports whether it is recorded. Where runs begin, or the
// event cannot be decided on yet, the visit is not over when the event is recorded, and goes on
// behind that.
func (e *Engine) receive(ctx context.Context, v *visit) (recorded bool, err error) {
	fresh := v.fresh
	visiting, noCalls := actions.ForbidCalls(e.workers.working)
	fresh.noCalls = noCalls
	began := time.Now()
	end := func(err error) {
		defer e.workers.visits.Done()
		e.over(v, began, err)
	}
	if d := v.decide(visiting, fresh.event); d.isOver() {
		if err := e.visit(visiting, v, d); err == nil {
			end(nil)
		} else {
			go end(err) // which may take long
		}
	} else {
		go func() { end(e.visit(visiting, v, d)) }()
	}
	select {
	case recorded = <-fresh.recorded:
		return recorded, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// mayRecord returns an error where what was done rests on less than may be asked for behind the
// record of the visit's fresh event.
func (f *freshEvent) mayRecord() error {
	if f.counted || f.noCalls.Wanted() {
		return errRecordFirst
	}
	return nil
}

// recordFirst begins the visit again, and records its fresh event before that is decided on. What
// keeps an event from being decided on does not keep it from being recorded.
func (v *visit) recordFirst(ctx context.Context) error {
	f := v.fresh
	*f.event = journal.Event{Event: f.event.Event}
	f.counted = false
	f.noCalls.Allow()
	v.lane.Runs = nil // it was empty
	again := v.engine.newVisit(v.lane, v.clock, v.stopping)
	again.fresh, again.hasWorker, again.since = f, v.hasWorker, v.since
	*v = *again
	if err := v.save(ctx, false); err != nil {
		return err
	}
	return v.work(ctx, nil)
}

// recorded tells who delivered the visit's fresh event that it is recorded.
func (v *visit) recorded() {
	v.fresh.noCalls.Allow()
	v.fresh.recorded <- true
	v.fresh = nil
}

// giveUpFresh gives back a lane whose fresh event could not be recorded by the visit. Its
// deliverer may record it as any other.
func (e *Engine) giveUpFresh(ctx context.Context, v *visit, err error) error {
	if errors.Is(err, journal.ErrOccupied) {
		e.journal.Drop(v.lane)
		err = nil
	} else {
		err = e.leave(ctx, v.lane, v.clock, err) // nobody knows whether it was recorded
	}
	v.fresh.recorded <- false
	return err
}

// workerPatience is how long a visit that began beside the workers waits to become one of them.
// Who delivers its event waits as long.
const workerPatience = 250 * time.Millisecond

// acquireWorker makes the visit one of the workers, because it is about to call the service. Where
// all of them are busy the visit halts, and the lane waits for its turn.
func (v *visit) acquireWorker(ctx context.Context) bool {
	if !v.hasWorker {
		ctx, cancel := context.WithTimeout(ctx, workerPatience)
		defer cancel()
		if v.hasWorker = v.engine.workers.Acquire(ctx, 1) == nil; !v.hasWorker {
			v.halt()
		}
	}
	return v.hasWorker
}
