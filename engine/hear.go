package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// runEffects is what an event does to the unfinished runs of its lane.
type runEffects struct {
	ended map[*journal.Run]ending
	woken map[*journal.Run]wokenWait
	claim *claim // of the first wait_for that takes the event
}

// A wokenWait is a wait_for that an event came to.
type wokenWait struct {
	step  *journal.Step
	taken bool // the event ends it; otherwise the run finds that out
}

// An ending is how an event ends a run; the zero value means that it does not.
type ending struct {
	state  journal.State
	reason *phrases.Phrase
}

// effectsOnRuns finds the runs that an event ends, and those that wait for it. An event that a run
// itself caused has no effect on that run.
func (v *visit) effectsOnRuns(ctx context.Context, e *journal.Event, f *facts, own *journal.Caused) (runEffects, error) {
	var h runEffects
	for _, r := range v.lane.Runs {
		if r.Home != v.lane.Name || r.State.Finished() || own != nil && own.Run == r.ID || r.Event == e.Seq || slices.Contains(r.Gathered, e.Seq) {
			continue
		}
		end, err := v.endingOf(ctx, r, e, f)
		if err != nil {
			return h, err
		}
		if end.state != "" {
			put(&h.ended, r, end)
			continue
		}
		step, err := v.waitingStep(ctx, r, e, f)
		if err != nil {
			return h, err
		}
		if step == nil {
			continue
		}
		if err := v.hear(ctx, &h, r, step, e); err != nil {
			return h, err
		}
	}
	return h, nil
}

// hear finds out whether a wait_for takes an event that came to it. If the condition cannot be
// evaluated, or an earlier event is still to be looked at, the run finds that out when it
// continues.
func (v *visit) hear(ctx context.Context, h *runEffects, r *journal.Run, s *journal.Step, e *journal.Event) error {
	if len(v.records[s].Heard) > 0 {
		put(&h.woken, r, wokenWait{step: s})
		return nil
	}
	t, err := v.wouldTake(ctx, r, e)
	if err != nil {
		return err
	}
	if t.met || t.err != nil {
		put(&h.woken, r, wokenWait{s, t.met})
	}
	if t.met && t.claims && h.claim == nil {
		h.claim = &claim{Run: r.ID, Rule: r.Rule}
	}
	return nil
}

// apply carries out the effects.
func (h runEffects) apply(v *visit, e *journal.Event) {
	for r, end := range h.ended {
		if r.Lane == v.lane.Name {
			v.finish(r, end.state, end.reason)
		} else {
			v.change.Asks = append(v.change.Asks, journal.RunAsk{Run: r.ID, Ask: journal.AskCancel.Because(end.reason, v.now())})
		}
	}
	for r, w := range h.woken {
		rec := v.records[w.step]
		rec.Heard, rec.Taken = append(rec.Heard, e.Seq), w.taken
		if r.State != journal.Held {
			r.WakeAt = v.now()
		}
		v.touch(r, w.step)
	}
}

// endingOf returns how an event ends a run. It does so if the rule names it in cancel_on, and if it
// did not happen before the event that started the run.
func (j *judge) endingOf(ctx context.Context, r *journal.Run, e *journal.Event, f *facts) (ending, error) {
	rule, err := j.ruleOf(ctx, r)
	if err != nil || rule == nil {
		return ending{}, err
	}
	for _, m := range rule.CancelOn {
		if m.Event != e.Type {
			continue
		}
		trigger, err := j.event(ctx, r.Event)
		if errors.Is(err, journal.ErrNoEvent) {
			return ending{}, nil // the run's next step finds that out
		}
		if err != nil || e.CreatedAt.Before(trigger.CreatedAt) {
			return ending{}, err
		}
		if e.Type == trigger.Type && e.CreatedAt.Equal(trigger.CreatedAt) && e.Seq < trigger.Seq {
			return ending{}, nil // otherwise two events of one instant would end each other's runs
		}
		met := true
		if m.If != nil {
			met, err = j.evaluate(ctx, rule, f).True(m.If)
		}
		if err := deskFailure(err); err != nil {
			return ending{}, err
		}
		switch {
		case err != nil:
			// It is unknown whether the run should continue. As a failure, it is visible to people.
			return ending{journal.FailedRun, phrases.New(phrases.CancelFailed, e.Type, err)}, nil
		case met:
			return ending{journal.Cancelled, phrases.New(phrases.CancelOn, e.Type)}, nil
		}
	}
	return ending{}, nil
}

// mayConcern reports whether an undecided event may end the run, or be the event that it waits for:
// the event could not be decided, or it is not loaded because the lane has so many.
func (v *visit) mayConcern(ctx context.Context, r *journal.Run) (bool, error) {
	if !v.postponed && !v.lane.More || r.Home != v.lane.Name {
		return false, nil
	}
	rule, err := v.ruleOf(ctx, r)
	if err != nil || rule == nil {
		return false, err
	}
	s := r.Current()
	waits := s != nil && s.Verb == "wait_for" && s.State == journal.StepWaiting
	if len(rule.CancelOn) == 0 && !waits {
		return false, nil
	}
	if !v.postponed {
		return v.concernedByUnloaded(ctx, r, rule, s)
	}
	for _, e := range v.lane.Events {
		if e.Decided || e.Seq == r.Event {
			continue
		}
		if slices.ContainsFunc(rule.CancelOn, func(m rules.EventMatch) bool { return m.Event == e.Type }) {
			return true, nil
		}
		if step, err := v.waitingStep(ctx, r, e, v.factsOf(e)); step != nil || err != nil {
			return true, err
		}
	}
	return v.lane.More, nil
}

// concernedByUnloaded reports whether an event of the lane that is not loaded may end a run, or
// came in time to end its wait, although it was received after the run was due. A run sees every
// event that was recorded before it continues.
func (j *judge) concernedByUnloaded(ctx context.Context, r *journal.Run, rule *rules.Rule, s *journal.Step) (bool, error) {
	var types []string
	for _, m := range rule.CancelOn {
		types = append(types, m.Event)
	}
	ends := len(types)
	var until time.Time
	if s != nil && s.State == journal.StepWaiting {
		rec, err := j.record(s)
		if err != nil {
			return false, err
		}
		types, until = append(types, rec.For...), rec.Until
	}
	trigger, err := j.event(ctx, r.Event)
	if errors.Is(err, journal.ErrNoEvent) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for e, err := range j.engine.eventsSince(ctx, r.Workspace, r.Home, types, trigger.CreatedAt) {
		if err != nil {
			return false, fmt.Errorf("look for events that the run has not heard: %w", err)
		}
		if e.Decided || e.Seq == r.Event || slices.Contains(r.Gathered, e.Seq) {
			continue
		}
		if slices.Contains(types[:ends], e.Type) || !e.CreatedAt.After(until) {
			return true, nil
		}
	}
	return false, nil
}

// waitingStep returns the step of a run that waits for an event like this one, even while the run
// is held, or if its condition could not be evaluated for an earlier event.
func (j *judge) waitingStep(ctx context.Context, r *journal.Run, e *journal.Event, f *facts) (*journal.Step, error) {
	s := r.Current()
	if s == nil || s.Verb != "wait_for" || s.State != journal.StepWaiting {
		return nil, nil
	}
	rec, err := j.record(s)
	if err != nil || rec.Taken || !slices.Contains(rec.For, e.Type) {
		return nil, err
	}
	at, err := f.happenedAt(ctx)
	if err != nil || !rec.answers(e, at) {
		return nil, err
	}
	return s, nil
}

// clockSlack is how far the service's clock may be from ours.
const clockSlack = 5 * time.Second

// endedBeforeStart looks for an event that ends a run before it begins: it was recorded before the
// event that started the run, but happened after it.
func (j *judge) endedBeforeStart(ctx context.Context, r *journal.Run, rule *rules.Rule, trigger *journal.Event) (ending, error) {
	if len(rule.CancelOn) == 0 {
		return ending{}, nil
	}
	var types []string
	for _, m := range rule.CancelOn {
		types = append(types, m.Event)
	}
	for e, err := range j.engine.eventsSince(ctx, r.Workspace, r.Home, types, trigger.CreatedAt) {
		if err != nil {
			return ending{}, fmt.Errorf("look for events that end the run: %w", err)
		}
		if e.Seq == r.Event || slices.Contains(r.Gathered, e.Seq) {
			continue
		}
		f := j.factsOf(e)
		if unsettled, err := j.mayBeOpenCalls(ctx, e, f); err != nil {
			return ending{}, err
		} else if unsettled {
			continue
		}
		if end, err := j.endingOf(ctx, r, e, f); err != nil || end.state != "" {
			return end, err
		}
	}
	return ending{}, nil
}

// mayBeOpenCalls reports whether an undecided event may be caused by a call of this lane that has
// no receipt. Its facts do not show whether it is. The run gets the event when it is decided, which
// waits for the receipt.
func (j *judge) mayBeOpenCalls(ctx context.Context, e *journal.Event, f *facts) (bool, error) {
	if e.Decided || slices.ContainsFunc(j.lane.Events, func(known *journal.Event) bool { return known.Seq == e.Seq && known.Decided }) {
		return false, nil
	}
	for _, r := range j.lane.Runs {
		rec, err := j.openCall(r, e)
		if err != nil {
			return false, err
		}
		if rec == nil {
			continue
		}
		sender, err := f.clientID(ctx)
		if err := deskFailure(err); err != nil {
			return false, err
		}
		if err == nil && (sender == "" || strings.Contains(string(rec.Intent.Request), ObjectKey(sender))) {
			return true, nil
		}
	}
	return false, nil
}
