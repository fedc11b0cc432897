package console

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/quandohq/quando/engine"
)

// variablesPage lists what rules share: the variables of their files, and calendars.
type variablesPage struct {
	Variables []sharedView
	Calendars []sharedView
}

// A sharedView is something that rules use.
type sharedView struct {
	Name, Value, File string
	Rules             []ruleView
}

// variables lists the variables and calendars that rules use, each with these rules.
func (c *Console) variables(q *request) error {
	var p variablesPage
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		set := w.book().Set
		index := c.index.of(w.Name, set)
		for _, r := range set.Rules {
			view := c.ruleView(w.Name, r.ID)
			for _, v := range index[r].vars {
				// A variable belongs to its file.
				p.Variables = addShared(p.Variables, sharedView{Name: engine.Harmless(v.name), Value: engine.Harmless(v.value), File: r.File}, view)
			}
			for _, name := range index[r].calendars {
				p.Calendars = addShared(p.Calendars, sharedView{Name: engine.Harmless(name), File: w.Name}, view)
			}
		}
	}
	for _, list := range [][]sharedView{p.Variables, p.Calendars} {
		slices.SortStableFunc(list, func(a, b sharedView) int { return cmp.Compare(a.Name, b.Name) })
		for i := range list {
			list[i].File = engine.Harmless(filepath.Base(list[i].File))
		}
	}
	return q.show("variables", "rules", q.words().T("variables.title"), p)
}

// addShared adds a rule to what it uses.
func addShared(list []sharedView, v sharedView, rule ruleView) []sharedView {
	at := slices.IndexFunc(list, func(other sharedView) bool { return other.Name == v.Name && other.File == v.File })
	if at < 0 {
		at, list = len(list), append(list, v)
	}
	list[at].Rules = append(list[at].Rules, rule)
	return list
}
