package engine

import (
	"context"
	"github.com/quandohq/quando/engine/journal"
	"time"
)

// A Tracer receives what an event led to, in parts, each when it has ended. Many goroutines call it
// at once, and it must not block. A part may hold what customers wrote: a tracer that passes it on
// has to choose what may be seen.
type Tracer interface{ Trace(p Part) }

// A PartKind is the kind of a part of a trace.
type PartKind string

// The kinds of parts.
const (
	PartMatch  PartKind = "match"  // every rule had its verdict, and the verdicts are recorded
	PartRun    PartKind = "run"    // a run has ended
	PartStep   PartKind = "step"   // a step has ended, or its run has ended while the step was open
	PartCall   PartKind = "call"   // a call was made
	PartSettle PartKind = "settle" // a call without an answer was settled
)

// A Part is one thing that an event led to.
type Part struct {
	Kind  PartKind
	Event *journal.Event
	Run   *journal.Run  // nil for a match
	Step  *journal.Step // of a step, and of its calls
	Call  string        // of a call: its name within the step, such as "send"
	Err   error         // of a call: its outcome

	// RunAgain and StepAgain are how often a person had the run, and the step, retried: together with
	// them, a part that is traced again is a different one.
	RunAgain, StepAgain int

	Began, Ended time.Time
}

// interval is from when to when something took place.
type interval struct{ began, ended time.Time }

// traceTime returns the time if there is a tracer; without one it saves the call of the clock.
func (l *laneState) traceTime() (t time.Time) {
	if l.engine.options.Tracer != nil {
		t = l.clock()
	}
	return t
}

// recordMatch keeps how long an event's decision took, until the decision is recorded.
func (v *visit) recordMatch(e *journal.Event, began time.Time) {
	if v.engine.options.Tracer == nil {
		return
	}
	if v.matches == nil {
		v.matches = make(map[*journal.Event]interval)
	}
	v.matches[e] = interval{began, v.clock()}
}

// traceCall traces a call, or the settlement of one.
func (k *walk) traceCall(kind PartKind, s *journal.Step, call string, began time.Time, err error) {
	if t := k.engine.options.Tracer; t != nil {
		t.Trace(k.partOf(k.run, s, Part{Kind: kind, Event: k.facts.event, Call: call, Err: err, Began: began, Ended: k.clock()}))
	}
}

// traceSaved traces everything that ended with a change.
func (v *visit) traceSaved(ctx context.Context, c *journal.Change) {
	t := v.engine.options.Tracer
	if t == nil {
		return
	}
	for _, e := range c.Decided {
		took, ok := v.matches[e]
		if !ok {
			took = interval{c.At, c.At} // the event was given up
		}
		delete(v.matches, e)
		t.Trace(Part{Kind: PartMatch, Event: e, Began: took.began, Ended: took.ended})
	}
	for _, s := range c.Starts {
		if s.Begun {
			v.traceRun(ctx, t, s.Run, s.Run.Steps)
		}
	}
	for _, r := range c.Runs {
		v.traceRun(ctx, t, r.Run, r.Steps)
	}
}

// traceRun traces the steps of a run that have ended in this visit, and the run if it has ended.
func (v *visit) traceRun(ctx context.Context, t Tracer, r *journal.Run, changed []*journal.Step) {
	e, err := v.event(ctx, r.Event)
	if err != nil {
		return // without its event, the part belongs to no trace
	}
	if r.State.Finished() {
		changed = r.Steps
	}
	for _, s := range changed {
		rec, err := v.record(s)
		if err != nil || v.traced[s] {
			continue
		}
		ended := rec.Ended
		switch {
		case s.State.Finished() && ended.Before(v.since), !s.State.Finished() && !r.State.Finished():
			continue // an earlier visit traced it, or a later one will
		case !s.State.Finished():
			ended = r.FinishedAt
		}
		if v.traced == nil {
			v.traced = make(map[*journal.Step]bool)
		}
		v.traced[s] = true
		t.Trace(v.partOf(r, s, Part{Kind: PartStep, Event: e, Began: rec.At, Ended: ended}))
	}
	if r.State.Finished() {
		t.Trace(v.partOf(r, nil, Part{Kind: PartRun, Event: e, Began: r.StartedAt, Ended: r.FinishedAt}))
	}
}

// partOf fills in which run and step a part belongs to.
func (v *visit) partOf(r *journal.Run, s *journal.Step, p Part) Part {
	p.Run, p.Step = r, s
	for _, one := range r.Steps {
		if rec, err := v.record(one); err == nil {
			p.RunAgain += rec.Again
			if one == s {
				p.StepAgain = rec.Again
			}
		}
	}
	return p
}
