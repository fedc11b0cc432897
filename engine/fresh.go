package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A freshEvent is an event that a visit begins with before it is recorded. Most events come to an
// idle lane, and rules decide them by the data they carry: such an event is recorded in one commit
// with its verdicts and the intent of the first call.
//
// The event's sender waits until it is recorded. So the visit does not call the service before
// that, and does not query the journal for events among which this one would be.
type freshEvent struct {
	event    *journal.Event
	noCalls  *actions.NoCalls
	counted  bool      // the rules wanted a count of events that includes this one
	recorded chan bool // gets whether the event was recorded
}

// errRecordFirst says that an event must be recorded before it can be decided.
var errRecordFirst = errors.New("the event must be recorded before it can be decided on")

// Accept records events. It is a triggers.Sink: when it returns they are on disk. A single event
// for an idle lane is usually decided by then, too.
func (e *Engine) Accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
	if len(events) == 1 {
		if v := e.openFresh(events[0]); v != nil {
			if recorded, err := e.visitFresh(ctx, v); recorded || err != nil {
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

// openFresh begins a visit with a fresh event. It returns nil if the event has to wait for its
// turn.
func (e *Engine) openFresh(event rules.Event) *visit {
	w := e.workspaces[event.Workspace]
	if w == nil || w.rules.Load() == nil || event.Rule != "" || e.holdOn(event.Workspace, "", "") != nil || e.shares.isFull(event.Workspace) {
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

// visitFresh decides a fresh event, and reports whether the event is recorded. If the event starts
// runs, or cannot be decided yet, the visit continues in the background after the event is
// recorded.
func (e *Engine) visitFresh(ctx context.Context, v *visit) (recorded bool, err error) {
	fresh := v.fresh
	visiting, noCalls := actions.ForbidCalls(e.workers.working)
	fresh.noCalls = noCalls
	began := time.Now()
	end := func(err error) {
		defer e.workers.visits.Done()
		e.endVisit(v, began, err)
	}
	if d := v.decide(visiting, fresh.event); d.isFinal() {
		if err := e.visit(visiting, v, d); err == nil {
			end(nil)
		} else {
			go end(err) // releasing the lane may take long
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

// mayRecord returns an error if the decision needed calls or counts that are only possible once the
// event is recorded.
func (f *freshEvent) mayRecord() error {
	if f.counted || f.noCalls.Wanted() {
		return errRecordFirst
	}
	return nil
}

// recordFirst starts the visit over, and records its fresh event before deciding it. Whatever
// prevents a decision on an event does not prevent recording it.
func (v *visit) recordFirst(ctx context.Context) error {
	f := v.fresh
	*f.event = journal.Event{Event: f.event.Event}
	f.counted = false
	f.noCalls.Allow()
	v.lane.Runs = nil // the lane was idle
	again := v.engine.newVisit(v.lane, v.clock, v.stopping)
	again.fresh, again.hasWorker, again.since = f, v.hasWorker, v.since
	*v = *again
	if err := v.save(ctx, false); err != nil {
		return err
	}
	return v.work(ctx, nil)
}

// confirmRecorded tells the sender of the visit's fresh event that it is recorded.
func (v *visit) confirmRecorded() {
	v.fresh.noCalls.Allow()
	v.fresh.recorded <- true
	v.fresh = nil
}

// releaseFresh releases a lane whose fresh event the visit could not record. The sender may record
// the event in the usual way.
func (e *Engine) releaseFresh(ctx context.Context, v *visit, err error) error {
	if errors.Is(err, journal.ErrOccupied) {
		e.journal.Drop(v.lane)
		err = nil
	} else {
		err = e.release(ctx, v.lane, v.clock, err) // it is unknown whether the event was recorded
	}
	v.fresh.recorded <- false
	return err
}

// workerWait is how long a visit that began without a worker waits for one. The sender of its event
// waits as long.
const workerWait = 250 * time.Millisecond

// acquireWorker gives the visit one of the workers, because it is about to call the service. If all
// are busy the visit halts, and the lane waits for its turn.
func (v *visit) acquireWorker(ctx context.Context) bool {
	if !v.hasWorker {
		ctx, cancel := context.WithTimeout(ctx, workerWait)
		defer cancel()
		if v.hasWorker = v.engine.workers.Acquire(ctx, 1) == nil; !v.hasWorker {
			v.halt()
		}
	}
	return v.hasWorker
}

// ManualEvent returns the event with which a person starts one rule. Its id is made of the key, so
// that the journal records it once however often it is sent. A conversation_id among the data is
// the conversation that it is about.
func ManualEvent(workspace, rule, key string, at time.Time, data map[string]any) rules.Event {
	id, at := "manual/"+key, at.Truncate(time.Microsecond)
	lane := "event:" + id
	if conversation, ok := data["conversation_id"].(string); ok && conversation != "" {
		lane = actions.ConversationLane(strings.TrimPrefix(conversation, actions.ConversationLane("")))
	}
	return rules.Event{Workspace: workspace, ID: id, Type: "manual", Rule: rule, Lane: lane, CreatedAt: at, ReceivedAt: at, Data: data}
}
