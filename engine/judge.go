package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
)

// A prospect is a rule's verdict on an event, with the keys that a run would have.
type prospect struct {
	rule        *rules.Rule
	verdict     *journal.Verdict
	by, limitBy string
}

// A judge decides which rules fire for an event. It changes nothing: the effects of a decision
// become pending once all of it is known.
type judge struct {
	*laneState
	evaluation *rules.Evaluation
}

// prospects returns the verdict of every candidate rule.
func (j *judge) prospects(ctx context.Context, e *journal.Event, f *facts, own *journal.Caused, claim *claim, alert bool) ([]prospect, error) {
	candidates, err := j.candidates(ctx, e, f)
	if err != nil {
		return nil, err
	}
	internal, err := j.internalChat(ctx, e, f, own, candidates)
	if err != nil {
		return nil, err
	}
	list := make([]prospect, len(candidates))
	verdicts := make([]journal.Verdict, len(candidates))
	for i, rule := range candidates {
		p := &list[i]
		p.rule, p.verdict = rule, &verdicts[i]
		if alert {
			*p.verdict = journal.Verdict{Rule: rule.ID, Version: rule.Version, Stage: recordedStage(rule.Stage)}
			p.verdict.Because(journal.Own, phrases.New(phrases.AlertOfOurs))
			continue
		}
		if err := j.judge(ctx, p, e, f, own, claim, internal); err != nil {
			return nil, err
		}
		if p.verdict.Outcome == journal.Fired && isListTick(rule, e) {
			if err := j.expandTick(ctx, rule, e, f, p.verdict); err != nil {
				return nil, err
			}
		}
	}
	if e.Rule != "" && len(candidates) == 0 {
		verdicts = []journal.Verdict{{Rule: e.Rule}}
		verdicts[0].Because(journal.Failed, phrases.New(phrases.NoSuchRule))
	}
	e.Verdicts = verdicts
	return list, nil
}

// candidates returns the rules that may fire for an event.
func (j *judge) candidates(ctx context.Context, e *journal.Event, f *facts) ([]*rules.Rule, error) {
	set := j.workspace.rules.Load()
	if e.Rule != "" {
		if rule := set.Rule(e.Rule); rule != nil && rule.Stage != rules.Draft {
			return []*rules.Rule{rule}, nil
		}
		return nil, nil
	}
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	known := make(map[string]any)
	for _, name := range set.Looks(e.Type) {
		fact, ok, err := f.carriedFact(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			known[name] = fact
		}
	}
	return set.Candidates(nil, e.Type, known), nil
}

// judge decides whether a rule fires. An error means that this is not known yet.
func (j *judge) judge(ctx context.Context, p *prospect, e *journal.Event, f *facts, own *journal.Caused, claim *claim, internal string) error {
	rule := p.rule
	*p.verdict = journal.Verdict{Rule: rule.ID, Outcome: journal.Fired, Version: rule.Version, Stage: recordedStage(rule.Stage)}
	because := func(o journal.Outcome, reason *phrases.Phrase) error {
		p.verdict.Because(o, reason)
		return nil
	}
	if h, err := j.pausedRule(rule.ID); h != nil || err != nil {
		if err != nil {
			return err
		}
		return because(journal.Paused, h.Said())
	}
	if own != nil && !rule.FromAny {
		return because(journal.Own, phrases.New(phrases.DidThis, own.Rule))
	}
	if own != nil && (own.Rule == rule.ID || slices.Contains(own.Ancestry, rule.ID)) {
		return because(journal.Looped, phrases.New(phrases.CameOfItself))
	}
	if claim != nil && !rule.TakesClaimed {
		return because(journal.Claimed, phrases.New(phrases.ClaimedBy, claim.Run, claim.Rule))
	}
	if internal != "" && !rule.TakesInternal {
		return because(journal.Internal, phrases.New(phrases.InternalChat, internal))
	}
	late, err := j.lateReason(ctx, rule, e, j.now().Sub(e.CreatedAt))
	if err != nil {
		return err
	}
	if late != nil {
		return because(journal.Late, late)
	}
	if isListTick(rule, e) {
		return nil // the conditions apply to each item
	}
	if rule.Gather != nil && e.Rule == "" {
		p.verdict.Outcome = journal.Gathered
		return j.setKeys(j.evaluate(ctx, rule, f), p, e)
	}
	return j.conditions(ctx, p, f)
}

// conditions evaluates a rule's conditions.
func (j *judge) conditions(ctx context.Context, p *prospect, f *facts) error {
	eval := j.evaluate(ctx, p.rule, f)
	d := eval.Decide()
	if err := deskFailure(d.Err); err != nil {
		return err
	}
	p.verdict.Outcome, p.verdict.Clause, p.verdict.Values = journal.Outcome(d.Outcome), d.Clause, named(d.Values)
	if d.Err != nil {
		p.verdict.Error = d.Err.Error()
	}
	if p.verdict.Outcome != journal.Fired {
		return nil
	}
	if err := j.setKeys(eval, p, f.event); err != nil || p.verdict.Outcome != journal.Fired {
		return err
	}
	return j.pinAttendance(ctx, p, f)
}

// pinAttendance looks up which attendance a run would be about. This is part of the decision,
// because another run may close the attendance before this one has its turn. If the desk will never
// answer, the run deals with that.
func (j *judge) pinAttendance(ctx context.Context, p *prospect, f *facts) error {
	if p.rule.Mode == rules.Single && j.unfinished(p) {
		return nil // the run does not begin
	}
	err := f.pinAttendance(ctx, p.rule)
	if missing, ok := errors.AsType[*deskError](err); ok && (actions.IsDenied(missing) || actions.IsPermanent(missing)) {
		return nil
	}
	return err
}

// setKeys evaluates the keys that a run is counted by.
func (j *judge) setKeys(eval *rules.Evaluation, p *prospect, e *journal.Event) error {
	var err error
	if p.by, err = keyText(eval, p.rule.By, e.Lane); err == nil {
		p.limitBy = p.by
		if p.rule.Limit != nil {
			p.limitBy, err = keyText(eval, p.rule.Limit.By, p.by)
		}
	}
	if err := deskFailure(err); err != nil {
		return err
	}
	if err != nil {
		p.verdict.Because(journal.Failed, phrases.Of(err))
	}
	return nil
}

// deskFailure returns the error of an expression that failed only because the desk could not answer
// now; nil for any other failure.
func deskFailure(err error) error {
	if e, ok := errors.AsType[*deskError](err); ok && !actions.IsPermanent(e) {
		return e
	}
	return nil
}

// lateReason says why an event of this age is too late for a rule; nil if it is not.
func (j *judge) lateReason(ctx context.Context, rule *rules.Rule, e *journal.Event, age time.Duration) (*phrases.Phrase, error) {
	if e.Type != "schedule" {
		if limit := rule.Late.SkipAfter; limit > 0 && age > limit {
			return phrases.New(phrases.TooOld, duration.Format(age.Round(time.Second)), duration.Format(limit)), nil
		}
		return nil, nil
	}
	if !hasSchedule(rule, e) {
		return phrases.New(phrases.ScheduleGone), nil
	}
	if len(e.Data) > 0 {
		return nil, nil // an item of a tick that was on time
	}
	switch rule.Late.Run {
	case "none":
		if age > time.Minute {
			return phrases.New(phrases.TickMissed, duration.Format(age.Round(time.Second))), nil
		}
	case "last", "":
		if later, err := j.laterTick(ctx, e); later || err != nil {
			return phrases.New(phrases.LaterTick), err
		}
	}
	return nil, nil
}

// hasSchedule reports whether a rule still has the schedule that a tick, or an item of its list, is
// of. The rule may have been changed while that waited, for example for the end of a hold.
func hasSchedule(rule *rules.Rule, e *journal.Event) bool {
	schedule := rule.When.Schedule
	if schedule == nil || len(e.Data) == 0 {
		return schedule != nil
	}
	_, listed := e.Data[strings.TrimSuffix(schedule.Each, "s")]
	return listed
}

// laterTick reports whether a later tick of the same rule waits in the lane, including the events
// that are not loaded.
func (j *judge) laterTick(ctx context.Context, e *journal.Event) (bool, error) {
	later := func(other *journal.Event) bool {
		return other.Rule == e.Rule && other.Type == e.Type && other.CreatedAt.After(e.CreatedAt)
	}
	if here := slices.ContainsFunc(j.lane.Events, later); here || !j.lane.More {
		return here, nil
	}
	for behind, err := range j.engine.eventsSince(ctx, e.Workspace, e.Lane, []string{e.Type}, e.CreatedAt) {
		if err != nil || later(behind) {
			return err == nil, err
		}
	}
	return false, nil
}

// evaluations holds the evaluations of finished visits, for reuse.
var evaluations sync.Pool

// evaluate returns an evaluation of a rule's expressions. A visit has a single one, so it serves
// one rule at a time.
func (j *judge) evaluate(ctx context.Context, rule *rules.Rule, f *facts) *rules.Evaluation {
	if j.evaluation == nil {
		j.evaluation, _ = evaluations.Get().(*rules.Evaluation)
	}
	if j.evaluation == nil {
		j.evaluation = rules.NewEvaluation(ctx, rule, f)
	} else {
		j.evaluation.Reset(ctx, rule, f)
	}
	return j.evaluation
}

// releaseEvaluation returns the visit's evaluation to the pool.
func (j *judge) releaseEvaluation() {
	if j.evaluation != nil {
		j.evaluation.Clear()
		evaluations.Put(j.evaluation)
		j.evaluation = nil
	}
}

// keyText returns the value of a key expression as text, or otherwise if there is no expression.
func keyText(eval *rules.Evaluation, x *rules.Expression, otherwise string) (string, error) {
	if x == nil {
		return otherwise, nil
	}
	value, err := eval.Value(x)
	if err != nil {
		return "", fmt.Errorf("by: %w", err)
	}
	if value == nil {
		return "", phrases.New(phrases.ByNothing)
	}
	return rules.Key(fmt.Sprint(value)), nil
}

func named(list []rules.NamedValue) map[string]any {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]any, len(list))
	for _, n := range list {
		out[n.Name] = n.Value
	}
	return out
}
