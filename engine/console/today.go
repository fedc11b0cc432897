package console

import (
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
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

const needsMost = 40

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
	c.counted.set(len(needs), q.now)
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
	items, err := c.attention.Items(q.ctx(), q.now)
	if err != nil {
		return nil, err
	}
	byWorkspace := map[string][]string{}
	for _, i := range items {
		if i.Lane != "" {
			byWorkspace[i.Workspace] = append(byWorkspace[i.Workspace], i.Lane)
		}
	}
	names, err := q.lanesOf(byWorkspace)
	if err != nil {
		return nil, err
	}
	var list []need
	for _, i := range items {
		n := need{Key: i.Key, Title: i.Title(q.words().RulesLanguage(), names.of(i.Workspace, i.Lane).Label), Link: "/health", Urgent: i.Kind != attention.Failed}
		if i.Rule != "" && i.Outage == nil {
			n.Link = c.ruleView(i.Workspace, i.Rule).Link
		}
		switch i.Kind {
		case attention.Stopped:
			c.heldNeed(q, &n, i.Hold)
		case attention.Outage:
			c.outageNeed(q, &n, i.Outage)
		case attention.Uncertain:
			c.uncertainNeed(q, &n, names, i.Runs[0])
		case attention.Failed:
			c.failedNeed(q, &n, names, i.Runs)
		case attention.Broken:
			brokenNeed(q.words(), &n, i.Broken)
		case attention.Unwell:
			n.Detail = engine.Harmless(i.Check.Detail)
			if b, ok := c.repairButton(q.words(), *i.Check); ok {
				n.Buttons = []button{b}
			}
		}
		list = append(list, n)
	}
	return list, nil
}

// heldNeed is about a hold.
func (c *Console) heldNeed(q *request, n *need, h *journal.Hold) {
	w := q.words()
	n.Detail = w.T("need.since", w.Moment(c.at(h.Workspace, h.Since)))
	if h.Reason != "" {
		n.Detail += ": " + w.Told(h.Reason, h.Why)
	}
	if h.Kind == journal.HoldKey {
		n.Detail += ". " + w.T("need.key.mend")
		return
	}
	n.Buttons = []button{*resumes(w, *h)}
}

// uncertainNeed is about a run that only a person can let go on.
func (c *Console) uncertainNeed(q *request, n *need, names *lanes, r *journal.Run) {
	n.Detail, n.Link = c.standing(q, r, names.of(r.Workspace, r.Home).Label), "/runs/"+itoa(r.ID)
	for _, what := range asksOf(journal.Uncertain) {
		if what != journal.AskCancel {
			n.Buttons = append(n.Buttons, button{Label: q.words().T("button." + string(what)), Action: fmt.Sprintf("/runs/%d/%s", r.ID, what)})
		}
	}
}

// failedNeed is about runs that failed in the same way, the newest first.
func (c *Console) failedNeed(q *request, n *need, names *lanes, group []*journal.Run) {
	w, r, suffix := q.words(), group[0], ""
	n.Failed, n.Detail, n.Link = true, c.standing(q, r, names.of(r.Workspace, r.Home).Label), "/runs/"+itoa(r.ID)
	if len(group) > 1 {
		n.Detail = w.T("need.failed.newest", w.Moment(c.at(r.Workspace, r.StartedAt)), names.of(r.Workspace, r.Home).Label, n.Detail)
		n.Link, suffix = "/runs?state=failed&rule="+escapeQuery(r.Rule), ".all"
	}
	var ids []string
	for _, r := range group {
		ids = append(ids, itoa(r.ID))
	}
	for _, what := range asksOf(journal.FailedRun) {
		n.Buttons = append(n.Buttons, button{Label: w.T("button." + string(what) + suffix), Action: "/failed/" + string(what), Fields: map[string]string{"runs": strings.Join(ids, " ")}})
	}
}

// brokenNeed is about a rule that is not in use as it is written.
func brokenNeed(w words.Language, n *need, b *rules.Broken) {
	if b.ID == "" {
		n.Link = "/rules"
	}
	for _, p := range b.Problems.In(w.RulesLanguage()) {
		if p.Severity == source.Error {
			n.Detail = fmt.Sprintf("%s:%d: %s", engine.Harmless(filepath.Base(p.File)), p.Line, engine.Harmless(p.Message))
			break
		}
	}
}
