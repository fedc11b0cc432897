package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/sheet"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
)

// runStates are the states of a run, in the order of its life.
var runStates = []journal.State{
	journal.Queued, journal.Running, journal.Waiting, journal.Held, journal.Uncertain, journal.Done, journal.Stopped, journal.Cancelled, journal.FailedRun, journal.Dealt,
}

// The kinds of activity. Without one it is both.
const (
	kindRuns   = "runs"   // what rules did
	kindEvents = "events" // what happened
)

const (
	// listSize is the number of rows on a page of a list.
	listSize = 50
	// eventWindow bounds the events searched for a page, so that it is fast even with few matches.
	eventWindow = 2000
	// exportMost bounds the rows of an export, and exportPart how many are read at a time.
	exportMost = 10_000
	exportPart = 500
	// customersMost is how many customers are offered where a name fits several.
	customersMost = 8
)

// sinces are the lengths of time that lists can be bounded to.
var sinces = []string{"1h", "24h", "7d", "30d"}

// eventTypes are the types that a list can be bounded to.
func eventTypes() []string { return vocabulary.AllEventTypes() }

// activityPage lists what rules did and what happened.
type activityPage struct {
	Rows      []rowView
	Path      string // the address without its filters
	Filter    url.Values
	Kinds     []linkView
	Rules     []optionView
	ManyRules bool // only those of the rows are among them
	States    []optionView
	Types     []optionView
	Sinces    []optionView
	Spaces    []string
	Customer  string     // the name of the one that the list is bounded to
	Customers []linkView // those that a name may mean
	Quiet     linkView   // hides what no rule asked for, or shows it
	Clear     string     // the list without filters; empty if it has none
	Export    string
	Older     string // the next page; empty is none
	Newest    string // the first page; empty if this is it
	Looked    int    // how many events were searched, if not all
	Here      string
	Refresh   bool
	Acts      bool
}

// A linkView is a choice that is a link.
type linkView struct {
	Label, Link string
	On          bool
}

// activityFilter selects activity.
type activityFilter struct {
	runs    journal.RunFilter
	events  journal.EventFilter
	noRuns  bool
	noEvent bool
	noise   bool // also events that no rule asked for
}

// activityPart is a part of the list, the newest first.
type activityPart struct {
	items []activityItem
	// The next part begins below these numbers; 1 is that there are no more.
	run, event int64
	more       bool
	looked     bool // the search ended at its bound
}

// An activityItem is a run or an event.
type activityItem struct {
	run   *journal.Run
	event *journal.Event
}

// activity lists what rules did and what happened, the newest first.
func (c *Console) activity(q *request) error {
	f := q.r.URL.Query()
	if id := f.Get("id"); id != "" {
		if _, err := strconv.ParseInt(id, 10, 64); err == nil {
			return q.redirect("/runs/" + id)
		}
	}
	kept := q.keptFilter()
	p := activityPage{Path: q.r.URL.Path, Filter: kept, Here: q.r.URL.RequestURI(), Refresh: f.Get("before") == "", Acts: q.user.Role >= Operator}
	if err := c.findCustomer(q, kept, &p); err != nil {
		return err
	}
	filter, err := c.activityFilter(q, kept)
	if err != nil {
		return err
	}
	if err := filter.startBelow(f.Get("before")); err != nil {
		return err
	}
	var part activityPart
	if p.Customers == nil {
		if part, err = c.activityPart(q, filter, listSize); err != nil {
			return err
		}
	}
	if p.Rows, err = c.rowViews(q, part.items); err != nil {
		return err
	}
	if part.more {
		p.Older = p.link("before", filter.cursor(part))
	}
	if part.looked {
		p.Looked = eventWindow
	}
	if !p.Refresh {
		p.Newest = p.link("", "")
	}
	c.activityChoices(q, &p, filter, part.items)
	return q.show("list", "activity", q.words().T("nav.activity"), p)
}

// keptFilter returns the filters of an address that links of the page keep. /runs and /events are
// the list of one kind.
func (q *request) keptFilter() url.Values {
	f, kept := q.r.URL.Query(), url.Values{}
	for _, name := range []string{"kind", "workspace", "lane", "customer", "rule", "state", "type", "since", "day", "noise"} {
		if v := f.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	return kept
}

// kind returns which kind of activity an address lists.
func (q *request) kind(f url.Values) string {
	switch q.r.URL.Path {
	case "/runs":
		return kindRuns
	case "/events":
		return kindEvents
	}
	return f.Get("kind")
}

// link returns the address of the page with one filter changed; an empty value takes it away.
func (p *activityPage) link(name, value string) string {
	next := url.Values{}
	for n, values := range p.Filter {
		next[n] = values
	}
	switch {
	case value != "":
		next.Set(name, value)
	case name != "":
		next.Del(name)
	}
	if len(next) == 0 {
		return p.Path
	}
	return p.Path + "?" + next.Encode()
}

// findCustomer bounds the list to the customer that a name or a phone number finds, or offers those
// that it may mean.
func (c *Console) findCustomer(q *request, kept url.Values, p *activityPage) error {
	text := strings.TrimSpace(words.Cut(kept.Get("customer"), 100))
	kept.Del("customer")
	if text == "" {
		if lane := kept.Get("lane"); lane != "" {
			space := kept.Get("workspace")
			if space == "" {
				space = c.options.Workspaces[0].Name
			}
			names, err := q.lanesOf(map[string][]string{space: {lane}})
			if err != nil {
				return err
			}
			p.Customer = names.of(space, lane).Label
		}
		return nil
	}
	kept.Del("lane")
	found, err := c.options.Journal.FindLanes(q.ctx(), text, customersMost)
	if err != nil {
		return err
	}
	names := &lanes{q.words(), map[string]journal.Who{}}
	p.Customers = []linkView{} // nobody is not everybody
	for _, who := range found {
		names.known[who.Workspace+"\x00"+who.Lane] = who
		kept.Set("workspace", who.Workspace)
		label := names.of(who.Workspace, who.Lane).Label
		if who.Phone != "" && who.Phone != label {
			label += " · " + engine.Harmless(who.Phone)
		}
		p.Customers = append(p.Customers, linkView{Label: label, Link: p.link("lane", who.Lane)})
	}
	if len(found) == 1 {
		kept.Set("lane", found[0].Lane)
		p.Customer, p.Customers = p.Customers[0].Label, nil
	} else if len(found) > 1 {
		kept.Del("workspace")
	}
	return nil
}

// activityFilter reads the filters of an address.
func (c *Console) activityFilter(q *request, f url.Values) (filter activityFilter, err error) {
	state, kind := journal.State(f.Get("state")), q.kind(f)
	if state != "" && !slices.Contains(runStates, state) || kind != "" && kind != kindRuns && kind != kindEvents {
		return filter, problem(http.StatusBadRequest, "error.filter")
	}
	since, until, err := c.span(q, f)
	if err != nil {
		return filter, err
	}
	filter = activityFilter{
		runs:    journal.RunFilter{Workspace: f.Get("workspace"), Rule: f.Get("rule"), State: state, Lane: f.Get("lane"), Since: since, Until: until},
		events:  journal.EventFilter{Workspace: f.Get("workspace"), Rule: f.Get("rule"), Type: f.Get("type"), Lane: f.Get("lane"), Since: since, Until: until},
		noRuns:  kind == kindEvents || kind == "" && f.Get("type") != "",
		noEvent: kind == kindRuns || kind == "" && state != "",
		noise:   f.Get("noise") != "" || f.Get("type") != "",
	}
	return filter, nil
}

// span reads the time that a list is bounded to: a day, or how far back.
func (c *Console) span(q *request, f url.Values) (since, until time.Time, err error) {
	if day := f.Get("day"); day != "" {
		zone := c.at(f.Get("workspace"), q.now).Location()
		if since, err = time.ParseInLocation(time.DateOnly, day, zone); err != nil {
			return since, until, problem(http.StatusBadRequest, "error.filter")
		}
		return since, since.AddDate(0, 0, 1), nil
	}
	text := f.Get("since")
	if text == "" {
		return since, until, nil
	}
	if since, ok := clockToday(text, c.at(f.Get("workspace"), q.now)); ok {
		return since, until, nil
	}
	d, err := duration.Parse(text)
	if err != nil || d <= 0 {
		return since, until, problem(http.StatusBadRequest, "error.filter")
	}
	return q.now.Add(-d), until, nil
}

// startBelow reads where a page begins: a number of a run or of an event, or both with a dot
// between them.
func (f *activityFilter) startBelow(text string) (err error) {
	run, event, both := strings.Cut(text, ".")
	if !both {
		event = text
	}
	if f.runs.Before, err = numberOf(run); err != nil || f.noRuns {
		f.runs.Before = 0
	}
	var other error
	if f.events.Before, other = numberOf(event); other != nil || f.noEvent {
		f.events.Before = 0
	}
	if err == nil {
		err = other
	}
	return err
}

// cursor says where the next page begins.
func (f *activityFilter) cursor(p activityPart) string {
	switch {
	case f.noRuns:
		return itoa(p.event)
	case f.noEvent:
		return itoa(p.run)
	}
	return itoa(p.run) + "." + itoa(p.event)
}

// activityPart reads the newest activity below where the filter begins.
func (c *Console) activityPart(q *request, f activityFilter, limit int) (part activityPart, err error) {
	var runs []*journal.Run
	var events eventPart
	if !f.noRuns && f.runs.Before != 1 {
		f.runs.Limit = limit + 1
		if runs, err = c.options.Journal.ListRuns(q.ctx(), f.runs); err != nil {
			return part, err
		}
	}
	if !f.noEvent && f.events.Before != 1 {
		if events, err = c.eventPart(q, f, limit+1); err != nil {
			return part, err
		}
	}
	part.run, part.event = f.runs.Before, f.events.Before
	if len(runs) > 0 && part.run == 0 {
		part.run = runs[0].ID + 1
	}
	if len(events.found) > 0 && part.event == 0 {
		part.event = events.found[0].Seq + 1
	}
	for len(part.items) < limit && len(runs)+len(events.found) > 0 {
		if len(events.found) == 0 && events.cut && runs[0].StartedAt.Before(events.end) {
			break // events that were not searched yet come before it
		}
		if len(runs) > 0 && (len(events.found) == 0 || !runs[0].StartedAt.Before(events.found[0].ReceivedAt)) {
			part.items, part.run, runs = append(part.items, activityItem{run: runs[0]}), runs[0].ID, runs[1:]
		} else {
			e := events.found[0]
			part.items, part.event, events.found = append(part.items, activityItem{event: e}), e.Seq, events.found[1:]
		}
	}
	if len(runs) == 0 {
		part.run = 1
	}
	if len(events.found) == 0 {
		part.event, part.looked = 1, events.cut
		if events.cut {
			part.event = events.below
		}
	}
	part.more = part.run > 1 || part.event > 1
	return part, nil
}

// An eventPart is what a search for events found.
type eventPart struct {
	found []*journal.Event
	cut   bool      // the search ended at its bound
	below int64     // where the next search begins, if so
	end   time.Time // when the last event was received that was searched, if so
}

// eventPart searches for events: at most eventWindow of them where a filter leaves out many.
func (c *Console) eventPart(q *request, f activityFilter, limit int) (part eventPart, err error) {
	filter := f.events
	first := int64(0)
	if (filter.Type != "" || filter.Rule != "" || filter.Workspace != "") && filter.Lane == "" {
		if filter.After, err = c.windowStart(q, filter.Before); err != nil {
			return part, err
		}
		first = filter.After
	}
	for looked := 0; len(part.found) < limit; {
		filter.Limit = max(limit, listSize)
		found, err := c.options.Journal.ListEvents(q.ctx(), filter)
		if err != nil {
			return part, err
		}
		for _, e := range found {
			filter.Before = e.Seq
			if f.noise || isAskedFor(e) {
				part.found = append(part.found, e)
			}
			if len(part.found) == limit {
				return part, nil
			}
		}
		if looked += len(found); len(found) < filter.Limit {
			break
		}
		if looked >= eventWindow {
			part.cut, part.below, part.end = true, filter.Before, found[len(found)-1].ReceivedAt
			return part, nil
		}
	}
	if first > 0 {
		part.cut, part.below = true, first+1
		edge, err := c.options.Journal.Events(q.ctx(), first+1)
		if err != nil {
			return part, err
		}
		if len(edge) > 0 {
			part.end = edge[0].ReceivedAt
		}
	}
	return part, nil
}

// isAskedFor reports whether a rule asked for an event. One that is not decided yet may be.
func isAskedFor(e *journal.Event) bool {
	return !e.Decided || slices.ContainsFunc(e.Verdicts, func(v journal.Verdict) bool { return v.Outcome != journal.Own })
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

// activityChoices fills in what the list can be bounded to.
func (c *Console) activityChoices(q *request, p *activityPage, f activityFilter, items []activityItem) {
	w, kind := q.words(), q.kind(p.Filter)
	for _, one := range []struct{ kind, path string }{{"all", "/activity"}, {kindRuns, "/activity?kind=runs"}, {kindEvents, "/activity?kind=events"}} {
		p.Kinds = append(p.Kinds, linkView{w.T("activity.kind." + one.kind), one.path, kind == one.kind || kind == "" && one.kind == "all"})
	}
	p.Rules, p.ManyRules = c.ruleChoice(f.runs.Rule, items)
	p.Spaces = c.spaces()
	for _, s := range runStates {
		p.States = append(p.States, optionView{string(s), w.Or("state.", string(s)), s == f.runs.State})
	}
	if f.noRuns {
		p.States = nil
		for _, typ := range eventTypes() {
			p.Types = append(p.Types, optionView{typ, w.Or("event.", typ), typ == f.events.Type})
		}
	}
	for _, s := range sinces {
		p.Sinces = append(p.Sinces, optionView{s, w.T("activity.since." + s), s == p.Filter.Get("since")})
	}
	if since := p.Filter.Get("since"); strings.Contains(since, ":") {
		p.Sinces = append(p.Sinces, optionView{since, w.T("activity.since.clock", since), true})
	}
	p.Quiet = linkView{w.T("activity.quiet"), p.link("noise", "1"), true}
	if f.noise {
		p.Quiet.Link, p.Quiet.On = p.link("noise", ""), false
	}
	if len(p.Filter) > 1 || len(p.Filter) == 1 && p.Filter.Get("kind") == "" {
		p.Clear = p.Path
	}
	export := url.Values{"kind": {kind}}
	for name, values := range p.Filter {
		export[name] = values
	}
	p.Export = "/activity/export?" + export.Encode()
}

// exportActivity writes what a list selects, for a spreadsheet.
func (c *Console) exportActivity(q *request) error {
	kept := q.keptFilter()
	filter, err := c.activityFilter(q, kept)
	if err != nil {
		return err
	}
	part, err := c.activityPart(q, filter, exportPart)
	if err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="activity-%s.csv"`, c.at("", q.now).Format(time.DateOnly)))
	out, err := sheet.NewWriter(q.w)
	w := q.words()
	if err == nil {
		err = out.Row(w.T("col.when"), w.T("col.lane"), w.T("col.what"), w.T("col.rule"), w.T("col.state"))
	}
	for written := 0; err == nil; {
		var rows []rowView
		if rows, err = c.rowViews(q, part.items[:min(len(part.items), exportMost-written)]); err != nil {
			break
		}
		for _, row := range rows {
			err = out.Row(row.At.Format("2006-01-02 15:04:05"), row.Lane.Label, row.Words, row.Beside, row.State)
		}
		if err == nil {
			err = out.Flush()
		}
		if written += len(rows); err != nil || !part.more || written >= exportMost {
			break
		}
		_ = http.NewResponseController(q.w).Flush() // a writer that cannot keeps it until the end
		filter.runs.Before, filter.events.Before = part.run, part.event
		part, err = c.activityPart(q, filter, exportPart)
	}
	if err != nil && q.ctx().Err() == nil {
		c.log.Error("an export of the console failed", "error", err) // its beginning is sent already
	}
	return nil
}
