package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
)

// Event explains an event for every rule: first the evaluated ones, those that fired before the
// others, then the rest.
func (x *Explainer) Event(ctx context.Context, e *journal.Event) (*Event, error) {
	f := x.factsOf(ctx, e)
	out := &Event{
		ID: e.ID, Workspace: e.Workspace, Type: e.Type, Lane: e.Lane, CreatedAt: e.CreatedAt, ReceivedAt: e.ReceivedAt, Decided: e.Decided,
		About: f.about, Rules: []Rule{},
	}
	if at, ok := decidedAt(e); ok {
		out.DecidedAt = &at
	}
	if contact, ok := f.carried["contact"].(map[string]any); ok {
		out.Contact, _ = contact["name"].(string)
	}
	if f.err != nil {
		out.Words = x.t("explain.carries", f.err)
	}
	if !e.Decided {
		words, err := x.undecided(ctx, e)
		if err != nil {
			return nil, err
		}
		out.Words = words
	}
	if x.o.Only != nil {
		for _, rule := range x.o.Only {
			out.Rules = append(out.Rules, x.unasked(ctx, f, rule, true))
		}
		return out, nil
	}
	for _, v := range e.Verdicts {
		r, err := x.asked(ctx, f, v)
		if err != nil {
			return nil, err
		}
		out.Rules = append(out.Rules, r)
	}
	slices.SortStableFunc(out.Rules, func(a, b Rule) int { return weight(a.Outcome) - weight(b.Outcome) })
	out.Rules = append(out.Rules, x.others(ctx, f)...)
	return out, nil
}

// weight puts what happened, and what went wrong, before what did not happen.
func weight(o journal.Outcome) int {
	return slices.Index([]journal.Outcome{
		journal.Fired, journal.Failed, journal.Limited, journal.Skipped, journal.Gathered, journal.Late, journal.Paused, journal.Looped, journal.Claimed, journal.Internal, journal.Own, journal.False,
	}, o)
}

// undecided says why an event is not decided yet.
func (x *Explainer) undecided(ctx context.Context, e *journal.Event) (string, error) {
	holds, err := x.o.Journal.Holds(ctx)
	if err != nil {
		return "", fmt.Errorf("ask what is stopped: %w", err)
	}
	for _, h := range holds {
		if h.Rule == "" && (h.Workspace == "" || h.Workspace == e.Workspace) {
			return x.t("explain.stopped", x.o.Stamp(h.Since), prefixed(": ", phrases.Told(x.o.Language, h.Reason, h.Why))), nil
		}
	}
	return x.t("explain.undecided"), nil
}

// others explains the rules that were not evaluated.
func (x *Explainer) others(ctx context.Context, f *facts) []Rule {
	asked := func(id string) bool {
		return slices.ContainsFunc(f.event.Verdicts, func(v journal.Verdict) bool { return v.Rule == id })
	}
	var candidates []*rules.Rule
	if f.err == nil {
		candidates = x.o.Rules.Candidates(nil, f.event.Type, f.carried)
	}
	var list, elsewhere []Rule
	for _, rule := range x.o.Rules.Rules {
		if asked(rule.ID) {
			continue
		}
		if r := x.unasked(ctx, f, rule, slices.Contains(candidates, rule)); r.Outcome == NotForIt {
			elsewhere = append(elsewhere, r)
		} else {
			list = append(list, r)
		}
	}
	for _, b := range x.o.Rules.Broken {
		if b.ID == "" || asked(b.ID) {
			continue
		}
		r := Rule{Rule: b.ID, Basis: Would, Outcome: Broken, Values: map[string]any{}, Clauses: []Clause{}}
		told := ""
		if len(b.Problems) > 0 {
			r.Error, told = b.Problems[0].Message, b.Problems[0].In(x.o.Language).Message
		}
		r.Words = x.t("explain.not_loaded") + prefixed(": ", told)
		list = append(list, r)
	}
	return append(list, elsewhere...)
}

// unasked explains a rule that has no verdict on an event. A candidate is one that would have been
// evaluated.
func (x *Explainer) unasked(ctx context.Context, f *facts, rule *rules.Rule, candidate bool) Rule {
	r := newRule(rule)
	r.Basis = Would
	if words := x.notForIt(f.event, rule); words != "" {
		r.Outcome, r.Words = NotForIt, words
		return r
	}
	ruledOut := !candidate && f.err == nil && rule.Stage != rules.Draft
	j := f.judge(ctx, rule, ruledOut)
	r.setJudgement(j)
	why := ""
	switch {
	case x.o.Only != nil || !f.event.Decided:
	case rule.Stage == rules.Draft:
		why = x.t("explain.draft")
	case ruledOut:
		why = x.t("explain.ruled_out")
	default:
		why = x.t("explain.another_then")
	}
	r.Words = why + x.wouldWords(rule, j)
	if age := f.now.Sub(f.event.CreatedAt); !ruledOut && f.event.Rule == "" && rule.Late.SkipAfter > 0 && age > rule.Late.SkipAfter {
		late := x.t("explain.age", duration.Format(age.Round(time.Second)), duration.Format(rule.Late.SkipAfter))
		r.Outcome, r.Clause, r.Values, r.Error = journal.Late, "", map[string]any{}, late
		r.Words = x.t("explain.left", why, late, x.wouldWords(rule, j))
	}
	return r
}

// notForIt says what starts a rule that an event cannot start; empty is that the event can.
func (x *Explainer) notForIt(e *journal.Event, rule *rules.Rule) string {
	switch {
	case e.Rule == rule.ID:
		return ""
	case e.Rule != "":
		return x.t("explain.for_another", e.Rule)
	case slices.Contains(rule.When.Events, e.Type):
		return ""
	case len(rule.When.Events) > 0:
		return x.t("explain.for_events", x.oneOf(rule.When.Events))
	case rule.When.Schedule != nil:
		return x.t("explain.for_clock")
	}
	return x.t("explain.for_person")
}

func newRule(rule *rules.Rule) Rule {
	return Rule{
		Rule: rule.ID, Name: rule.Name, Stage: rule.Stage, Sample: rule.Sample, Version: rule.Version,
		Values: map[string]any{}, Clauses: []Clause{},
	}
}

// setJudgement copies the result of a rule's conditions.
func (r *Rule) setJudgement(j judgement) {
	r.Outcome = j.outcome
	r.Clauses = append(r.Clauses, j.clauses...)
	if j.decisive >= 0 {
		c := j.clauses[j.decisive]
		r.Clause, r.Values, r.Error = c.Clause, c.Values, c.Error
	}
}

// valuesOf returns values in the form of a verdict that is read from a journal.
func valuesOf(list []rules.NamedValue) map[string]any {
	values := make(map[string]any, len(list))
	for _, n := range list {
		values[n.Name] = n.Value
	}
	return recorded(values)
}

func recorded(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	if len(values) == 0 {
		return out
	}
	if text, err := json.Marshal(values); err == nil {
		_ = json.Unmarshal(text, &out) // it was written a moment ago
	}
	return out
}
