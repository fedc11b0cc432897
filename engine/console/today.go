package console

import (
	"cmp"
	"fmt"
	"html/template"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/source"
)

// todayPage is how things stand.
type todayPage struct {
	Needs   []need
	More    int    // needs that are not listed
	Failed  string // address of the full list of failed runs; may be empty
	Figures []figure
	Chart   template.HTML
	Hours   []picture.HourCount // the same as a table
	Ends    []string
	Acts    bool
	Here    string
}

// A need is something that needs a person, with its remedy.
type need struct {
	Key                 string // by which a live page knows it again
	Title, Detail, Link string
	Show                string // address of what it is about; may be empty
	Buttons             []button
	Urgent              bool
	Failed              bool // it is about runs that failed
}

// A button is a form with one action.
type button struct {
	Label, Action string
	Confirm       string // what it does, for one that asks first; may be empty
	Fields        map[string]string
}

// A figure is a number with its name and where to see more.
type figure struct {
	Label, Link string
	N           int
	Bad         bool // unless it is zero
}

// failedLink lists the runs that failed in the last 24 hours.
const failedLink = "/runs?since=24h&state=failed"

const (
	needsRuns   = 10 // runs of a kind that are listed
	needsMost   = 40
	needsFailed = 200 // failed runs that are grouped
)

// today shows the overview: what needs a person, the last 24 hours.
func (c *Console) today(q *request) error {
	j := c.options.Journal
	counts, err := j.Counts(q.ctx(), journal.CountFilter{Since: q.now.Add(-23 * time.Hour)})
	if err != nil {
		return err
	}
	standing, err := j.CountRuns(q.ctx())
	if err != nil {
		return err
	}
	needs, err := c.needs(q)
	if err != nil {
		return err
	}
	sum := func(what journal.CountKind, details ...string) (n int) {
		for _, one := range counts {
			for _, d := range details {
				if one.What == what && (d == one.Detail || d == "*") {
					n += one.N
				}
			}
		}
		return n
	}
	w := q.words()
	p := todayPage{
		Figures: []figure{
			{Label: w.T("today.runs"), N: sum(journal.CountRuns, "*"), Link: "/runs?since=24h"},
			{Label: w.T("today.effects"), N: sum(journal.CountEffects, "*"), Link: "/runs?since=24h&state=done"},
			{Label: w.T("today.failures"), N: sum(journal.CountRuns, string(journal.FailedRun)), Link: failedLink, Bad: true},
			{Label: w.T("today.waiting"), N: standing[journal.Waiting], Link: "/runs?state=waiting"},
			{Label: w.T("today.held"), N: standing[journal.Held], Link: "/runs?state=held", Bad: true},
			{Label: w.T("today.uncertain"), N: standing[journal.Uncertain], Link: "/runs?state=uncertain", Bad: true},
		},
		Hours: picture.HoursOf(counts, c.at("", q.now), 24), Ends: picture.Ends, Acts: q.user.Role >= Operator, Here: "/",
	}
	p.Chart = picture.Hours(w, p.Hours)
	p.Needs = needs[:min(len(needs), needsMost)]
	p.More = len(needs) - len(p.Needs)
	if slices.ContainsFunc(needs, func(n need) bool { return n.Failed }) {
		p.Failed = "/runs?state=failed"
	}
	return q.show("today", "today", w.T("nav.today"), p)
}

// needs lists what needs a person, most urgent first.
func (c *Console) needs(q *request) ([]need, error) {
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return nil, err
	}
	var list []need
	names, err := q.heldLanes(holds)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		if n, ok := c.heldNeed(q, names, h); ok {
			list = append(list, n)
		}
	}
	outages, err := c.outageNeeds(q)
	if err != nil {
		return nil, err
	}
	list = append(list, outages...)
	for _, part := range []func(*request) ([]need, error){c.uncertainNeeds, c.failedNeeds} {
		found, err := part(q)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	list = append(list, c.brokenNeeds(q)...)
	list = append(list, c.checkNeeds(q)...)
	for i, n := range list {
		list[i].Key = cmp.Or(n.Key, n.Link+" "+n.Title)
	}
	return list, nil
}

// heldNeed is about a hold. A pause that the service asked for ends by itself.
func (c *Console) heldNeed(q *request, names *lanes, h journal.Hold) (need, bool) {
	w := q.words()
	n := need{Urgent: true, Detail: w.T("need.since", w.Moment(c.at(h.Workspace, h.Since))), Link: "/health"}
	if h.Reason != "" {
		n.Detail += ": " + w.Told(h.Reason, h.Why)
	}
	resume := *resumes(w, h)
	switch {
	case h.Kind == journal.HoldRate:
		return need{}, false
	case h.Kind == journal.HoldKey:
		n.Title, n.Detail = w.T("need.key", h.Workspace), n.Detail+". "+w.T("need.key.mend")
		return n, true
	case h.Lane != "":
		rule := c.ruleView(h.Workspace, h.Rule)
		n.Title, n.Link, n.Buttons = w.T("need.lane", rule.Name, names.of(h.Workspace, h.Lane).Label), rule.Link, []button{resume}
	case h.Rule != "":
		rule := c.ruleView(h.Workspace, h.Rule)
		n.Title, n.Link, n.Buttons = w.T("need.rule."+string(h.Kind), rule.Name), rule.Link, []button{resume}
	case h.Workspace != "":
		n.Title, n.Buttons = w.T("need.workspace", h.Workspace), []button{resume}
	default:
		n.Title, n.Buttons = w.T("need.everything"), []button{resume}
	}
	return n, true
}

// uncertainNeeds is about runs that only a person can let go on.
func (c *Console) uncertainNeeds(q *request) ([]need, error) {
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{State: journal.Uncertain, Limit: needsRuns})
	if err != nil {
		return nil, err
	}
	views, err := c.runViews(q, runs)
	if err != nil {
		return nil, err
	}
	w := q.words()
	var list []need
	for _, v := range views {
		if v.Asked != "" {
			continue // a request is pending already
		}
		n := need{Title: w.T("need.uncertain", v.Rule.Name, v.Lane.Label), Detail: v.Standing, Link: v.Link, Urgent: true}
		for _, what := range asksOf(journal.Uncertain) {
			if what != journal.AskCancel {
				n.Buttons = append(n.Buttons, button{Label: w.T("button." + string(what)), Action: fmt.Sprintf("/runs/%d/%s", v.ID, what)})
			}
		}
		list = append(list, n)
	}
	return list, nil
}

// differs is what differs between errors that are the same to people: ids and long numbers.
var differs = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\+?\d{5,}`)

// failedNeeds is about runs that failed and that nobody has dealt with, by rule and error.
func (c *Console) failedNeeds(q *request) (list []need, err error) {
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{State: journal.FailedRun, Limit: needsFailed})
	if err != nil {
		return nil, err
	}
	views, err := c.runViews(q, runs)
	if err != nil {
		return nil, err
	}
	groups := map[string][]runView{}
	var order []string
	for _, v := range views {
		if v.Asked != "" {
			continue // a request is pending already
		}
		key := v.Rule.Link + " " + differs.ReplaceAllString(v.Standing, "")
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], v)
	}
	for _, key := range order {
		n := failedNeed(q.words(), groups[key])
		n.Key = key
		list = append(list, n)
	}
	return list, nil
}

// failedNeed is about runs that failed in the same way, the newest first.
func failedNeed(w words.Language, group []runView) need {
	v, suffix, n := group[0], "", need{Failed: true}
	if len(group) == 1 {
		n.Title, n.Detail, n.Link = w.T("need.failed", v.Rule.Name, v.Lane.Label), v.Standing, v.Link
	} else {
		n.Title, n.Detail = w.T("need.failed.many", v.Rule.Name, w.Number(len(group))), w.T("need.failed.newest", w.Moment(v.Started), v.Lane.Label, v.Standing)
		n.Link, suffix = "/runs?state=failed&rule="+escapeQuery(v.Rule.ID), ".all"
	}
	var ids []string
	for _, v := range group {
		ids = append(ids, itoa(v.ID))
	}
	for _, what := range asksOf(journal.FailedRun) {
		n.Buttons = append(n.Buttons, button{Label: w.T("button." + string(what) + suffix), Action: "/failed/" + string(what), Fields: map[string]string{"runs": strings.Join(ids, " ")}})
	}
	return n
}

// brokenNeeds is about rules that are not in use as they are written.
func (c *Console) brokenNeeds(q *request) (list []need) {
	w := q.words()
	for _, space := range c.options.Workspaces {
		for _, b := range space.book().Set.Broken {
			place := filepath.Base(b.File) + ":" + strconv.Itoa(b.Line)
			n := need{Title: w.T("need.broken", engine.Harmless(firstOf(b.ID, place))), Link: "/rules", Urgent: true}
			if b.ID != "" {
				n.Link = c.ruleView(space.Name, b.ID).Link
			}
			for _, p := range b.Problems.In(w.RulesLanguage()) {
				if p.Severity == source.Error {
					n.Detail = fmt.Sprintf("%s:%d: %s", engine.Harmless(filepath.Base(p.File)), p.Line, engine.Harmless(p.Message))
					break
				}
			}
			list = append(list, n)
		}
	}
	return list
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// checkNeeds is about what the engine depends on.
func (c *Console) checkNeeds(q *request) (list []need) {
	found, _ := c.latestChecks(q)
	for _, one := range found {
		if !one.OK {
			n := need{Title: c.checkTitle(q, one), Detail: engine.Harmless(one.Detail), Link: "/health", Urgent: true}
			if b, ok := c.repairButton(q.words(), one); ok {
				n.Buttons = []button{b}
			}
			list = append(list, n)
		}
	}
	return list
}

// checkTitle says what a check found. The journal is of all workspaces.
func (c *Console) checkTitle(q *request, one Check) string {
	if one.Kind == CheckJournal {
		return q.words().T("need.check.journal")
	}
	return q.words().T("need.check."+string(one.Kind), one.Workspace)
}
