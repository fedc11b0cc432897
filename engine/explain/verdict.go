package explain

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// asked explains a rule by its recorded verdict. The evaluation only adds details: the verdict is
// what happened.
func (x *Explainer) asked(ctx context.Context, f *facts, v journal.Verdict) (Rule, error) {
	today := x.o.Rules.Rule(v.Rule)
	then, err := x.version(ctx, v, today)
	if err != nil {
		return Rule{}, err
	}
	r := Rule{Rule: v.Rule, Values: map[string]any{}, Clauses: []Clause{}}
	switch {
	case then != nil:
		r = newRule(then)
	case today != nil:
		r.Name, r.Stage, r.Sample = today.Name, today.Stage, today.Sample
	}
	r.Basis, r.Outcome, r.Clause, r.Values, r.Error, r.Why, r.Version = Did, v.Outcome, v.Clause, recorded(v.Values), v.Error, v.Why, v.Version
	r.Changed = today == nil || v.Version != "" && today.Version != v.Version
	run, err := x.runOf(ctx, f.event, v)
	if err != nil {
		return r, err
	}
	if run != nil {
		if r.Run, err = x.briefly(ctx, run); err != nil {
			return r, err
		}
		r.Stage = run.Stage
	}
	if then != nil {
		if f, err = x.gatheredFor(ctx, f, then, v, run); err != nil {
			return r, err
		}
		j := f.judge(ctx, then, false)
		r.Clauses = settled(v, then, j)
		r.Words, err = x.verdictWords(ctx, f, v, then, &r, j)
		return r, err
	}
	r.Words, err = x.verdictWords(ctx, f, v, nil, &r, judgement{outcome: Unknown, decisive: -1})
	return r, err
}

// version returns the rule as of a verdict, or nil if that is not recorded.
func (x *Explainer) version(ctx context.Context, v journal.Verdict, today *rules.Rule) (*rules.Rule, error) {
	if today != nil && today.Version == v.Version {
		return today, nil
	}
	if v.Version == "" || x.o.Catalog == nil {
		return nil, nil
	}
	if rule, known := x.versions[v.Version]; known {
		return rule, nil
	}
	var rule *rules.Rule
	if source, err := x.o.Journal.Version(ctx, v.Version); err == nil { // only those that had runs are kept
		set, _ := rules.Compile([]*rules.File{rules.Parse(v.Rule+".yaml", []byte(source))}, rules.Options{Catalog: x.o.Catalog})
		rule = set.Rule(v.Rule)
	}
	x.versions[v.Version] = rule
	return rule, ctx.Err()
}

// settled returns the result of each clause according to the verdict, with details of an evaluation
// that agrees.
func settled(v journal.Verdict, rule *rules.Rule, j judgement) []Clause {
	end := slices.IndexFunc(rule.If, func(c *rules.Expression) bool { return c.Text == v.Clause })
	switch {
	case v.Outcome == journal.Gathered || v.Outcome == journal.Fired && v.Values["items"] != nil && len(rule.If) > 0 && rule.When.Schedule != nil:
		return []Clause{} // the conditions are those of all of them, or of each
	case v.Outcome == journal.False || v.Outcome == journal.Failed && v.Clause != "":
		if end < 0 {
			return []Clause{}
		}
	case v.Outcome == journal.Fired || v.Outcome == journal.Limited || v.Outcome == journal.Skipped || v.Outcome == journal.Failed:
		end = len(rule.If) // all were true
	default:
		return append([]Clause{}, j.clauses...) // no clause was evaluated
	}
	clauses := make([]Clause, len(rule.If))
	for i, x := range rule.If {
		c := Clause{Clause: x.Text, Basis: Did, Result: rules.ClauseTrue, Values: map[string]any{}}
		now := j.clauses[i]
		switch {
		case i > end:
			c.Result = rules.ClauseNotReached
		case i == end:
			c.Result, c.Error, c.Values = rules.ClauseFalse, v.Error, recorded(v.Values)
			if v.Outcome == journal.Failed {
				c.Result = rules.ClauseFailed
			}
			if now.Result == c.Result && reflect.DeepEqual(now.Values, c.Values) {
				c.Words, c.Part = now.Words, now.Part
			}
		case now.Result == rules.ClauseTrue:
			c.Values, c.Words = now.Values, now.Words
		}
		clauses[i] = c
	}
	return clauses
}

// gatheredFor returns the facts with all that a rule decided on, where it gathers.
func (x *Explainer) gatheredFor(ctx context.Context, f *facts, rule *rules.Rule, v journal.Verdict, run *journal.Run) (*facts, error) {
	if rule.Gather == nil || v.Outcome == journal.Gathered || f.event.Rule != "" {
		return f, nil
	}
	if run != nil && len(run.Gathered) > 0 {
		events, err := x.o.Journal.Events(ctx, run.Gathered...)
		if err != nil {
			return nil, fmt.Errorf("read what was gathered: %w", err)
		}
		return f.withGathered(rule.ID, events), nil
	}
	// No run started: the gathered events are the earlier ones that still say so.
	before, err := x.o.Journal.ListEvents(ctx, journal.EventFilter{Workspace: f.event.Workspace, Lane: f.event.Lane, Rule: rule.ID, Before: f.event.Seq})
	if err != nil {
		return nil, fmt.Errorf("look for what was gathered: %w", err)
	}
	events := []*journal.Event{f.event}
	for _, e := range before {
		if verdictOf(e, rule.ID).Outcome != journal.Gathered {
			break
		}
		events = append(events, e)
	}
	slices.Reverse(events)
	return f.withGathered(rule.ID, events), nil
}

// verdictOf returns a rule's verdict on an event; the zero value where there is none.
func verdictOf(e *journal.Event, rule string) journal.Verdict {
	for _, v := range e.Verdicts {
		if v.Rule == rule {
			return v
		}
	}
	return journal.Verdict{}
}
