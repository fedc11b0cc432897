package blueprint

import (
	"slices"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// Check compiles the template's rules with the defaults of its blanks: a template must be right
// with them. Problems stand where the template has them.
func (t *Template) Check(o rules.Options) (*rules.Set, rules.Problems) {
	values, _ := t.check(nil)
	text, err := t.file.Edit(t.want(values))
	if err != nil {
		return &rules.Set{}, rules.Problems{t.file.Root.At(source.Error, say("the blanks cannot be filled in: %v", err), nil)}
	}
	return rules.Compile([]*rules.File{rules.ParseTemplate(t.file.Name, text)}, o)
}

// Needs is what a template's rules use of the service.
type Needs struct {
	Scopes    []string
	Calendars []string // that the file describes
	Names     []Name   // labels, sectors, people, channels, boards and stages
}

// A Name is something of the service that a rule names.
type Name struct{ Kind, Name string }

// NeedsOf returns what the rules of a set use of the service.
func NeedsOf(set *rules.Set) (n Needs) {
	for _, r := range set.Rules {
		n.Scopes = append(append(n.Scopes, r.Scopes...), r.Reads...)
	}
	for name := range set.Calendars {
		n.Calendars = append(n.Calendars, name)
	}
	for _, u := range set.Names() {
		if name := (Name{u.Kind, u.Name}); !slices.Contains(n.Names, name) {
			n.Names = append(n.Names, name)
		}
	}
	slices.Sort(n.Scopes)
	n.Scopes = slices.Compact(n.Scopes)
	slices.Sort(n.Calendars)
	return n
}
