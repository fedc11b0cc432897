package console

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/vocabulary"
)

// eventsPage lists events.
type eventsPage struct {
	Events  []eventView
	Filter  url.Values
	Rules   []optionView
	Types   []string
	Spaces  []string
	Sinces  []string
	Older   string
	Newest  string
	Looked  int // how many were searched, if not all
	Here    string
	Refresh bool
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
	Decided  bool
	Fired    []ruleView
	Others   int // rules that did not fire
}

// eventWindow bounds the events searched for a filter by type or rule, so that a page is fast even
// with few matches.
const eventWindow = 2000

// eventTypes are the types that a list can be bounded to.
func eventTypes() []string { return vocabulary.AllEventTypes() }

// events lists events, the newest first.
func (c *Console) events(q *request) error {
	f, kept := q.r.URL.Query(), url.Values{}
	filter := journal.EventFilter{Workspace: f.Get("workspace"), Type: f.Get("type"), Rule: f.Get("rule"), Limit: listSize + 1}
	var err error
	if filter.Since, err = q.since(f.Get("since")); err != nil {
		return err
	}
	if filter.Before, err = numberOf(f.Get("before")); err != nil {
		return err
	}
	for _, name := range []string{"workspace", "type", "rule", "since"} {
		if v := f.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	p := eventsPage{Filter: kept, Rules: c.ruleChoice(filter.Rule), Types: eventTypes(), Spaces: c.spaces(), Sinces: sinces, Here: q.r.URL.RequestURI(), Refresh: filter.Before == 0}
	narrow := filter.Type != "" || filter.Rule != "" || filter.Workspace != ""
	if narrow {
		if filter.After, err = c.windowStart(q, filter.Before); err != nil {
			return err
		}
	}
	found, err := c.options.Journal.ListEvents(q.ctx(), filter)
	if err != nil {
		return err
	}
	switch {
	case len(found) > listSize:
		found = found[:listSize]
		p.Older = pageLink("/events", kept, found[len(found)-1].Seq)
	case filter.After > 0:
		p.Older, p.Looked = pageLink("/events", kept, filter.After+1), eventWindow
	}
	if filter.Before != 0 {
		p.Newest = "/events?" + kept.Encode()
	}
	if p.Events, err = c.eventViews(q, found); err != nil {
		return err
	}
	return q.show("events", "events", q.words().T("nav.events"), p)
}

// windowStart returns the event number at which the search starts.
func (c *Console) windowStart(q *request, before int64) (int64, error) {
	if before == 0 {
		newest, err := c.options.Journal.ListEvents(q.ctx(), journal.EventFilter{Limit: 1})
		if err != nil || len(newest) == 0 {
			return 0, err
		}
		before = newest[0].Seq + 1
	}
	return max(before-1-eventWindow, 0), nil
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
		if m, ok := c.messageOf(e.Event); ok {
			v.Text = words.Cut(strings.Join(words.HarmlessLines(m.Text), " ⏎ "), 120)
		}
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
