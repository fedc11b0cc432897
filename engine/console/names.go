package console

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/plain"
)

// A laneView is the customer concerned, by name if known.
type laneView struct {
	Label string
	Title string // the lane itself
	Link  string
}

type lanes struct {
	words words.Language
	known map[string]journal.Who // by workspace and lane
}

// lanesOf finds the names of lanes.
func (q *request) lanesOf(byWorkspace map[string][]string) (*lanes, error) {
	out := &lanes{q.words(), map[string]journal.Who{}}
	for workspace, list := range byWorkspace {
		who, err := q.console.options.Journal.Who(q.ctx(), workspace, list)
		if err != nil {
			return nil, err
		}
		for lane, w := range who {
			out.known[workspace+"\x00"+lane] = w
		}
	}
	return out, nil
}

// of returns a lane as a page shows it.
func (l *lanes) of(workspace, lane string) laneView {
	w := l.known[workspace+"\x00"+lane]
	v := laneView{Title: engine.Harmless(lane), Link: conversationLink(workspace, lane)}
	if v.Label = engine.Harmless(cmp.Or(w.Name, w.Phone, w.Protocol)); v.Label == "" {
		kind, id, _ := strings.Cut(lane, ":")
		v.Label = l.words.Or("lane.", kind)
		if !plain.IsUUID(id) {
			v.Label = strings.TrimSpace(v.Label + " " + words.Cut(engine.Harmless(id), 13))
		}
	}
	return v
}

func conversationLink(workspace, lane string) string {
	return "/conversation?" + url.Values{"workspace": {workspace}, "lane": {lane}}.Encode()
}

// A ruleView names a rule.
type ruleView struct {
	Workspace, ID, Name, Link string
	Many                      bool // there are several workspaces, so the page names this one
}

// ruleView returns a rule as pages name it: as its file does, else by its id.
func (c *Console) ruleView(workspace, id string) ruleView {
	v := ruleView{Workspace: workspace, ID: id, Name: engine.Harmless(id), Many: len(c.workspaces) > 1, Link: "/rules/" + url.PathEscape(workspace) + "/" + url.PathEscape(id)}
	if w := c.workspaces[workspace]; w != nil {
		if r := w.book().Set.Rule(id); r != nil && r.Name != "" {
			v.Name = engine.Harmless(r.Name)
		}
	}
	return v
}

// at returns a time in the zone of a workspace; of an unknown one, in that of the first.
func (c *Console) at(workspace string, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	if w := c.workspaces[workspace]; w != nil {
		return t.In(w.Location)
	}
	return t.In(c.options.Workspaces[0].Location)
}

// namesIn returns what gives the names of ids in a workspace.
func (c *Console) namesIn(workspace string) func(id string) string {
	if c.options.Names == nil {
		return nil
	}
	return func(id string) string { return c.options.Names(workspace, id) }
}

// An optionView is one of several values to choose from.
type optionView struct {
	Value, Label string
	Chosen       bool
}

// ruleChoice lists the known rules by name, for a select; of many, those of the rows. A rule that
// was requested and no longer exists stays selected.
func (c *Console) ruleChoice(chosen string, items []activityItem) (list []optionView, many bool) {
	seen, listed, all := map[string]bool{}, map[string]bool{chosen: true}, 0
	for _, w := range c.options.Workspaces {
		all += len(w.book().Set.Rules)
	}
	many = all > ruleChoices
	for _, item := range items {
		if item.run != nil {
			listed[item.run.Rule] = true
			continue
		}
		for _, v := range item.event.Verdicts {
			listed[v.Rule] = true
		}
	}
	add := func(id, name string) {
		if id == "" || seen[id] {
			return
		}
		seen[id] = true
		list = append(list, optionView{id, words.Cut(name, 60), id == chosen})
	}
	for _, w := range c.options.Workspaces {
		set := w.book().Set
		for _, r := range set.Rules {
			if !many || listed[r.ID] {
				add(r.ID, c.ruleView(w.Name, r.ID).Name)
			}
		}
		for _, b := range set.Broken {
			add(b.ID, engine.Harmless(b.ID))
		}
	}
	add(chosen, engine.Harmless(chosen))
	return list, many
}

// ruleChoices is how many rules a filter offers. Of more it offers those of the rows that it is
// for.
const ruleChoices = 200

// brokenOf returns what is wrong with a rule, or nil.
func brokenOf(set *rules.Set, id string) *rules.Broken {
	for i := range set.Broken {
		if set.Broken[i].ID == id {
			return &set.Broken[i]
		}
	}
	return nil
}

// ruleVersion returns an earlier version of a rule, or nil.
func (c *Console) ruleVersion(q *request, w *Workspace, id, version string) *rules.Rule {
	source, err := c.options.Journal.Version(q.ctx(), version)
	if err != nil {
		return nil
	}
	set, _ := rules.Compile([]*rules.File{rules.Parse(id+".yaml", []byte(source))}, rules.Options{Catalog: w.catalog()})
	return set.Rule(id)
}
