package console

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
)

// searchPage is what a search found.
type searchPage struct {
	Query  string
	Groups []hitGroup
	None   bool // something was asked for, and nothing found
}

// A hitGroup is what was found of one kind.
type hitGroup struct {
	Name string // of the kind
	Hits []hit
}

// A hit is one thing that was found.
type hit struct {
	Icon, Label, Detail, Link string
	At                        time.Time
}

// Bounds of a search: it answers while a person types, however much the journal holds.
const (
	searchText   = 100 // characters of a query
	searchHits   = 6   // of each kind
	searchLanes  = 3   // customers whose runs are listed
	searchEvents = 300 // newest events whose texts are searched
)

// search finds customers, rules, runs and recent messages. A request of a script gets the list
// alone.
func (c *Console) search(q *request) error {
	p := searchPage{Query: strings.TrimSpace(words.Cut(q.r.URL.Query().Get("q"), searchText))}
	if p.Query != "" {
		customers, runs, err := c.searchLanes(q, p.Query)
		if err != nil {
			return err
		}
		texts, err := c.searchMessages(q, p.Query)
		if err != nil {
			return err
		}
		for _, g := range []hitGroup{{"customers", customers}, {"rules", c.searchRules(p.Query)}, {"runs", runs}, {"messages", texts}} {
			if len(g.Hits) > 0 {
				p.Groups = append(p.Groups, g)
			}
		}
		p.None = len(p.Groups) == 0
	}
	if q.r.Header.Get("HX-Request") == "" {
		return q.show("search", "", q.words().T("search.title"), p)
	}
	var b bytes.Buffer
	if err := c.templates[q.lang].show(&b, "search", "hits", p); err != nil {
		return fmt.Errorf("what a search found: %w", err)
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = q.w.Write(b.Bytes()) // the client may have disconnected
	return nil
}

// searchLanes finds customers, the run with a number, and the newest runs of the first customers.
func (c *Console) searchLanes(q *request, text string) (customers, found []hit, err error) {
	lanes, err := c.options.Journal.FindLanes(q.ctx(), text, searchHits)
	if err != nil {
		return nil, nil, err
	}
	names := c.namesOf(q, lanes)
	for _, who := range lanes {
		v := names.of(who.Workspace, who.Lane)
		var details []string
		for _, detail := range []string{engine.Harmless(who.Phone), engine.Harmless(who.Protocol), c.spaceName(who.Workspace)} {
			if detail != "" && detail != v.Label {
				details = append(details, detail)
			}
		}
		customers = append(customers, hit{"user", v.Label, strings.Join(details, " · "), v.Link, time.Time{}})
	}
	var runs []*journal.Run
	if id, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64); err == nil && id > 0 {
		run, err := c.options.Journal.FindRun(q.ctx(), id)
		switch {
		case err == nil:
			runs = append(runs, run)
		case !errors.Is(err, journal.ErrNoRun):
			return nil, nil, err
		}
	}
	for _, who := range lanes[:min(len(lanes), searchLanes)] {
		newest, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{Workspace: who.Workspace, Lane: who.Lane, Limit: searchHits / searchLanes})
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, newest...)
	}
	views, err := c.runViews(q, runs)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range views {
		found = append(found, hit{"zap", v.Rule.Name, q.words().T("search.run", v.Lane.Label, q.words().Or("state.", string(v.State))), v.Link, v.Started})
	}
	return customers, found, nil
}

// searchRules finds rules by what they are called and, after these, by what they say.
func (c *Console) searchRules(text string) []hit {
	type ranked struct {
		hit
		named bool
	}
	var found []ranked
	folded := journal.FoldText(text)
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		set := w.book().Set
		add := func(id, says string) {
			v := c.ruleView(w.Name, id)
			if named := matches(journal.FoldText(v.Name+" "+id), folded); named || matches(says, folded) {
				found = append(found, ranked{hit{"rules", v.Name, c.spaceName(w.Name), v.Link, time.Time{}}, named})
			}
		}
		index := c.index.of(w.Name, set)
		for _, r := range set.Rules {
			add(r.ID, index[r].text)
		}
		for _, b := range set.Broken {
			if b.ID != "" && set.Rule(b.ID) == nil {
				add(b.ID, "")
			}
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int {
		switch {
		case a.named && !b.named:
			return -1
		case b.named && !a.named:
			return 1
		}
		return cmp.Compare(a.Label, b.Label)
	})
	var list []hit
	for _, one := range found[:min(len(found), searchHits)] {
		list = append(list, one.hit)
	}
	return list
}

// searchMessages finds texts among the newest events: the journal has no index of texts.
func (c *Console) searchMessages(q *request, text string) (list []hit, err error) {
	folded := journal.FoldText(text)
	events, err := c.options.Journal.ListEvents(q.ctx(), journal.EventFilter{Limit: searchEvents})
	if err != nil {
		return nil, err
	}
	var found []*journal.Event
	for _, e := range events {
		if m, ok := c.messageOf(e.Event); ok && len(found) < searchHits && matches(journal.FoldText(m.Text), folded) {
			found = append(found, e)
		}
	}
	views, err := c.eventViews(q, found)
	if err != nil {
		return nil, err
	}
	for i, v := range views {
		list = append(list, hit{"message", v.Text, v.Lane.Label, conversationLink(found[i].Workspace, found[i].Lane), v.Created})
	}
	return list, nil
}

// namesOf names lanes that were found.
func (c *Console) namesOf(q *request, found []journal.Who) *lanes {
	names := &lanes{q.words(), map[string]journal.Who{}}
	for _, who := range found {
		names.known[who.Workspace+"\x00"+who.Lane] = who
	}
	return names
}

// spaceName names a workspace, if there are several.
func (c *Console) spaceName(workspace string) string {
	if len(c.workspaces) > 1 {
		return workspace
	}
	return ""
}
