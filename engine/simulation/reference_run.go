package simulation

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// ---- Runs: a rule at work.

type runState int

const (
	queued runState = iota
	running
	over
)

// An oracleRun is a run of a rule. A coroutine takes its steps, and is suspended while the run
// waits.
type oracleRun struct {
	*oracle
	rule     *Rule
	by       string
	trigger  *occurrence
	gathered []*occurrence
	facts    *facts
	home     string // the lane of its event
	lane     string // where it is: a step that concerns another conversation is taken there
	state    runState
	waited   bool      // in the queue
	leaves   int       // since which turn it has been asked to end; 0 if it has not
	born     int       // in which turn
	came     int       // in which turn it entered its lane; 0 if it was always there
	wake     time.Time // when it is due
	turn     int       // it continues in a later one
	called   time.Time // when it last made a call

	ended   time.Time // when its last step did
	since   int       // and what had been decided by then
	from    time.Time // the same as ended, but after a wait_for with an answer
	asked   time.Time // when it last wrote to its customer, since its last wait
	listens *eventWait
	results map[string]*occurrence
	item    string

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// began reports whether an event is one of those that started the run.
func (r *oracleRun) began(e *occurrence) bool {
	return e == r.trigger || slices.Contains(r.gathered, e)
}

// caused reports whether a call of the run raised an event: the cause is the key of a step, which
// begins with the workspace, the rule and the event's id. That of a tick has the rule in it.
func (r *oracleRun) caused(e *occurrence) bool {
	_, cause, _ := strings.Cut(e.Cause, "/")
	return strings.HasPrefix(cause, r.rule.ID+"/"+r.trigger.ID+"/") || r.trigger.Type == "schedule" && strings.HasPrefix(cause, r.trigger.ID+"/")
}

func (r *oracleRun) due(by time.Time) bool {
	return r.state == running && r.turn < r.oracle.turn && !r.wake.After(by) && !r.stopped(r.rule.ID, r.lane)
}

// isConcerned reports whether an event that was not decided yet may end the run, or its wait_for.
func (r *oracleRun) isConcerned(e *occurrence) bool {
	return e.lane == r.home && !r.began(e) && (!e.At.Before(r.trigger.At) && slices.ContainsFunc(r.rule.CancelOn, func(m Match) bool { return m.Event == e.Type }) ||
		r.listens != nil && slices.Contains(r.listens.events, e.Type) && !e.At.After(r.listens.until))
}

// goOn takes the run as far as it can go now.
func (r *oracleRun) goOn() {
	if r.next == nil {
		if r.waited {
			// Looked up: it begins with fresh facts, not with those of when it was queued.
			f := r.oracle.facts(r.trigger)
			f.gathered, f.visitID, f.cardID = r.gathered, r.facts.visitID, r.facts.cardID
			r.facts = f
		}
		// Looked up: what ends the run may have come before it begins.
		for _, e := range r.lanes[r.home].all {
			if !r.began(e) && r.cancels(r, e) {
				r.end()
				return
			}
		}
		if r.waited {
			r.pin(r.rule, r.facts) // where there was none before
		}
		r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
			r.yield = yield
			if r.takeSteps(r.rule.Do) == failed {
				r.takeSteps(r.rule.OnError)
			}
		})
	}
	r.wake = r.now
	if _, more := r.next(); !more {
		r.state = over
	}
}

// end ends a run that is unfinished.
func (r *oracleRun) end() {
	if r.state = over; r.stop != nil {
		r.stop()
	}
}

// leave ends a run because of an event in a lane. Looked up: one that is elsewhere, or was queued
// in this turn, is asked to end, which it hears in a later turn.
func (r *oracleRun) leave(lane string) {
	if here := r.lane == lane && r.came < r.oracle.turn && (r.born < r.oracle.turn || r.next != nil); r.state == queued || here {
		r.end()
	} else if r.leaves == 0 {
		r.leaves = r.oracle.turn
	}
}

// park suspends the run until a time. It returns false if the run was ended meanwhile.
func (r *oracleRun) park(until time.Time) bool {
	r.wake = until
	return r.yield(struct{}{})
}

// slept makes facts be fetched afresh: a rule never decides on what was true before it slept.
func (r *oracleRun) slept() {
	r.facts.refetch()
	r.facts.slept, r.asked = true, time.Time{}
}

// changed notes that the run has made a call: it knows its own changes.
func (r *oracleRun) changed() {
	r.calls++
	r.called = r.now
	r.facts.refetch()
	r.facts.slept = true
}

// pin fixes the attendance that is open now as the one that a run concerns, and not the customer's
// next one, if the rule works on it.
func (o *oracle) pin(rule *Rule, f *facts) {
	if v := o.visitAtHand(f); f.visitID == "" && v != nil && rule.worksOnAttendance() {
		then := *v
		f.visit, f.visitKnown, f.visitID = &then, true, v.id
	}
}

// worksOnAttendance reports whether a rule changes or reads the attendance.
func (rule *Rule) worksOnAttendance() (attendance bool) {
	asks := func(list ...*Cond) {
		for _, c := range list {
			attendance = attendance || c.asksFor("attendance")
		}
	}
	var look func(steps []Step)
	look = func(steps []Step) {
		for i := range steps {
			s := &steps[i]
			attendance = attendance || s.Verb == "close_attendance" || s.Verb == "read_attendance"
			asks(s.If, s.Cond)
			look(s.Do)
			for _, b := range s.Branches {
				asks(b.If)
				look(b.Do)
			}
		}
	}
	look(rule.Do)
	look(rule.OnError)
	for i := range rule.If {
		asks(&rule.If[i])
	}
	for _, m := range rule.CancelOn {
		asks(m.If)
	}
	return attendance
}
