package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// A rowView is a run or an event as one sentence.
type rowView struct {
	Key    string // by which a live page knows it again
	At     time.Time
	Link   string
	Lane   laneView
	Words  string
	Beside string // the rule of a run, or what rules made of an event
	State  string // of a run, in words
	Tone   string // what its colour means: acts, waits, failed, shadow, over or plain
	Run    int64  // 0 is an event
	Asked  string
	Shadow bool
}

// rowViews shows activity as sentences.
func (c *Console) rowViews(q *request, items []activityItem) ([]rowView, error) {
	var runs []*journal.Run
	var events []*journal.Event
	for _, item := range items {
		if item.run != nil {
			runs = append(runs, item.run)
		} else {
			events = append(events, item.event)
		}
	}
	runViews, err := c.runViews(q, runs)
	if err != nil {
		return nil, err
	}
	eventViews, err := c.eventViews(q, events)
	if err != nil {
		return nil, err
	}
	rows := make([]rowView, 0, len(items))
	for _, item := range items {
		if item.run != nil {
			rows, runViews = append(rows, runRow(q.words(), runViews[0])), runViews[1:]
		} else {
			rows, eventViews = append(rows, eventRow(q.words(), eventViews[0])), eventViews[1:]
		}
	}
	return rows, nil
}

// A runView is a run as lists show it.
type runView struct {
	ID       int64
	Link     string
	Rule     ruleView
	State    journal.State
	Stage    rules.Stage
	Started  time.Time
	Ago      time.Duration
	Lane     laneView
	Standing string
	Asked    string
}

func runRow(w words.Language, v runView) rowView {
	row := rowView{
		Key: "r" + itoa(v.ID), At: v.Started, Link: v.Link, Lane: v.Lane, Words: v.sentence(w), Beside: v.Rule.Name, State: w.Or("state.", string(v.State)), Tone: v.tone(), Run: v.ID,
		Asked: v.Asked, Shadow: v.Stage == rules.Shadow,
	}
	return row
}

// sentence says what a run did and how it stands, about its customer.
func (v runView) sentence(w words.Language) string {
	switch v.State {
	case journal.FailedRun, journal.Dealt, journal.Uncertain, journal.Held, journal.Stopped, journal.Cancelled:
		return strings.TrimSuffix(w.T("sentence."+string(v.State), v.Standing), ": ")
	}
	return v.Standing
}

// tone is what the colour of a run means.
func (v runView) tone() string {
	switch {
	case v.State == journal.FailedRun, v.State == journal.Uncertain:
		return "failed"
	case v.Stage == rules.Shadow:
		return "shadow"
	case v.State == journal.Done:
		return "acts"
	case v.State.Finished():
		return "over"
	}
	return "waits"
}

// An eventView is an event as lists show it.
type eventView struct {
	Seq      int64
	ID, Type string
	Link     string
	Received time.Time
	Created  time.Time
	Ago      time.Duration
	Lane     laneView
	Text     string
	Sentence string
	Decided  bool
	Fired    []ruleView
	Others   int // rules that did not fire
}

func eventRow(w words.Language, v eventView) rowView {
	row := rowView{Key: "e" + itoa(v.Seq), At: v.Received, Link: v.Link, Lane: v.Lane, Words: v.Sentence, Beside: v.reaction(w), Tone: "plain"}
	return row
}

// reaction says what rules made of an event.
func (v eventView) reaction(w words.Language) string {
	switch {
	case !v.Decided:
		return w.T("events.undecided")
	case len(v.Fired) > 0:
		return w.N("events.started", len(v.Fired))
	case v.Others > 0:
		return w.N("events.others", v.Others)
	}
	return w.T("events.nobody")
}

// runViews shows runs as lists do.
func (c *Console) runViews(q *request, runs []*journal.Run) ([]runView, error) {
	byWorkspace := map[string][]string{}
	for _, r := range runs {
		byWorkspace[r.Workspace] = append(byWorkspace[r.Workspace], r.Home)
	}
	names, err := q.lanesOf(byWorkspace)
	if err != nil {
		return nil, err
	}
	var views []runView
	for _, r := range runs {
		v := runView{
			ID: r.ID, Link: fmt.Sprintf("/runs/%d", r.ID), Rule: c.ruleView(r.Workspace, r.Rule), State: r.State, Stage: r.Stage, Started: c.at(r.Workspace, r.StartedAt),
			Ago: q.now.Sub(r.StartedAt), Lane: names.of(r.Workspace, r.Home),
		}
		v.Standing = c.standing(q, r, v.Lane.Label)
		if r.Asked != nil {
			v.Asked = q.words().T("asked." + string(r.Asked.What))
		}
		views = append(views, v)
	}
	return views, nil
}

// stepTeller puts into words what the steps of a run did.
func (c *Console) stepTeller(q *request, r *journal.Run, who string) words.Teller {
	return words.Teller{Language: q.words(), Who: who, Zone: c.at(r.Workspace, q.now).Location(), Names: c.namesIn(r.Workspace), Span: q.saying(r.Workspace, r.Rule).span}
}

// standing says in a sentence where a run stands and why.
func (c *Console) standing(q *request, r *journal.Run, who string) string {
	w := q.words()
	switch r.State {
	case journal.Queued:
		return cmp.Or(w.Told(r.Reason, r.Why), w.T("standing.queued"))
	case journal.Waiting:
		if current := r.Current(); current != nil && (current.Verb == "wait" || current.Verb == "wait_for") {
			return c.stepTeller(q, r, who).Step(current)
		}
		if r.WakeAt.IsZero() {
			return w.T("standing.event")
		}
		return cmp.Or(w.Told(r.Reason, r.Why), w.T("standing.until", w.Moment(c.at(r.Workspace, r.WakeAt))))
	case journal.Running:
		if r.WakeAt.After(q.now) {
			return strings.TrimSuffix(w.T("standing.again", w.Moment(c.at(r.Workspace, r.WakeAt)), troubleOf(w, r, journal.StepOpen)), ": ")
		}
		return w.T("standing.running")
	case journal.Done:
		list := c.stepTeller(q, r, who).Effects(r)
		switch {
		case list == "":
			return w.T("standing.nothing")
		case r.Stage == rules.Shadow:
			return w.T("standing.would", list)
		}
		return list
	case journal.Uncertain, journal.FailedRun, journal.Dealt:
		return cmp.Or(troubleOf(w, r, journal.StepFailed, journal.StepUncertain), w.Told(r.Reason, r.Why))
	case journal.Stopped:
		if r.Why == nil && r.Reason != "" {
			return cmp.Or(q.saying(r.Workspace, r.Rule).condition(r.Reason), w.T("standing.stopped"))
		}
	}
	if typ, cancelled := strings.CutPrefix(r.Reason, "cancel_on: "); cancelled && r.State == journal.Cancelled {
		return w.T("standing.cancelled", w.Or("event.", typ))
	}
	return w.Told(r.Reason, r.Why)
}

// troubleOf returns the error of the newest step in one of the states.
func troubleOf(w words.Language, r *journal.Run, states ...journal.StepState) string {
	for _, s := range slices.Backward(r.Steps) {
		if slices.Contains(states, s.State) && s.Error != "" {
			return w.Told(s.Error, engine.WhyOf(s))
		}
	}
	return ""
}

// eventViews shows events as lists do.
func (c *Console) eventViews(q *request, events []*journal.Event) ([]eventView, error) {
	byWorkspace := map[string][]string{}
	for _, e := range events {
		byWorkspace[e.Workspace] = append(byWorkspace[e.Workspace], e.Lane)
	}
	names, err := q.lanesOf(byWorkspace)
	if err != nil {
		return nil, err
	}
	var views []eventView
	for _, e := range events {
		v := eventView{
			Seq: e.Seq, ID: engine.Harmless(e.ID), Type: e.Type, Link: fmt.Sprintf("/events/%d", e.Seq), Received: c.at(e.Workspace, e.ReceivedAt), Created: c.at(e.Workspace, e.CreatedAt),
			Ago: q.now.Sub(e.ReceivedAt), Lane: names.of(e.Workspace, e.Lane), Decided: e.Decided,
		}
		v.Sentence = c.happened(q, e, &v)
		for _, verdict := range e.Verdicts {
			if verdict.Outcome == journal.Fired {
				v.Fired = append(v.Fired, c.ruleView(e.Workspace, verdict.Rule))
			} else {
				v.Others++
			}
		}
		views = append(views, v)
	}
	return views, nil
}

// happened says in a sentence what an event is, about its customer.
func (c *Console) happened(q *request, e *journal.Event, v *eventView) string {
	w := q.words()
	m, ok := c.messageOf(e.Event)
	if !ok {
		return w.Or("event.", e.Type)
	}
	v.Text = words.Cut(strings.Join(words.HarmlessLines(m.Text), " ⏎ "), 120)
	said := "“" + v.Text + "”"
	if v.Text == "" {
		said = w.T("event.file")
	}
	sender := engine.Harmless(m.Sender.Name)
	switch {
	case e.Type == vocabulary.MessageReceived && m.Direction != service.Outbound:
		return w.T("event.wrote", said)
	case e.Type == vocabulary.MessageSent && sender != "":
		return w.T("event.was_written", sender, said)
	case e.Type == vocabulary.MessageSent:
		return w.T("event.got", said)
	}
	return w.Or("event.", e.Type) + " " + said
}

// A saying puts the conditions and lengths of time of one rule into words.
type saying struct {
	condition func(expression string) string // empty where it has no words
	span      func(text string) string
}

// saying returns what puts the conditions of a rule into words. It is made once for a request.
func (q *request) saying(workspace, rule string) saying {
	key := workspace + "\x00" + rule
	if s, ok := q.sayings[key]; ok {
		return s
	}
	s := saying{func(string) string { return "" }, func(text string) string { return text }}
	if space := q.console.workspaces[workspace]; space != nil && space.catalog() != nil {
		if r := space.book().Set.Rule(rule); r != nil {
			if fields, err := form.Read(space.catalog(), []byte(r.Source()), rule); err == nil {
				maker := studioMaker(q.words(), &draftFile{space: space, text: r.Source()})
				scope := sentence.NewScope(space.catalog(), fields, studio.Vars([]byte(r.Source())), nil)
				s.condition = func(text string) string {
					c := sentence.Read(text)
					if len(c.ByHand()) > 0 {
						return ""
					}
					return engine.Harmless(scope.Say(q.words().RulesLanguage(), c))
				}
				s.span = func(text string) string { return maker.SpanWords(fields, text) }
			}
		}
	}
	if q.sayings == nil {
		q.sayings = map[string]saying{}
	}
	q.sayings[key] = s
	return s
}
