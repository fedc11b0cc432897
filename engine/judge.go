package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
)

// A prospect is a rule's verdict on an event, with what a run would be counted by.
type prospect struct {
	rule        *rules.Rule
	verdict     *journal.Verdict
	by, limitBy string
}

// A judge decides which rules an event calls for. It changes nothing: what comes of a decision is
// pending when all of it is known.
type judge struct {
	*laneState
	evaluation *rules.Evaluation
}

// prospects asks every candidate for its verdict.
func (j *judge) prospects(ctx context.Context, e *journal.Event, f *facts, own *journal.Caused) ([]prospect, error) {
	candidates, err := j.candidates(ctx, e, f)
	if err != nil {
		return nil, err
	}
	list := make([]prospect, len(candidates))
	verdicts := make([]journal.Verdict, len(candidates))
	for i, rule := range candidates {
		p := &list[i]
		p.rule, p.verdict = rule, &verdicts[i]
		if err := j.judge(ctx, p, e, f, own); err != nil {
			return nil, err
		}
		if p.verdict.Outcome == journal.Fired && expands(rule, e) {
			if err := j.expand(ctx, rule, e, f, p.verdict); err != nil {
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

// candidates are the rules that an event may call for.
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
		fact, ok, err := f.told(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			known[name] = fact
		}
	}
	return set.Candidates(nil, e.Type, known), nil
}

// judge decides whether a rule fires. An error means that it cannot be told yet.
func (j *judge) judge(ctx context.Context, p *prospect, e *journal.Event, f *facts, own *journal.Caused) error {
	rule := p.rule
	*p.verdict = journal.Verdict{Rule: rule.ID, Outcome: journal.Fired, Version: rule.Version, Stage: told(rule.Stage)}
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
	late, err := j.late(ctx, rule, e, j.now().Sub(e.CreatedAt))
	if err != nil {
		return err
	}
	if late != nil {
		return because(journal.Late, late)
	}
	if expands(rule, e) {
		return nil // the conditions are those of each item
	}
	if rule.Gather != nil && e.Rule == "" {
		p.verdict.Outcome = journal.Gathered
		return j.count(j.evaluate(ctx, rule, f), p, e)
	}
	return j.conditions(ctx, p, f)
}

// conditions evaluates a rule's conditions.
func (j *judge) conditions(ctx context.Context, p *prospect, f *facts) error {
	eval := j.evaluate(ctx, p.rule, f)
	d := eval.Decide()
	if err := unanswered(d.Err); err != nil {
		return err
	}
	p.verdict.Outcome, p.verdict.Clause, p.verdict.Values = journal.Outcome(d.Outcome), d.Clause, named(d.Values)
	if d.Err != nil {
		p.verdict.Error = d.Err.Error()
	}
	if p.verdict.Outcome != journal.Fired {
		return nil
	}
	if err := j.count(eval, p, f.event); err != nil || p.verdict.Outcome != journal.Fired {
		return err
	}
	return j.pin(ctx, p, f)
}

// pin finds out which attendance a run would be about. That is decided with the event: before the
// run has its turn, another may have closed it. What the desk never answers is left to the run.
func (j *judge) pin(ctx context.Context, p *prospect, f *facts) error {
	if p.rule.Mode == rules.Single && j.unfinished(p) {
		return nil // it does not begin
	}
	err := f.pin(ctx, p.rule)
	if missing, ok := errors.AsType[*deskError](err); ok && (actions.IsDenied(missing) || actions.IsPermanent(missing)) {
		return nil
	}
	return err
}

// count works out what a run would be counted by.
func (j *judge) count(eval *rules.Evaluation, p *prospect, e *journal.Event) error {
	var err error
	if p.by, err = key(eval, p.rule.By, e.Lane); err == nil {
		p.limitBy = p.by
		if p.rule.Limit != nil {
			p.limitBy, err = key(eval, p.rule.Limit.By, p.by)
		}
	}
	if err := unanswered(err); err != nil {
		return err
	}
	if err != nil {
		p.verdict.Because(journal.Failed, phrases.Of(err))
	}
	return nil
}

// unanswered returns the error of an expression that failed only because the desk could not answer
// now.
func unanswered(err error) error {
	if e, ok := errors.AsType[*deskError](err); ok && !actions.IsPermanent(e) {
		return e
	}
	return nil
}

// late says why an event of an age comes too late for a rule; nil is that it does not.
func (j *judge) late(ctx context.Context, rule *rules.Rule, e *journal.Event, age time.Duration) (*phrases.Phrase, error) {
	if e.Type != "schedule" {
		if limit := rule.Late.SkipAfter; limit > 0 && age > limit {
			return phrases.New(phrases.TooOld, duration.Format(age.Round(time.Second)), duration.Format(limit)), nil
		}
		return nil, nil
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

// laterTick reports whether a later tick of the same rule waits in the lane, also among the events
// that are not loaded.
func (j *judge) laterTick(ctx context.Context, e *journal.Event) (bool, error) {
	later := func(other *journal.Event) bool {
		return other.Rule == e.Rule && other.Type == e.Type && other.CreatedAt.After(e.CreatedAt)
	}
	if here := slices.ContainsFunc(j.lane.Events, later); here || !j.lane.More {
		return here, nil
	}
	for behind, err := range j.engine.happened(ctx, e.Workspace, e.Lane, []string{e.Type}, e.CreatedAt) {
		if err != nil || later(behind) {
			return err == nil, err
		}
	}
	return false, nil
}

// evaluations are those of visits that are over.
var evaluations sync.Pool

// evaluate returns an evaluation of a rule's expressions. There is one in a visit, so it is for one
// rule at a time.
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

// evaluated ends the use of the visit's evaluation.
func (j *judge) evaluated() {
	if j.evaluation != nil {
		j.evaluation.Clear()
		evaluations.Put(j.evaluation)
		j.evaluation = nil
	}
}

// key is what "the same" means, as a text.
func key(eval *rules.Evaluation, x *rules.Expression, otherwise string) (string, error) {
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
