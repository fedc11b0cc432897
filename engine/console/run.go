package console

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/redact"
)

// runPage is everything about one run.
type runPage struct {
	runView
	Headline      string
	Key, Version  string
	Finished      time.Time
	Took          time.Duration
	Workspace     string
	Ancestry      []ruleView
	Event         *eventView // nil when the journal has forgotten it
	Clauses       []clauseView
	Gathered      int
	Lines         []stepLine
	Picture       []pathView // the rule's steps with those that were taken
	Steps         []stepView
	Asks          []button
	Acts          bool
	Here          string
	NextUncertain bool
	ToTest        bool // its event can be made a test
}

// A stepView is what was recorded of a step.
type stepView struct {
	Path, Verb, Key     string
	State               journal.StepState
	At, Ended, Until    time.Time
	Reason              string
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

// A stepLine is a step as one line.
type stepLine struct {
	At            time.Time
	Words, Result string
	Tone          string
	State         journal.StepState
	Error         string
	Attempts      []attemptView
}

// An attemptView is one try of a call.
type attemptView struct {
	At      time.Time
	Words   string
	Arrived bool
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
		runView: views[0], Headline: c.headline(q, r, views[0]), Key: engine.Harmless(r.Key), Version: r.Version, Finished: c.at(r.Workspace, r.FinishedAt), Workspace: r.Workspace, Gathered: len(r.Gathered),
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
	teller := c.stepTeller(q, r, p.Lane.Label)
	for _, s := range r.Steps {
		p.Lines = append(p.Lines, c.stepLine(q, r, s, teller))
		p.Steps = append(p.Steps, c.stepView(q, r, s))
	}
	if p.Picture, err = c.runPicture(q, r); err != nil {
		return err
	}
	return q.show("run", "activity", w.T("run.title", p.Rule.Name, p.Lane.Label), p)
}

// clausesOf returns the conditions that a run's rule had when it fired: all of them were true.
// Without an explainer they are those of the current rule, if the run follows that version.
func (c *Console) clausesOf(q *request, r *journal.Run, e *journal.Event) (list []clauseView, err error) {
	var found []Clause
	if c.options.Explain != nil {
		list, err := c.options.Explain(q.ctx(), e, q.words().RulesLanguage())
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if one.Rule == r.Rule {
				found = one.Clauses
			}
		}
	} else if rule := c.ruleOf(r); rule != nil {
		for _, clause := range rule.If {
			found = append(found, Clause{Text: clause.Text, Result: "true"})
		}
	}
	return c.clauseViews(q, r.Workspace, r.Rule, found), nil
}

// ruleOf returns the rule of a run, if the run follows the version that is in use.
func (c *Console) ruleOf(r *journal.Run) *rules.Rule {
	if w := c.workspaces[r.Workspace]; w != nil {
		if rule := w.book().Set.Rule(r.Rule); rule != nil && rule.Version == r.Version {
			return rule
		}
	}
	return nil
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
	v := stepView{Path: engine.Harmless(s.Path), State: s.State, Verb: engine.Harmless(s.Verb), Key: engine.Harmless(s.Key)}
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
	v.At, v.Ended, v.Until, v.For, v.Reason = c.at(r.Workspace, d.At), c.at(r.Workspace, d.Ended), c.at(r.Workspace, d.Until), d.For, engine.Harmless(redact.Text(d.Reason))
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

// headline says in a sentence what a run did, or how it stands, and why.
func (c *Console) headline(q *request, r *journal.Run, v runView) string {
	w, who := q.words(), v.Lane.Label
	current := r.Current()
	switch {
	case r.State == journal.FailedRun:
		return w.T("headline.failed", who, v.Standing)
	case r.State == journal.Waiting && current != nil && current.Verb == "wait_for" && !r.WakeAt.IsZero():
		return w.T("headline.answer", who, w.Moment(c.at(r.Workspace, r.WakeAt)))
	}
	text := w.T("headline.of", who, v.sentence(w))
	if why := c.because(q, r); why != "" && r.State == journal.Done && v.Standing != w.T("standing.nothing") {
		text = w.T("headline.because", text, why)
	}
	return text
}

// because says what a run waited for before the last thing that it did; empty is nothing.
func (c *Console) because(q *request, r *journal.Run) string {
	last := len(r.Steps) - 1
	for last >= 0 && !words.HasEffect(r.Steps[last]) {
		last--
	}
	if last < 0 {
		return ""
	}
	w, say, asked := q.words(), q.saying(r.Workspace, r.Rule), ""
	for _, s := range slices.Backward(r.Steps[:last]) {
		record, err := engine.ReadRecord(s)
		switch {
		case err != nil || s.State != journal.StepDone:
		case s.Verb == "stop_if":
			if step := stepOf(c.ruleOf(r), s.Path); step != nil && step.Condition != nil {
				asked = step.Condition.Text
			}
		case s.Verb == "wait" && record.Wait == "":
			return ""
		case s.Verb == "wait" && strings.Contains(asked, "first_response"):
			return w.T("because.unanswered", engine.Harmless(say.span(record.Wait)))
		case s.Verb == "wait":
			return w.T("because.passed", engine.Harmless(say.span(record.Wait)))
		case s.Verb == "wait_for":
			return c.stepTeller(q, r, "").Heard(record)
		}
	}
	return ""
}

var turns = regexp.MustCompile(`\[\d+\]`)

// stepOf returns the step of a rule that a run took; nil if it is not known.
func stepOf(rule *rules.Rule, path string) *rules.Step {
	if rule == nil {
		return nil
	}
	path = turns.ReplaceAllString(path, "[]")
	for s := range rule.Steps() {
		if s.Path == path {
			return s
		}
	}
	return nil
}

// stepLine says a step in one line.
func (c *Console) stepLine(q *request, r *journal.Run, s *journal.Step, teller words.Teller) stepLine {
	w, say, step := q.words(), q.saying(r.Workspace, r.Rule), stepOf(c.ruleOf(r), s.Path)
	v := stepLine{Words: teller.Step(s), State: s.State, Result: w.Or("step.", string(s.State)), Tone: stepTones[s.State], Error: w.Told(s.Error, engine.WhyOf(s))}
	d, err := engine.DetailOf(s)
	if err != nil {
		return v
	}
	v.At = c.at(r.Workspace, d.At)
	switch {
	case s.State == journal.StepSkipped && s.Error == "":
		v.Result = w.Told(d.Reason, d.Why)
	case s.Verb == "stop_if" && step != nil && step.Condition != nil && s.State == journal.StepDone:
		v.Words, v.Result = w.T("step.checked", cmp.Or(say.condition(step.Condition.Text), w.T("step.condition"))), w.T("step.checked.no")
		if r.State == journal.Stopped && s == r.Steps[len(r.Steps)-1] {
			v.Result = w.T("step.checked.yes")
		}
	case s.Verb == "choose" && d.Branch != nil && *d.Branch < 0:
		v.Words, v.Result = w.T("step.chose_none"), ""
	case s.Verb == "choose" && d.Branch != nil:
		v.Words, v.Result = w.T("step.chose_else"), ""
		if step != nil && *d.Branch < len(step.Branches) && step.Branches[*d.Branch].If != nil {
			v.Words = w.T("step.chose", cmp.Or(say.condition(step.Branches[*d.Branch].If.Text), w.T("step.condition")))
		}
	case s.State == journal.StepDone || s.State == journal.StepWaiting:
		v.Result = ""
	}
	if s.Attempts > 1 {
		v.Result = strings.TrimPrefix(v.Result+" · "+w.N("run.attempts", s.Attempts), " · ")
	}
	for _, a := range d.Attempts {
		v.Attempts = append(v.Attempts, attemptView{At: c.at(r.Workspace, a.At), Words: w.T("attempt.missed", w.Told(a.Error, a.Why))})
	}
	if len(v.Attempts) > 0 && s.State == journal.StepDone {
		v.Attempts = append(v.Attempts, attemptView{At: c.at(r.Workspace, d.Ended), Words: w.T("attempt.arrived"), Arrived: true})
	}
	return v
}

// stepTones are what the colours of steps mean.
var stepTones = map[journal.StepState]string{
	journal.StepDone: "acts", journal.StepOpen: "waits", journal.StepWaiting: "waits", journal.StepWould: "shadow", journal.StepFailed: "failed", journal.StepUncertain: "failed",
}

// A pathView is a step of a rule, with whether a run took it.
type pathView struct {
	Words string
	Mark  string // taken, broke, here, or untaken
	Ways  []wayView
}

// A wayView is the steps of one way, or of a loop.
type wayView struct {
	If    string
	Steps []pathView
}

// runPicture draws the path of a run into the rule's own picture; nil where the version that the
// run follows cannot be read.
func (c *Console) runPicture(q *request, r *journal.Run) ([]pathView, error) {
	space := c.workspaces[r.Workspace]
	if space == nil || space.catalog() == nil {
		return nil, nil
	}
	text := ""
	if rule := c.ruleOf(r); rule != nil {
		text = rule.Source()
	} else {
		source, err := c.options.Journal.Version(q.ctx(), r.Version)
		if err != nil && !errors.Is(err, journal.ErrNoVersion) {
			return nil, err
		}
		text = source
	}
	text = harmlessText(text)
	fields, err := form.Read(space.catalog(), []byte(text), r.Rule)
	if err != nil {
		return nil, nil
	}
	marks := map[string]string{}
	for _, s := range r.Steps {
		path := turns.ReplaceAllString(s.Path, "[]")
		switch s.State {
		case journal.StepDone, journal.StepWould:
			marks[path] = "taken"
		case journal.StepFailed, journal.StepUncertain:
			marks[path] = "broke"
		case journal.StepOpen, journal.StepWaiting:
			marks[path] = "here"
		}
	}
	view := studioMaker(q.words(), &draftFile{space: space, text: text}).View(fields, nil)
	return drawPath(q.words(), view.Do.Cards, "", marks), nil
}

func drawPath(w words.Language, cards []studio.Card, prefix string, marks map[string]string) (list []pathView) {
	for i, card := range cards {
		path := prefix + strconv.Itoa(i+1)
		v := pathView{Words: engine.Harmless(card.Words()), Mark: cmp.Or(marks[path], "untaken")}
		if card.Hand != nil || v.Words == "" {
			v.Words = w.Or("verb.", card.Verb)
		}
		if card.Question != nil && !card.Question.Hand {
			v.Words += " " + engine.Harmless(card.Question.Words())
		}
		for j, branch := range card.Branches {
			if branch.Else {
				v.Ways = append(v.Ways, wayView{w.T("studio.otherwise"), drawPath(w, branch.Do.Cards, path+".else.", marks)})
				continue
			}
			v.Ways = append(v.Ways, wayView{w.T("studio.if") + " " + engine.Harmless(branch.If.Words()), drawPath(w, branch.Do.Cards, path+"."+strconv.Itoa(j+1)+".", marks)})
		}
		if card.Loop != nil {
			v.Ways = append(v.Ways, wayView{"", drawPath(w, card.Loop.Cards, path+"[].", marks)})
		}
		list = append(list, v)
	}
	return list
}
