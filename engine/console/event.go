package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// eventPage is everything about one event.
type eventPage struct {
	eventView
	Workspace    string
	Data         shown
	Headline     string
	Reaction     string
	Explanations []explained
	Unasked      []unasked
	MoreUnasked  int // rules that are not listed
	Runs         []rowView
	Here         string
	ToTest       bool // it can be made a test
}

// An explained is what an event meant to a rule.
type explained struct {
	Explanation
	Rule    ruleView
	Told    string
	Clauses []clauseView
}

// A clauseView is a condition in words, with what was so.
type clauseView struct {
	Clause
	Said   string // the condition in words; empty where it has none
	Values shown
}

// An unasked is a rule without a verdict on an event, and the reason.
type unasked struct {
	Rule ruleView
	Why  string
}

// event shows an event, and for every rule why or why not.
func (c *Console) event(q *request) error {
	e, err := c.findEvent(q)
	if err != nil {
		return err
	}
	views, err := c.eventViews(q, []*journal.Event{e})
	if err != nil {
		return err
	}
	p := eventPage{eventView: views[0], Workspace: e.Workspace, Data: showValue(e.Data, c.namesIn(e.Workspace), shownDepth), Here: fmt.Sprintf("/events/%d", e.Seq), ToTest: q.editable(e.Workspace)}
	explanations := c.recorded(e)
	if c.options.Explain != nil {
		if explanations, err = c.options.Explain(q.ctx(), e, q.words().RulesLanguage()); err != nil {
			return err
		}
	}
	asked := map[string]bool{}
	for _, one := range explanations {
		asked[one.Rule] = true
		p.Explanations = append(p.Explanations, explained{one, c.ruleView(e.Workspace, one.Rule), q.words().Told(one.Error, one.Why), c.clauseViews(q, e.Workspace, one.Rule, one.Clauses)})
	}
	p.Unasked, p.MoreUnasked = c.unaskedBy(q, e, asked)
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{Event: e.Seq, Limit: listSize})
	if err != nil {
		return err
	}
	items := make([]activityItem, len(runs))
	for i, r := range runs {
		items[i].run = r
	}
	if p.Runs, err = c.rowViews(q, items); err != nil {
		return err
	}
	w := q.words()
	p.Headline, p.Reaction = w.T("headline.of", p.Lane.Label, p.Sentence), p.reaction(w)
	if strings.HasPrefix(e.Type, "message.") && p.Text != "" {
		p.Headline = p.Lane.Label + " " + p.Sentence
	}
	return q.show("event", "activity", w.T("event.title", w.Or("event.", e.Type), p.Lane.Label), p)
}

// clauseViews puts conditions into words.
func (c *Console) clauseViews(q *request, workspace, rule string, clauses []Clause) (list []clauseView) {
	for _, clause := range clauses {
		v := clauseView{Clause: clause, Said: q.saying(workspace, rule).condition(clause.Text), Values: showValue(clause.Values, c.namesIn(workspace), shownDepth)}
		v.Text = engine.Harmless(v.Text)
		list = append(list, v)
	}
	return list
}

// recorded returns the recorded verdicts of an event: the rule that fired comes first.
func (c *Console) recorded(e *journal.Event) []Explanation {
	var list []Explanation
	for _, v := range e.Verdicts {
		x := Explanation{Rule: v.Rule, Outcome: v.Outcome, Error: v.Error, Why: v.Why}
		if v.Clause != "" {
			clause := Clause{Text: engine.Harmless(v.Clause), Result: "false", Values: v.Values}
			if v.Outcome == journal.Failed {
				clause.Result = "error"
			}
			x.Clauses = append(x.Clauses, clause)
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b Explanation) int {
		rank := func(x Explanation) int {
			if x.Outcome == journal.Fired {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return list
}

// unaskedMost is how many rules without a verdict are listed.
const unaskedMost = 200

// unaskedBy explains why the other rules have no verdict, and returns how many more there are.
func (c *Console) unaskedBy(q *request, e *journal.Event, asked map[string]bool) (list []unasked, more int) {
	space := c.workspaces[e.Workspace]
	if space == nil {
		return nil, 0
	}
	w := q.words()
	for _, r := range space.book().Set.Rules {
		if asked[r.ID] {
			continue
		}
		if len(list) == unaskedMost {
			more++
			continue
		}
		why := w.T("unasked.index")
		switch {
		case !e.Decided:
			why = w.T("unasked.undecided")
		case r.Stage == rules.Draft:
			why = w.T("unasked.draft")
		case e.Rule != "" && e.Rule != r.ID:
			why = w.T("unasked.other")
		case !wants(r, e.Type):
			why = w.T("unasked.type", w.Trigger(r))
		}
		list = append(list, unasked{c.ruleView(e.Workspace, r.ID), why})
	}
	return list, more
}

// wants reports whether events of a type can start a rule.
func wants(r *rules.Rule, typ string) bool {
	if typ == "manual" {
		return r.When.Manual
	}
	if typ == "schedule" {
		return r.When.Schedule != nil
	}
	return slices.ContainsFunc(r.When.Events, func(name string) bool {
		prefix, pattern := strings.CutSuffix(name, "*")
		return name == typ || pattern && strings.HasPrefix(typ, prefix)
	})
}

// messageOf reads the message of an event, where it has one that can be shown.
func (c *Console) messageOf(e rules.Event) (m service.Message, ok bool) {
	w := c.workspaces[e.Workspace]
	if w == nil || !strings.HasPrefix(e.Type, "message.") {
		return m, false
	}
	m, ok = w.Profile.EventMessage(e.Type, e.Data)
	return m, ok && (m.Text != "" || m.MediaID != "")
}
