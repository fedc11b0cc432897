package engine

import (
	"context"
	"errors"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// wait lets a run sleep: a waiting run is a row with a time, not a goroutine. A run waits in the
// lane that its events come to.
func (k *walk) wait(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	if k.run.Lane != k.run.Home {
		return k.moveToLane(k.run.Home, taken)
	}
	reached := rec.Until.IsZero()
	if reached {
		until, err := k.waitEnd(s)
		if err != nil {
			return k.handleError(ctx, s, taken, rec, err)
		}
		rec.At, rec.Until, rec.For, rec.Wait = k.now(), until, s.Events, waitText(s)
		if s.Verb == "wait_for" {
			if err := k.findEarlierAnswers(ctx, rec); err != nil {
				rec.Until = time.Time{}
				if _, missing := errors.AsType[*deskError](err); !missing {
					return over, err
				}
				return k.handleError(ctx, s, taken, rec, err)
			}
		}
		taken.State = journal.StepWaiting
	}
	if s.Verb == "wait_for" {
		came, err := k.firstMatch(ctx, s, rec)
		if err != nil {
			return k.handleError(ctx, s, taken, rec, err)
		}
		if came != nil {
			return k.end(ctx, s, taken, rec, journal.StepDone, came, nil)
		}
	}
	if !rec.Until.After(k.now()) {
		if at := k.recheckAt(s, rec); !at.IsZero() {
			k.run.State, k.run.WakeAt = journal.Waiting, at
			k.run.Because(phrases.New(phrases.EndedUnwatched))
			k.touch(k.run, taken)
			return parked, nil
		}
		var reason *phrases.Phrase
		switch {
		case s.Verb == "wait_for":
			reason = phrases.New(phrases.NoneCame)
		case reached:
			k.recordNewest(rec) // its time was over already, so nothing came meanwhile
		}
		return k.end(ctx, s, taken, rec, journal.StepDone, nil, reason)
	}
	k.run.State, k.run.WakeAt = journal.Waiting, rec.Until
	k.touch(k.run, taken)
	return parked, nil
}

// waitEnd returns when a wait ends. It counts from the end of the step before it. A run's first
// step counts from when the event was created, so that a late event does not stretch a promise to a
// customer.
func (k *walk) waitEnd(s *rules.Step) (time.Time, error) {
	if s.Verb == "wait" && s.Condition != nil {
		value, err := k.eval.Value(s.Condition)
		if err != nil {
			return time.Time{}, err
		}
		if at, ok := value.(time.Time); ok {
			_, err := at.MarshalText() // a time after the year 9999, for example, cannot be recorded
			return at, err
		}
		return k.now(), nil // there is no such time, and nothing to wait for
	}
	from := k.ended
	if from.IsZero() {
		from = k.facts.event.CreatedAt
	}
	if s.Verb == "wait_for" {
		from = k.now()
	}
	return s.Span.End(from, k.rule.Calendar(s.Span.Calendar))
}

// waitText returns a wait as it is written in its rule.
func waitText(s *rules.Step) string {
	if s.Verb == "wait" && s.Condition != nil {
		return "until " + s.Condition.Text
	}
	return s.Span.String()
}

// firstMatch returns the first of the events that came meanwhile for which the condition holds, as
// expressions see it; nil if there is none.
func (k *walk) firstMatch(ctx context.Context, s *rules.Step, rec *record) (any, error) {
	if _, err := k.eventsOf(ctx, rec.Heard...); err != nil {
		return nil, err
	}
	for ; len(rec.Heard) > 0; rec.Heard = rec.Heard[1:] {
		e := k.loadedEvent(rec.Heard[0])
		if e == nil {
			continue // it has been pruned
		}
		f := k.factsOfArriving(e)
		met := rec.Taken
		if !met {
			var err error
			if met, err = k.matches(ctx, s, f); err != nil {
				return nil, err
			}
		}
		if met {
			return f.describe(ctx, e)
		}
	}
	return nil, nil
}

// factsOfArriving returns the facts of an event that comes while the run waits.
func (k *walk) factsOfArriving(e *journal.Event) *facts {
	f := k.factsOf(e)
	f.run, f.trigger, f.step, f.passed, f.answers = k.run, k.facts.event, k.facts.step, k.facts.passed, k.facts.answers
	return f
}

// matches evaluates the condition of a wait_for for an event.
func (k *walk) matches(ctx context.Context, s *rules.Step, f *facts) (bool, error) {
	if s.Condition == nil {
		return true, nil
	}
	eval := rules.NewEvaluation(ctx, k.rule, f)
	k.copyNames(eval)
	met, err := eval.True(s.Condition)
	k.facts.answers = f.answers
	return met, err
}

// moveToLane moves a run to another lane, in which its next step is taken: one worker at a time
// works on everything that concerns one conversation or one phone.
func (k *walk) moveToLane(lane string, taken *journal.Step) (flow, error) {
	k.run.Lane, k.run.WakeAt = lane, k.now()
	k.touch(k.run, taken)
	return parked, nil
}
