package console

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/rules/source"
)

// An indexedRule is what a rule says and uses.
type indexedRule struct {
	text      string // folded, without secrets: its id, name, description, tags and every value
	vars      []indexedVar
	calendars []string
}

// An indexedVar is a variable that a rule uses.
type indexedVar struct{ name, value string }

// A ruleIndex caches what the rules of each workspace say. Reading one rule takes as long as a
// request for all of them may.
type ruleIndex struct {
	mu    sync.Mutex
	known map[string]map[*rules.Rule]indexedRule // by workspace
}

// of returns the index of a set. It forgets rules that are no longer in the set.
func (x *ruleIndex) of(workspace string, set *rules.Set) map[*rules.Rule]indexedRule {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, now := x.known[workspace], make(map[*rules.Rule]indexedRule, len(set.Rules))
	for _, r := range set.Rules {
		one, ok := was[r]
		if !ok {
			one = indexRule(r)
		}
		now[r] = one
	}
	if x.known == nil {
		x.known = map[string]map[*rules.Rule]indexedRule{}
	}
	x.known[workspace] = now
	return now
}

// indexRule reads a rule. Secrets are removed first: otherwise a search could guess them letter by
// letter.
func indexRule(r *rules.Rule) (one indexedRule) {
	parts := append([]string{r.ID, r.Name, r.Description}, r.Tags...)
	file, problems := source.Read(r.File, []byte(redact.File(r.Source())))
	if !problems.HasErrors() && file.Root != nil {
		for _, p := range file.Root.Pairs {
			switch p.Key.Value {
			case "vars":
				for _, v := range p.Value.Pairs {
					one.vars = append(one.vars, indexedVar{v.Key.Value, v.Value.Flow()})
				}
				parts = valuesOf(parts, p.Value)
			case "calendars":
				one.calendars = keysOf(p.Value)
				parts = append(parts, one.calendars...)
			case "rules":
				parts = valuesOf(parts, p.Value)
			}
		}
	}
	one.text = journal.FoldText(strings.Join(parts, " \n "))
	return one
}

func keysOf(n *source.Node) (keys []string) {
	for _, p := range n.Pairs {
		keys = append(keys, p.Key.Value)
	}
	return keys
}

// valuesOf appends every scalar below a node.
func valuesOf(list []string, n *source.Node) []string {
	if n.Kind == source.Scalar {
		return append(list, n.Value)
	}
	for _, item := range n.Items {
		list = valuesOf(list, item)
	}
	for _, p := range n.Pairs {
		list = valuesOf(list, p.Value)
	}
	return list
}

// matches reports whether a folded text holds every word of a folded query.
func matches(text, query string) bool {
	for word := range strings.FieldsSeq(query) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// purposes caches what rules are for, by their shape.
type purposes struct {
	mu    sync.Mutex
	known map[journal.RuleName]rulePurpose
}

type rulePurpose struct {
	rule    *rules.Rule
	purpose string
}

// of returns what a rule is for; empty is that its shape does not tell, or that it is gone.
func (p *purposes) of(w *Workspace, id string) string {
	if w == nil || w.catalog() == nil {
		return ""
	}
	r, name := w.book().Set.Rule(id), journal.RuleName{Workspace: w.Name, Rule: id}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[name]; ok && known.rule == r {
		return known.purpose
	}
	found := rulePurpose{rule: r}
	if r != nil {
		if fields, err := form.Read(w.catalog(), []byte(r.Source()), id); err == nil {
			found.purpose = studio.Purpose(fields)
		}
	}
	if p.known == nil {
		p.known = map[journal.RuleName]rulePurpose{}
	}
	p.known[name] = found
	return found.purpose
}

// variablesPage lists what rules share: the variables of their files, and calendars.
type variablesPage struct {
	Variables []sharedView
	Calendars []sharedView
}

// A sharedView is something that rules use.
type sharedView struct {
	Name, Value, File string
	Rules             ruleUsers
}

// ruleUsers are the rules that use something. A page names the first of them.
type ruleUsers []ruleView

const shownUsers = 50

// Shown returns those that are named.
func (u ruleUsers) Shown() []ruleView { return u[:min(len(u), shownUsers)] }

// More returns how many are not.
func (u ruleUsers) More() int { return len(u) - len(u.Shown()) }

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
