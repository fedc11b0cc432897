package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/story"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// conversationsPage lists customers.
type conversationsPage struct {
	Query   string
	Found   []foundView
	More    bool // there are more than were found
	Here    string
	Refresh bool
}

// A foundView is a customer with the last thing that happened.
type foundView struct {
	laneView
	Phone, Protocol string
	Workspace       string
	Many            bool
	Last            *story.Line // nil if nothing is known of it
	Waits           *story.Line // what comes next; nil if nothing does
}

// Bounds of the list of customers.
const (
	foundMost     = 20  // each is read for what happened last
	recentEvents  = 200 // that are searched for customers
	recentMost    = 30
	summaryEvents = 6 // of one customer
	summaryRuns   = 4
)

// conversations lists the customers of the newest events, or finds some by name, phone or protocol
// number, or by an id.
func (c *Console) conversations(q *request) error {
	p := conversationsPage{Query: strings.TrimSpace(words.Cut(q.r.URL.Query().Get("q"), 100)), Here: q.r.URL.RequestURI()}
	var found []journal.Who
	var err error
	if p.Query != "" {
		if to, err := c.conversationByID(q, p.Query); err != nil || to != "" {
			if err != nil {
				return err
			}
			return q.redirect(to)
		}
		found, err = c.options.Journal.FindLanes(q.ctx(), p.Query, foundMost+1)
		if p.More = len(found) > foundMost; p.More {
			found = found[:foundMost]
		}
	} else {
		p.Refresh = true
		found, err = c.recentCustomers(q)
	}
	if err != nil {
		return err
	}
	names := &lanes{q.words(), map[string]journal.Who{}}
	tellers := map[string]*story.Teller{}
	for _, who := range found {
		names.known[who.Workspace+"\x00"+who.Lane] = who
		v := foundView{laneView: names.of(who.Workspace, who.Lane), Phone: engine.Harmless(who.Phone), Protocol: engine.Harmless(who.Protocol), Workspace: who.Workspace, Many: len(c.workspaces) > 1}
		if tellers[who.Workspace] == nil && c.workspaces[who.Workspace] != nil {
			tellers[who.Workspace] = c.teller(q, c.workspaces[who.Workspace])
		}
		if t := tellers[who.Workspace]; t != nil {
			t.Customer = v.Label
			if err := c.sumUp(q, t, who, &v); err != nil {
				return err
			}
		}
		p.Found = append(p.Found, v)
	}
	return q.show("conversations", "conversations", q.words().T("customers.title"), p)
}

// recentCustomers returns the customers of the newest events, the newest first.
func (c *Console) recentCustomers(q *request) (list []journal.Who, err error) {
	events, err := c.options.Journal.ListEvents(q.ctx(), journal.EventFilter{Limit: recentEvents})
	if err != nil {
		return nil, err
	}
	byWorkspace := map[string][]string{}
	for _, e := range events {
		one := journal.Who{Workspace: e.Workspace, Lane: e.Lane}
		if len(list) < recentMost && strings.HasPrefix(e.Lane, actions.ConversationLane("")) && !slices.Contains(list, one) {
			list = append(list, one)
			byWorkspace[e.Workspace] = append(byWorkspace[e.Workspace], e.Lane)
		}
	}
	names, err := q.lanesOf(byWorkspace)
	if err != nil {
		return nil, err
	}
	for i, who := range list {
		if known, ok := names.known[who.Workspace+"\x00"+who.Lane]; ok {
			list[i] = known
		}
	}
	return list, nil
}

// sumUp finds the last thing that happened to a customer, and what comes next.
func (c *Console) sumUp(q *request, t *story.Teller, who journal.Who, v *foundView) error {
	events, err := c.options.Journal.ListEvents(q.ctx(), journal.EventFilter{Workspace: who.Workspace, Lane: who.Lane, Limit: summaryEvents})
	if err != nil {
		return err
	}
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{Workspace: who.Workspace, Lane: who.Lane, Limit: summaryRuns})
	if err != nil {
		return err
	}
	slices.Reverse(events)
	s := t.Tell(story.Past{Events: events, Runs: runs})
	v.Last = s.Last()
	if len(s.Waiting) > 0 {
		v.Waits = &s.Waiting[0]
	}
	return nil
}

// teller returns what tells the stories of a workspace's customers.
func (c *Console) teller(q *request, w *Workspace) *story.Teller {
	set, versions := w.book().Set, map[string]*rules.Rule{}
	names := c.namesIn(w.Name)
	return &story.Teller{
		Language: q.words(), Location: w.Location, Now: q.now, Profile: w.Profile,
		Name: func(rule string) string { return c.ruleView(w.Name, rule).Name },
		Names: func(id string) string {
			if names == nil || id == "" {
				return ""
			}
			return names(id)
		},
		Rule: func(id, version string) *rules.Rule {
			if today := set.Rule(id); today != nil && today.Version == version {
				return today
			}
			rule, known := versions[version]
			if !known && len(versions) < versionsMost {
				rule = c.ruleVersion(q, w, id, version)
				versions[version] = rule
			}
			return rule
		},
	}
}

// versionsMost bounds the earlier versions of rules that a page reads.
const versionsMost = 20

// conversationByID returns the address of a conversation, given its id or lane, or "".
func (c *Console) conversationByID(q *request, text string) (string, error) {
	lane := text
	if !strings.Contains(lane, ":") {
		lane = "conversation:" + lane
	}
	found, err := c.options.Journal.ListEvents(q.ctx(), journal.EventFilter{Lane: lane, Limit: 1})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return conversationLink(found[0].Workspace, lane), nil
}

// conversationPage is the story of a customer.
type conversationPage struct {
	laneView
	Phone     string
	Workspace string
	Chips     []story.Chip
	View      string
	Views     []optionView // the others, by their addresses
	Days      []story.Day
	Waiting   []story.Line
	Events    []eventDay
	Rules     []ruleSumView
	Why       *whyView
	Base      string // the address of a line's why, but for its id
	Here      string
	Older     string
	Newest    string
	Refresh   bool // what is shown is the newest of it
	Acts      bool
	Mute      *muteView
}

// A lineView is a line of a story as a link to why it happened.
type lineView struct {
	story.Line
	Link   string
	Chosen bool
}

// storyLine returns a line of a page.
func storyLine(p conversationPage, l story.Line) lineView {
	return lineView{l, p.Base + url.QueryEscape(l.ID), p.Why != nil && p.Why.ID == l.ID}
}

// An eventDay is the events of one day.
type eventDay struct {
	Name   string
	Events []eventView
}

// A ruleSumView is a rule that looked at the customer.
type ruleSumView struct {
	story.RuleSum
	Rule ruleView
}

// A whyView is why something happened, with the names of rules and where to go.
type whyView struct {
	*story.Why
	ID    string
	Rule  *ruleView
	Quiet []quietView
	Began []ruleView
	Run   string
	Test  string // where to make it a test; empty if that cannot be done

	Number       int64 // of the run
	Key, Version string
	Event        string
	Steps        []*journal.Step
}

// A quietView is a rule that did nothing, and why.
type quietView struct {
	Rule ruleView
	Why  string
}

const (
	conversationEvents = 200
	conversationRuns   = 200
)

// The views of a customer.
const (
	viewStory  = "story"
	viewEvents = "events"
	viewRules  = "rules"
)

// conversation tells the story of a customer.
func (c *Console) conversation(q *request) error {
	query := q.r.URL.Query()
	workspace, lane := query.Get("workspace"), query.Get("lane")
	w := c.workspaces[workspace]
	if w == nil || lane == "" {
		return errNotFound
	}
	before, err := numberOf(query.Get("before"))
	if err != nil {
		return err
	}
	past, more, err := c.pastOf(q, w, lane, before)
	if err != nil {
		return err
	}
	if len(past.Events)+len(past.Runs) == 0 {
		return errNotFound
	}
	names, err := q.lanesOf(map[string][]string{workspace: {lane}})
	if err != nil {
		return err
	}
	who := names.known[workspace+"\x00"+lane]
	p := conversationPage{laneView: names.of(workspace, lane), Phone: engine.Harmless(who.Phone), Workspace: workspace, Refresh: before == 0, Acts: q.user.Role >= Operator}
	if p.Label == p.Phone {
		p.Phone = ""
	}
	if p.Mute, err = c.muteView(q, workspace, lane); err != nil {
		return err
	}
	first := conversationLink(workspace, lane)
	here := first
	if before > 0 {
		here += "&before=" + itoa(before)
		p.Newest = first
	}
	if more {
		p.Older = first + "&before=" + itoa(past.Events[0].Seq)
	}
	t := c.teller(q, w)
	t.Customer = p.Label
	told := t.Tell(past)
	p.Chips, p.Waiting = t.Present(past.Events), told.Waiting
	sums := t.Rules(past.Events)
	p.setViews(q, here, len(past.Events), more, len(sums))
	switch p.View {
	case viewEvents:
		p.Events, err = c.eventDays(q, t, past.Events)
	case viewRules:
		for _, s := range sums {
			p.Rules = append(p.Rules, ruleSumView{s, c.ruleView(workspace, s.Rule)})
		}
	default:
		p.Days = t.Days(told.Lines)
	}
	if err != nil {
		return err
	}
	if p.Why, err = c.whyOf(q, t, w, &told, past, query.Get("why")); err != nil {
		return err
	}
	return q.show("conversation", "conversations", p.Label, p)
}

// setViews sets the addresses of the page and of its other views.
func (p *conversationPage) setViews(q *request, here string, events int, more bool, rules int) {
	w := q.words()
	p.View = viewStory
	if v := q.r.URL.Query().Get("view"); v == viewEvents || v == viewRules {
		p.View = v
	}
	count := w.Number(events)
	if more {
		count = w.T("story.and_more", count)
	}
	for _, v := range []optionView{{Value: viewStory, Label: w.T("story.crumb")}, {Value: viewEvents, Label: w.T("story.every", count)}, {Value: viewRules, Label: w.T("story.rules", w.Number(rules))}} {
		v.Chosen = v.Value == p.View
		address := here
		if v.Value != viewStory {
			address += "&view=" + v.Value
		}
		if v.Chosen {
			p.Here = address
		}
		v.Value = address
		p.Views = append(p.Views, v)
	}
	p.Base = p.Here + "&why="
	if why := q.r.URL.Query().Get("why"); why != "" {
		p.Here = p.Base + url.QueryEscape(why)
	}
}

// pastOf returns the newest events of a lane before one of them, with the runs of that time, and
// whether there are more.
func (c *Console) pastOf(q *request, w *Workspace, lane string, before int64) (p story.Past, more bool, err error) {
	j := c.options.Journal
	p.Events, err = j.ListEvents(q.ctx(), journal.EventFilter{Workspace: w.Name, Lane: lane, Before: before, Limit: conversationEvents + 1})
	if err != nil {
		return p, false, err
	}
	if more = len(p.Events) > conversationEvents; more {
		p.Events = p.Events[:conversationEvents]
	}
	slices.Reverse(p.Events)
	if p.Runs, err = j.ListRuns(q.ctx(), journal.RunFilter{Workspace: w.Name, Lane: lane, Limit: conversationRuns}); err != nil {
		return p, false, err
	}
	if more {
		p.From = p.Events[0].CreatedAt
	}
	if before > 0 {
		// Runs of these events, which may be older than the newest runs.
		those := journal.RunFilter{Workspace: w.Name, Lane: lane, Limit: conversationRuns}
		for _, e := range p.Events {
			those.Events = append(those.Events, e.Seq)
		}
		if len(p.Events) > 0 {
			older, err := j.ListRuns(q.ctx(), those)
			if err != nil {
				return p, false, err
			}
			for _, r := range older {
				if !slices.ContainsFunc(p.Runs, func(other *journal.Run) bool { return other.ID == r.ID }) {
					p.Runs = append(p.Runs, r)
				}
			}
		}
		next, err := j.Events(q.ctx(), before)
		if err != nil {
			return p, false, err
		}
		if len(next) > 0 {
			p.To = next[0].CreatedAt
		}
	}
	p.Caused, err = j.Caused(q.ctx(), w.Name, "", c.objectsOf(w, p.Events), time.Time{})
	return p, more, err
}

// objectsOf returns the keys of the messages, cards and attendances of events that the engine may
// have caused.
func (c *Console) objectsOf(w *Workspace, events []*journal.Event) (keys []string) {
	for _, e := range events {
		kind := service.KindMessage
		switch {
		case e.Type == vocabulary.AttendanceOpened || e.Type == vocabulary.AttendanceClosed:
			kind = service.KindAttendance
		case strings.HasPrefix(e.Type, "kanban.card."):
			kind = service.KindCard
		case e.Type != vocabulary.MessageSent:
			continue
		}
		if id := w.Profile.EventID(kind, e.Type, e.Data); id != "" {
			keys = append(keys, engine.ObjectKey(id))
		}
	}
	return keys
}

// eventDays returns events as the page lists them, the newest first.
func (c *Console) eventDays(q *request, t *story.Teller, events []*journal.Event) (days []eventDay, err error) {
	views, err := c.eventViews(q, events)
	if err != nil {
		return nil, err
	}
	for _, v := range slices.Backward(views) {
		name := t.Day(v.Created)
		if len(days) == 0 || days[len(days)-1].Name != name {
			days = append(days, eventDay{Name: name})
		}
		last := &days[len(days)-1]
		last.Events = append(last.Events, v)
	}
	return days, nil
}

// whyOf explains a line of a story: the one with an id, else the newest thing that a rule did.
func (c *Console) whyOf(q *request, t *story.Teller, w *Workspace, s *story.Story, p story.Past, id string) (*whyView, error) {
	line := s.Find(id)
	if line == nil {
		return nil, nil
	}
	var run *journal.Run
	if i := slices.IndexFunc(p.Runs, func(r *journal.Run) bool { return r.ID == line.Run }); i >= 0 && line.Run != 0 {
		run = p.Runs[i]
	}
	events, err := c.options.Journal.Events(q.ctx(), line.Event)
	if err != nil {
		return nil, err
	}
	var event *journal.Event
	var verdicts []story.Verdict
	if len(events) > 0 {
		event = events[0]
		if verdicts, err = c.verdictsOn(q, event); err != nil {
			return nil, err
		}
	}
	v := &whyView{Why: t.Explain(line, run, event, verdicts), ID: line.ID}
	for _, rule := range v.Why.Began {
		v.Began = append(v.Began, c.ruleView(w.Name, rule))
	}
	for _, one := range v.Why.Quiet {
		v.Quiet = append(v.Quiet, quietView{c.ruleView(w.Name, one.Rule), one.Why})
	}
	if event != nil {
		v.Event = engine.Harmless(event.ID)
		if q.editable(w.Name) {
			v.Test = "/events/" + itoa(event.Seq) + "/test"
		}
	}
	if run != nil {
		rule := c.ruleView(w.Name, run.Rule)
		v.Rule, v.Run, v.Number, v.Key, v.Version, v.Steps = &rule, "/runs/"+itoa(run.ID), run.ID, engine.Harmless(run.Key), run.Version, run.Steps
		if v.Test != "" {
			v.Test = v.Run + "/test"
		}
	}
	return v, nil
}

// verdictsOn explains an event for the rules that it could start.
func (c *Console) verdictsOn(q *request, e *journal.Event) (list []story.Verdict, err error) {
	explanations := c.recorded(e)
	if c.options.Explain != nil {
		if explanations, err = c.options.Explain(q.ctx(), e, q.words().RulesLanguage()); err != nil {
			return nil, err
		}
	}
	for _, x := range explanations {
		v := story.Verdict{Rule: x.Rule, Outcome: cmp.Or(x.Outcome, journal.False), Error: q.words().Told(x.Error, x.Why)}
		for _, clause := range x.Clauses {
			v.Clauses = append(v.Clauses, story.Clause{Text: clause.Text, False: clause.Result == "false", Part: clause.Part, Values: clause.Values})
		}
		list = append(list, v)
	}
	return list, nil
}
