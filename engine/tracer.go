package engine

import (
	"context"
	"github.com/quandohq/quando/engine/journal"
	"time"
)

// A Tracer is told what came of events, part by part, each when it is over. It is called by many
// goroutines at once and must not block. What it is told may hold what customers wrote: whoever
// passes it on chooses what is fit to be seen.
type Tracer interface{ Trace(p Part) }

// A PartKind says what a part of a trace is.
type PartKind string

// The kinds of parts.
const (
	PartMatch  PartKind = "match"  // every rule was asked for its verdict, and they are recorded
	PartRun    PartKind = "run"    // a run has come to its end
	PartStep   PartKind = "step"   // a step has come to its end, or its run has while it was open
	PartCall   PartKind = "call"   // a call was made
	PartSettle PartKind = "settle" // what became of a call without an answer was looked into
)

// A Part is one thing that came of an event.
type Part struct {
	Kind  PartKind
	Event *journal.Event
	Run   *journal.Run  // nil of a match
	Step  *journal.Step // of a step, and of its calls
	Call  string        // of a call: its name within the step, such as "send"
	Err   error         // of a call: what came of it

	// RunAgain and StepAgain say how often a person let the run, and the step, be tried once more: a
	// part that is told again is another one then.
	RunAgain, StepAgain int

	Began, Ended time.Time
}

// stretch is from when to when something took place.
type stretch struct{ began, ended time.Time }

// moment is the time where somebody wants to know how long something takes, else nothing is asked.
func (l *laneState) moment() (t time.Time) {
	if l.engine.options.Tracer != nil {
		t = l.clock()
	}
	return t
}

// matched notes how long it took to decide on an event, until that is recorded.
func (v *visit) matched(e *journal.Event, began time.Time) {
	if v.engine.options.Tracer == nil {
		return
	}
	if v.matches == nil {
		v.matches = make(map[*journal.Event]stretch)
	}
	v.matches[e] = stretch{began, v.clock()}
}

// traceCall tells of a call, or of a look at what became of one.
func (k *walk) traceCall(kind PartKind, s *journal.Step, call string, began time.Time, err error) {
	if t := k.engine.options.Tracer; t != nil {
		t.Trace(k.part(k.run, s, Part{Kind: kind, Event: k.facts.event, Call: call, Err: err, Began: began, Ended: k.clock()}))
	}
}

// traceSaved tells of everything that came to its end with a change.
func (v *visit) traceSaved(ctx context.Context, c *journal.Change) {
	t := v.engine.options.Tracer
	if t == nil {
		return
	}
	for _, e := range c.Decided {
		took, ok := v.matches[e]
		if !ok {
			took = stretch{c.At, c.At} // it was given up
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

// traceRun tells of the steps of a run that have come to their end in this visit, and of the run if
// it has.
func (v *visit) traceRun(ctx context.Context, t Tracer, r *journal.Run, changed []*journal.Step) {
	e, err := v.event(ctx, r.Event)
	if err != nil {
		return // without its event nobody knows which trace it belongs to
	}
	if r.State.Finished() {
		changed = r.Steps
	}
	for _, s := range changed {
		rec, err := v.record(s)
		if err != nil || v.told[s] {
			continue
		}
		ended := rec.Ended
		switch {
		case s.State.Finished() && ended.Before(v.since), !s.State.Finished() && !r.State.Finished():
			continue // it was told then, or will be
		case !s.State.Finished():
			ended = r.FinishedAt
		}
		if v.told == nil {
			v.told = make(map[*journal.Step]bool)
		}
		v.told[s] = true
		t.Trace(v.part(r, s, Part{Kind: PartStep, Event: e, Began: rec.At, Ended: ended}))
	}
	if r.State.Finished() {
		t.Trace(v.part(r, nil, Part{Kind: PartRun, Event: e, Began: r.StartedAt, Ended: r.FinishedAt}))
	}
}

// part fills in which run and step a part belongs to.
func (v *visit) part(r *journal.Run, s *journal.Step, p Part) Part {
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
