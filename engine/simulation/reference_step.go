package simulation

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ---- Steps.

// A flow says how a run continues after a step.
type flow int

const (
	onward flow = iota
	wrong       // the step failed
	failed      // and the run with it
	ended       // the run is over
)

// takeSteps takes steps in order.
func (r *oracleRun) takeSteps(steps []Step) flow {
	for i := range steps {
		if f := r.step(&steps[i]); f != onward {
			return f
		}
	}
	return onward
}

// step takes one step, where its own condition holds.
func (r *oracleRun) step(s *Step) (f flow) {
	yes, ok := r.true(s.If)
	nests := s.Verb == "choose" || s.Verb == "for_each"
	if nests {
		r.endStep()
	}
	switch {
	case !ok:
		f = wrong
	case yes:
		f = r.carryOut(s)
	}
	if !nests && (s.Verb != "wait" && s.Verb != "wait_for" || !yes) {
		r.endStep()
	}
	if f == wrong {
		if f = failed; s.Continue {
			f = onward
			if s.Verb == "find_card" || s.Verb == "create_card" {
				r.facts.noCard()
			}
		}
	}
	return f
}

// endStep notes the end of a step.
func (r *oracleRun) endStep() {
	before := r.since
	r.from = r.now
	if r.ended, r.since = r.now, r.order; r.lane != r.home {
		r.since = max(before, r.before()) // what happens in its lane meanwhile comes after it
	}
}

func (r *oracleRun) true(c *Cond) (yes, ok bool) { return r.holds(c, r.facts, r.results) }

// carryOut does what a step's verb says.
func (r *oracleRun) carryOut(s *Step) flow {
	switch s.Verb {
	case "wait":
		return r.waitUntil(s)
	case "wait_for":
		return r.waitFor(s)
	case "choose":
		for i := range s.Branches {
			yes, ok := r.true(s.Branches[i].If)
			if !ok {
				return wrong
			}
			if yes {
				return r.takeSteps(s.Branches[i].Do)
			}
		}
	case "for_each":
		for _, r.item = range s.Items {
			if f := r.takeSteps(s.Do); f != onward {
				return f
			}
		}
	case "stop_if":
		if yes, ok := r.true(s.Cond); !ok {
			return wrong
		} else if yes {
			return ended
		}
	case "set", "log", "stop":
		if _, ok := r.text(s, s.Text); !ok {
			return wrong
		}
		if s.Verb == "stop" {
			return ended
		}
	case "send_message":
		return r.send(s)
	case "open_conversation":
		_, f := r.openTalk(s.To)
		return f
	case "find_card", "create_card", "move_card", "update_card":
		return r.cardStep(s)
	default:
		return r.talkStep(s)
	}
	return onward
}

// waitUntil waits. It counts from the end of the step before; as the first step from when the event
// happened.
func (r *oracleRun) waitUntil(s *Step) flow {
	if !r.travel(r.home) {
		return ended
	}
	from := r.ended
	if from.IsZero() {
		from = r.trigger.At
	}
	until := r.after(from, s)
	if s.Until != "" {
		until = nextOpening(s.Until, r.now, r.zone)
	}
	waits := until.After(r.now)
	if waits && !r.park(until) {
		return ended
	}
	r.endStep()
	if waits {
		r.since = r.before()
	}
	r.slept()
	return onward
}

// before is what had been decided before this instant: what happens just when a wait is over comes
// after it.
func (r *oracleRun) before() (order int) {
	for _, e := range r.lanes[r.home].all {
		if e.At.Before(r.now) {
			order = e.order
		}
	}
	return max(order, r.trigger.order)
}

// after is the end of a step's time from a moment on.
func (r *oracleRun) after(from time.Time, s *Step) time.Time {
	if s.Calendar == "" {
		return from.Add(s.Wait)
	}
	return openingTime(s.Calendar, from, s.Wait, r.zone)
}

// An eventWait is a wait_for.
type eventWait struct {
	events []string
	since  int       // what was decided by then is no answer
	asked  time.Time // nor is what was written before the question, or at its instant
	from   time.Time // nor, without a question, what happened before the step
	until  time.Time
	step   *Step
	came   bool // what ends it, though the run may be on hold and not know
}

// hears reports whether an event may be what a run waits for; one that was not decided yet, whether
// it may be that when it is.
func (l *eventWait) hears(r *oracleRun, e *occurrence) bool {
	return slices.Contains(l.events, e.Type) && (e.order == 0 || e.order > l.since) && e.At.After(l.asked) && e.At.After(l.from) && !e.At.After(l.until) && !r.began(e) && !r.caused(e)
}

// takes reports whether an event that a run's wait_for hears is its answer: the first for which the
// condition is true. It is not ok if the condition fails.
func (l *eventWait) takes(r *oracleRun, e *occurrence) (yes, ok bool) {
	yes, ok = r.holds(l.step.Cond, r.oracle.facts(e), r.results)
	return yes && ok && !l.came, ok
}

// hear lets an event come to the run's wait_for, which claims it if it is the answer. Looked up:
// where it cannot tell whether an event is the answer, it claims nothing more.
func (r *oracleRun) hear(e *occurrence) {
	yes, ok := r.listens.takes(r, e)
	r.wake = r.now
	r.listens.came = r.listens.came || yes || !ok
	e.claimed = e.claimed || yes && r.listens.step.Claims
}

// waitFor waits for an event. It accepts events since the run's last message or, if it has sent
// none since its last wait, since the step before; as the first step, since the trigger. Looked up:
// its timeout counts from when it is reached.
func (r *oracleRun) waitFor(s *Step) flow {
	if !r.travel(r.home) {
		return ended
	}
	l := &eventWait{events: s.Events, since: r.since, asked: r.asked, until: r.after(r.now, s), step: s}
	if r.asked.IsZero() {
		l.from = r.from.Add(-5 * time.Second) // Looked up: the tolerated clock skew
	}
	waited := false
	var came *occurrence
	for {
		for _, e := range r.lanes[r.home].all {
			if came != nil || e.order == 0 || !l.hears(r, e) {
				continue
			}
			yes, ok := r.holds(s.Cond, r.oracle.facts(e), r.results)
			if !ok {
				r.endStep()
				r.slept()
				return wrong
			}
			if l.since = e.order; yes {
				came = e
			}
		}
		if came != nil || !l.until.After(r.now) {
			break
		}
		r.listens, waited = l, true
		alive := r.park(l.until)
		if r.listens = nil; !alive {
			return ended
		}
	}
	r.endStep()
	switch {
	case came != nil:
		r.since, r.from = came.order, time.Time{}
	case waited:
		r.since = max(l.since, r.before())
	}
	if s.ID != "" {
		r.results[s.ID] = came
	}
	r.slept()
	return onward
}

// travel moves the run to another lane, where it arrives in a later turn. It returns false if the
// run was ended meanwhile.
func (r *oracleRun) travel(lane string) bool {
	if r.lane == lane {
		return true
	}
	r.lane, r.turn, r.came = lane, r.oracle.turn, r.oracle.turn
	return r.park(r.now)
}

// call makes a change in a lane, unless there is nothing to change: then it makes no call, and does
// not go there.
func (r *oracleRun) call(lane string, so func() bool, do func()) flow {
	for !so() {
		if r.lane == lane {
			r.changed()
			do()
			break
		}
		if !r.travel(lane) {
			return ended
		}
	}
	return onward
}

// effect notes what a step did. Where something was written, the event's id is behind it.
func (r *oracleRun) effect(customer, verb, detail string, written bool) {
	e := Effect{At: r.now, Customer: customer, Verb: verb, Detail: detail}
	if written && r.trigger.rule == "" {
		e.Event = r.trigger.ID
	}
	r.effects = append(r.effects, e)
}

// text is what a step writes, prefixed with the rule and the step; it is not ok if there is no name
// to insert.
func (r *oracleRun) text(s *Step, words string) (string, bool) {
	if strings.Contains(words, "{{ contact.name }}") {
		if r.trigger.Customer == "" {
			return "", false
		}
		words = strings.ReplaceAll(words, "{{ contact.name }}", r.trigger.Customer)
	}
	words = strings.ReplaceAll(words, "{{ item }}", r.item)
	words = strings.ReplaceAll(words, manyMessages, strconv.Itoa(len(r.facts.texts())))
	return strings.TrimRight(r.rule.ID+"/"+s.Name+" "+words, " "), true
}

// toldBy finds the event of the call that the run has just made, to learn the new ids.
func (r *oracleRun) toldBy(typ, customer string) *occurrence {
	for _, e := range r.told {
		if e.Type == typ && e.Customer == customer && e.At.Equal(r.now) && r.caused(e) && !r.folded[e.ID] {
			r.folded[e.ID] = true
			return e
		}
	}
	return nil
}
