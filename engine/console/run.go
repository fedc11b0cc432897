package console

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/journal"
)

// runPage is everything about one run.
type runPage struct {
	runView
	Key, Version  string
	Finished      time.Time
	Took          time.Duration
	Workspace     string
	Ancestry      []ruleView
	Event         *eventView // nil when the journal has forgotten it
	Clauses       *explained // the conditions that were true; nil if unknown
	Gathered      int
	Steps         []stepView
	Timeline      template.HTML
	Asks          []button
	Cancel        bool
	Acts          bool
	Here          string
	NextUncertain bool
	ToTest        bool // its event can be made a test
}

// A stepView is a step as its run's page shows it.
type stepView struct {
	picture.Step
	Verb, Key           string
	Attempts            int
	Error, Reason       string
	Took                time.Duration
	For                 []string
	Args, Value, Values *shown
	Way                 string // of choose
	Calls               []callView
}

// A callView is one call of a step.
type callView struct {
	Name            string
	Request, Answer *shown
	Made            bool
}

// run shows a run: its trigger, its steps, and the actions for it.
func (c *Console) run(q *request) error {
	r, err := c.findRun(q)
	if err != nil {
		return err
	}
	views, err := c.runViews(q, []*journal.Run{r})
	if err != nil {
		return err
	}
	w := q.words()
	p := runPage{
		runView: views[0], Key: engine.Harmless(r.Key), Version: r.Version, Finished: c.at(r.Workspace, r.FinishedAt), Workspace: r.Workspace, Gathered: len(r.Gathered),
		Acts: q.user.Role >= Operator, Here: fmt.Sprintf("/runs/%d", r.ID), NextUncertain: r.State == journal.Uncertain,
	}
	if !r.FinishedAt.IsZero() {
		p.Took = r.FinishedAt.Sub(r.StartedAt)
	}
	for _, id := range r.Ancestry {
		p.Ancestry = append(p.Ancestry, c.ruleView(r.Workspace, id))
	}
	if r.Asked == nil {
		for _, what := range asksOf(r.State) {
			p.Asks = append(p.Asks, button{Label: w.T("button." + string(what)), Action: fmt.Sprintf("/runs/%d/%s", r.ID, what)})
		}
	}
	events, err := c.options.Journal.Events(q.ctx(), r.Event)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		v, err := c.eventViews(q, events)
		if err != nil {
			return err
		}
		p.Event, p.ToTest = &v[0], q.editable(r.Workspace)
		if p.Clauses, err = c.clausesOf(q, r, events[0]); err != nil {
			return err
		}
	}
	var drawn []picture.Step
	for _, s := range r.Steps {
		v := c.stepView(q, r, s)
		p.Steps, drawn = append(p.Steps, v), append(drawn, v.Step)
	}
	started := *r
	started.StartedAt, started.FinishedAt = c.at(r.Workspace, r.StartedAt), c.at(r.Workspace, r.FinishedAt)
	p.Timeline = picture.Timeline(w, &started, drawn, c.at(r.Workspace, q.now))
	return q.show("run", "runs", w.T("run.title", strconv.FormatInt(r.ID, 10), p.Rule.Name), p)
}

// clausesOf returns the conditions that a run's rule had when it fired: all of them were true.
// Without an explainer they are those of the current rule, if the run follows that version.
func (c *Console) clausesOf(q *request, r *journal.Run, e *journal.Event) (*explained, error) {
	x := &explained{}
	if c.options.Explain != nil {
		list, err := c.options.Explain(q.ctx(), e, q.words().RulesLanguage())
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if one.Rule == r.Rule {
				x.Explanation = one
			}
		}
	} else if w := c.workspaces[r.Workspace]; w != nil {
		if rule := w.book().Set.Rule(r.Rule); rule != nil && rule.Version == r.Version {
			for _, clause := range rule.If {
				x.Clauses = append(x.Clauses, Clause{Text: engine.Harmless(clause.Text), Result: "true"})
			}
		}
	}
	if len(x.Clauses) == 0 {
		return nil, nil
	}
	for _, clause := range x.Clauses {
		x.Values = append(x.Values, showValue(clause.Values, c.namesIn(r.Workspace), shownDepth))
	}
	return x, nil
}

// findRun returns the run that an address names.
func (c *Console) findRun(q *request) (*journal.Run, error) {
	id, err := strconv.ParseInt(q.r.PathValue("run"), 10, 64)
	if err != nil {
		return nil, errNotFound
	}
	r, err := c.options.Journal.FindRun(q.ctx(), id)
	if errors.Is(err, journal.ErrNoRun) {
		return nil, errNotFound
	}
	return r, err
}

// asksOf returns the requests that are possible for a run in a state.
func asksOf(s journal.State) []journal.AskKind {
	all := []journal.AskKind{journal.AskRetry, journal.AskDealt, journal.AskDone, journal.AskRepeat, journal.AskCancel}
	return slices.DeleteFunc(all, func(what journal.AskKind) bool { return !s.Allows(what) })
}

func (c *Console) stepView(q *request, r *journal.Run, s *journal.Step) stepView {
	v := stepView{
		Step: picture.Step{Path: engine.Harmless(s.Path), Words: q.words().Or("verb.", s.Verb), State: s.State, Waits: s.Verb == "wait" || s.Verb == "wait_for"},
		Verb: s.Verb, Key: engine.Harmless(s.Key), Attempts: s.Attempts, Error: q.words().Told(s.Error, engine.WhyOf(s)),
	}
	d, err := engine.DetailOf(s)
	if err != nil {
		v.Reason = engine.Harmless(err.Error())
		return v
	}
	names := c.namesIn(r.Workspace)
	show := func(value any) *shown {
		if value == nil {
			return nil
		}
		s := showValue(value, names, shownDepth)
		return &s
	}
	v.At, v.Ended, v.Until, v.For, v.Reason = c.at(r.Workspace, d.At), c.at(r.Workspace, d.Ended), c.at(r.Workspace, d.Until), d.For, q.words().Told(d.Reason, d.Why)
	if !d.At.IsZero() && !d.Ended.IsZero() {
		v.Took = d.Ended.Sub(d.At)
	}
	v.Args = show(d.Args)
	if len(d.Calls) == 0 {
		v.Value = show(d.Value) // with calls it is made of their answers
	}
	if len(d.Values) > 0 {
		v.Values = show(d.Values)
	}
	if d.Branch != nil {
		v.Way = strconv.Itoa(*d.Branch + 1)
	}
	for _, call := range d.Calls {
		v.Calls = append(v.Calls, callView{Name: engine.Harmless(call.Name), Request: show(call.Request), Answer: show(call.Answer), Made: call.Made})
	}
	return v
}
