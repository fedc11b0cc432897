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

// heard is what an event means to the unfinished runs of its lane.
type heard struct {
	ended map[*journal.Run]ending
	woken map[*journal.Run]*journal.Step
}

// An ending is how an event ends a run; the zero value is not at all.
type ending struct {
	state  journal.State
	reason *phrases.Phrase
}

// hear finds out which runs an event ends, and which wait for it. What the run itself caused means
// nothing to it.
func (j *judge) hear(ctx context.Context, e *journal.Event, f *facts, own *journal.Caused) (heard, error) {
	var h heard
	for _, r := range j.lane.Runs {
		if r.Home != j.lane.Name || r.State.Finished() || own != nil && own.Run == r.ID || r.Event == e.Seq || slices.Contains(r.Gathered, e.Seq) {
			continue
		}
		end, err := j.ends(ctx, r, e, f)
		if err != nil {
			return h, err
		}
		if end.state != "" {
			put(&h.ended, r, end)
			continue
		}
		step, err := j.awaiting(ctx, r, e, f)
		if err != nil {
			return h, err
		}
		if step != nil {
			put(&h.woken, r, step)
		}
	}
	return h, nil
}

// take carries out what was heard.
func (h heard) take(v *visit, e *journal.Event) {
	for r, end := range h.ended {
		if r.Lane == v.lane.Name {
			v.finish(r, end.state, end.reason)
		} else {
			v.change.Asks = append(v.change.Asks, journal.RunAsk{Run: r.ID, Ask: journal.AskCancel.Because(end.reason, v.now())})
		}
	}
	for r, s := range h.woken {
		rec := v.records[s]
		rec.Heard = append(rec.Heard, e.Seq)
		if r.State != journal.Held {
			r.WakeAt = v.now()
		}
		v.touch(r, s)
	}
}

// ends finds out whether an event ends a run: it is one that the rule names in cancel_on, and
// happened not before what started the run.
func (j *judge) ends(ctx context.Context, r *journal.Run, e *journal.Event, f *facts) (ending, error) {
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
			return ending{}, nil // its next step will find that out
		}
		if err != nil || e.CreatedAt.Before(trigger.CreatedAt) {
			return ending{}, err
		}
		if e.Type == trigger.Type && e.CreatedAt.Equal(trigger.CreatedAt) && e.Seq < trigger.Seq {
			return ending{}, nil // else two of one instant would end each other's runs
		}
		met := true
		if m.If != nil {
			met, err = j.evaluate(ctx, rule, f).True(m.If)
		}
		if err := unanswered(err); err != nil {
			return ending{}, err
		}
		switch {
		case err != nil:
			// Whether it should go on is not known, and a person will see that it did not.
			return ending{journal.FailedRun, phrases.New(phrases.CancelFailed, e.Type, err)}, nil
		case met:
			return ending{journal.Cancelled, phrases.New(phrases.CancelOn, e.Type)}, nil
		}
	}
	return ending{}, nil
}

// mayConcern reports whether an event that is not decided yet may end the run, or be what it waits
// for: because it cannot be decided, or because so much waits in the lane that the run has its turn
// before.
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
		return v.concernedBehind(ctx, r, rule, s)
	}
	for _, e := range v.lane.Events {
		if e.Decided || e.Seq == r.Event {
			continue
		}
		if slices.ContainsFunc(rule.CancelOn, func(m rules.EventMatch) bool { return m.Event == e.Type }) {
			return true, nil
		}
		if step, err := v.awaiting(ctx, r, e, v.factsOf(e)); step != nil || err != nil {
			return true, err
		}
	}
	return v.lane.More, nil
}

// concernedBehind reports whether an event that waits in the lane may end a run, or was in time to
// end its wait, although it was received when the run was due. What is recorded before a run goes
// on is heard first.
func (j *judge) concernedBehind(ctx context.Context, r *journal.Run, rule *rules.Rule, s *journal.Step) (bool, error) {
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
	for e, err := range j.engine.happened(ctx, r.Workspace, r.Home, types, trigger.CreatedAt) {
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

// awaiting returns the step of a run that waits for an event like this one, also while the run is
// held or could not look at one before.
func (j *judge) awaiting(ctx context.Context, r *journal.Run, e *journal.Event, f *facts) (*journal.Step, error) {
	s := r.Current()
	if s == nil || s.Verb != "wait_for" || s.State != journal.StepWaiting {
		return nil, nil
	}
	rec, err := j.record(s)
	if err != nil || !slices.Contains(rec.For, e.Type) {
		return nil, err
	}
	at, err := f.happened(ctx)
	if err != nil || !rec.answers(e, at) {
		return nil, err
	}
	return s, nil
}

// clockSlack is how far the service's clock may be from ours.
const clockSlack = 5 * time.Second

// endedBefore looks for an event that ends a run before it begins: one that came before what
// started it, but happened after.
func (j *judge) endedBefore(ctx context.Context, r *journal.Run, rule *rules.Rule, trigger *journal.Event) (ending, error) {
	if len(rule.CancelOn) == 0 {
		return ending{}, nil
	}
	var types []string
	for _, m := range rule.CancelOn {
		types = append(types, m.Event)
	}
	for e, err := range j.engine.happened(ctx, r.Workspace, r.Home, types, trigger.CreatedAt) {
		if err != nil {
			return ending{}, fmt.Errorf("look for events that end the run: %w", err)
		}
		if e.Seq == r.Event || slices.Contains(r.Gathered, e.Seq) {
			continue
		}
		f := j.factsOf(e)
		if unsettled, err := j.unsettled(ctx, e, f); err != nil {
			return ending{}, err
		} else if unsettled {
			continue
		}
		if end, err := j.ends(ctx, r, e, f); err != nil || end.state != "" {
			return end, err
		}
	}
	return ending{}, nil
}

// unsettled reports whether an event that is not decided yet may be the doing of a call of this
// lane that has no receipt. Its facts do not tell whose doing it is; the run hears it when the
// event is decided, which waits for the receipt.
func (j *judge) unsettled(ctx context.Context, e *journal.Event, f *facts) (bool, error) {
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
		if err := unanswered(err); err != nil {
			return false, err
		}
		if err == nil && (sender == "" || strings.Contains(string(rec.Intent.Request), ObjectKey(sender))) {
			return true, nil
		}
	}
	return false, nil
}
