package studio

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/form"
)

// A made is a name that is made up for the result of a step that has none.
type made struct {
	step *form.Step
	name string
}

// WithNames returns a form in which every step whose result can be used has a name.
func (m *Maker) WithNames(f form.Form) form.Form {
	f, list := m.made(f)
	for _, one := range list {
		one.step.ID = one.name
	}
	return f
}

// NameUsed returns a form in which the steps have names whose results are used by those that
// WithNames gives them. A person who chooses a result need not think of a name for it.
func (m *Maker) NameUsed(f form.Form) form.Form {
	f, list := m.made(f)
	if len(list) == 0 {
		return f
	}
	texts := m.expressions(f)
	for _, one := range list {
		used := regexp.MustCompile(`(^|[^\w.])(steps\.)?` + one.name + `\b`)
		if slices.ContainsFunc(texts, used.MatchString) {
			one.step.ID = one.name
		}
	}
	return f
}

// made makes up names, by what a step brings. It returns a copy of the form that they lead into.
func (m *Maker) made(f form.Form) (form.Form, []made) {
	lacks := false
	eachStep(f, func(s *form.Step) { lacks = lacks || s.ID == "" && m.Knows("name."+s.Verb) })
	if !lacks {
		return f, nil
	}
	root, err := plain(f)
	if err != nil {
		return f, nil
	}
	copied, err := formOf(root)
	if err != nil {
		return f, nil
	}
	taken := map[string]bool{}
	eachStep(copied, func(s *form.Step) {
		taken[s.ID] = true
		for _, a := range s.Args {
			if s.Verb == "for_each" && a.Name == "as" {
				taken[a.Text] = true
			}
			for _, field := range a.Fields {
				taken[field.Name] = taken[field.Name] || s.Verb == "set"
			}
		}
	})
	var list []made
	eachStep(copied, func(s *form.Step) {
		if s.ID != "" || !m.Knows("name."+s.Verb) {
			return
		}
		base := m.T("name." + s.Verb)
		name := base
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		taken[name] = true
		list = append(list, made{s, name})
	})
	return copied, list
}

// eachStep goes through all steps of a form, in their order.
func eachStep(f form.Form, fn func(*form.Step)) {
	var walk func([]form.Step)
	walk = func(list []form.Step) {
		for i := range list {
			fn(&list[i])
			for _, a := range list[i].Args {
				walk(a.Steps)
				for _, b := range a.Branches {
					walk(b.Do)
				}
			}
		}
	}
	walk(f.Do)
	walk(f.OnError)
}

var (
	inBraces = regexp.MustCompile(`\{\{.*?\}\}`)                // an expression in a text
	literals = regexp.MustCompile("\"[^\"]*\"|'[^']*'|`[^`]*`") // texts in an expression, which name nothing
)

// expressions returns the expressions of the steps of a form.
func (m *Maker) expressions(f form.Form) (texts []string) {
	text := func(t string, whole bool) {
		if whole && !strings.Contains(t, "{{") {
			texts = append(texts, t)
		}
		texts = append(texts, inBraces.FindAllString(t, -1)...)
	}
	var args func([]form.Arg, []form.Argument)
	args = func(list []form.Arg, known []form.Argument) {
		for _, a := range list {
			k := argumentNamed(known, a.Name)
			text(a.Text, k != nil && (k.Kind == "expression" || k.Kind == "time"))
			text(a.YAML, false)
			for _, item := range a.List {
				text(item, false)
			}
			for _, b := range a.Branches {
				text(b.If, true)
			}
			args(a.Fields, nil)
		}
	}
	eachStep(f, func(s *form.Step) {
		text(s.If, true)
		if verb := m.verb(s.Verb); verb != nil {
			args(s.Args, verb.Args)
		}
	})
	for i, t := range texts {
		texts[i] = literals.ReplaceAllString(t, `""`)
	}
	return texts
}
