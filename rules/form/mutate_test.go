package form_test

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/formtest"
)

// A mutation is one change that a person can make in a form.
type mutation struct {
	key   string // of the rule that it is about
	takes bool   // it takes something away, and the comments about that
	make  func()
}

// A mutator collects every change that could be made to a form.
type mutator struct {
	*formtest.Maker
	key string
	all []mutation
}

func (m *mutator) add(takes bool, change func()) {
	m.all = append(m.all, mutation{m.key, takes, change})
}

// mutate makes one change to a form and returns it.
func mutate(r *rand.Rand, f *form.Form) mutation {
	m := &mutator{Maker: &formtest.Maker{Rand: r, Catalog: catalog, IDs: 1000}}
	m.form(f)
	change := formtest.One(r, m.all...)
	change.make()
	return change
}

func (m *mutator) form(f *form.Form) {
	for key, field := range map[string]struct {
		at   *string
		pool []string
	}{
		"id": {&f.ID, []string{"another-id", "007", "on"}}, "name": {&f.Name, formtest.Hard}, "description": {&f.Description, formtest.Hard}, "stage": {&f.Stage, []string{"draft", "live"}},
		"sample": {&f.Sample, []string{"50%"}}, "from": {&f.From, []string{"any"}}, "claimed": {&f.Claimed, []string{"run"}}, "internal": {&f.Internal, []string{"run"}}, "by": {&f.By, formtest.Expressions}, "mode": {&f.Mode, []string{"restart"}}, "max": {&f.Max, formtest.Counts},
	} {
		if _, held := f.YAML[key]; held {
			continue
		}
		m.key = key
		m.text(field.at, key != "id", field.pool...)
	}
	m.key = "tags"
	m.texts(&f.Tags, true, formtest.Hard...)
	m.key = "if"
	m.texts(&f.If, true, formtest.Expressions...)
	m.key = "when"
	m.when(&f.When)
	m.key = "gather"
	pointer(m, &f.Gather, form.Gather{Quiet: "1m"})
	if g := f.Gather; g != nil {
		m.text(&g.AtMost, true, formtest.Durations...)
		m.text(&g.Quiet, false, formtest.Durations...)
	}
	m.key = "limit"
	pointer(m, &f.Limit, form.Limit{Times: "2", Per: "1h"})
	if l := f.Limit; l != nil {
		m.text(&l.Times, false, formtest.Counts...)
		m.text(&l.By, true, formtest.Expressions...)
	}
	m.key = "late"
	pointer(m, &f.Late, form.Late{SkipAfter: "1h"})
	m.key = "cancel_on"
	m.matches(&f.CancelOn)
	m.key = "do"
	m.steps(&f.Do, true)
	m.key = "on_error"
	m.steps(&f.OnError, true)
	m.key = ""
	m.add(false, func() {
		f.YAML = maps.Clone(f.YAML)
		if f.YAML == nil {
			f.YAML = map[string]string{}
		}
		f.YAML["extra"] = formtest.One(m.Rand, formtest.Snippets...)
	})
}

// text sets a text, or takes it away.
func (m *mutator) text(at *string, optional bool, pool ...string) {
	was := *at
	m.add(false, func() {
		for *at == was {
			*at = formtest.One(m.Rand, append(pool, "another")...)
		}
	})
	if optional && was != "" {
		m.add(true, func() { *at = "" })
	}
}

func pointer[T any](m *mutator, at **T, value T) {
	if *at == nil {
		m.add(false, func() { *at = &value })
	} else {
		m.add(true, func() { *at = nil })
	}
}

// list changes the order of a list, takes from it and adds to it.
func list[T any](m *mutator, at *[]T, canBeEmpty bool, value func() T) {
	m.add(false, func() { *at = slices.Insert(slices.Clone(*at), m.IntN(len(*at)+1), value()) })
	if len(*at) > 1 || canBeEmpty && len(*at) == 1 {
		m.add(true, func() { i := m.IntN(len(*at)); *at = slices.Delete(slices.Clone(*at), i, i+1) })
	}
	if len(*at) > 1 {
		m.add(false, func() {
			moved := slices.Clone(*at)
			i, j := m.IntN(len(moved)), m.IntN(len(moved))
			moved[i], moved[j] = moved[j], moved[i]
			*at = moved
		})
	}
}

func (m *mutator) texts(at *[]string, canBeEmpty bool, pool ...string) {
	list(m, at, canBeEmpty, func() string { return formtest.One(m.Rand, pool...) })
	for i := range *at {
		m.text(&(*at)[i], false, pool...)
	}
}

func (m *mutator) when(w *form.When) {
	m.add(true, func() { *w = m.When() })
	if w.Schedule == nil {
		m.texts(&w.Events, false, formtest.Events...)
		return
	}
	m.text(&w.Schedule.Timezone, true, "UTC")
	if len(w.Schedule.At) > 0 {
		m.texts(&w.Schedule.At, false, "10:00", "9:15")
	}
	m.args(&w.Schedule.Where, filtersOf(w.Schedule.Each), 0)
}

func (m *mutator) matches(at *[]form.Match) {
	list(m, at, true, m.Match)
	for i := range *at {
		m.text(&(*at)[i].If, true, formtest.Expressions...)
		m.texts(&(*at)[i].Events, false, formtest.Events...)
	}
}

func (m *mutator) steps(at *[]form.Step, canBeEmpty bool) {
	list(m, at, canBeEmpty, func() form.Step {
		if !formtest.Often(m.Rand, 4) {
			return form.Step{YAML: formtest.One(m.Rand, "log: x # why\nif: true\n", "unknown_verb: { a: [1, 2] }", "[not, a, step]", "- odd\n- step", "send_message:\n  text: |\n    one\n    two")}
		}
		return m.Step(1)
	})
	for i := range *at {
		m.aStep(&(*at)[i])
	}
}

func (m *mutator) aStep(s *form.Step) {
	m.add(true, func() { *s = m.Step(1) })
	if s.YAML != "" {
		return
	}
	m.text(&s.ID, true, "an_id")
	m.text(&s.If, true, formtest.Expressions...)
	m.text(&s.OnError, true, "stop", "continue")
	m.text(&s.Enabled, true, "false")
	if s.Verb == "send_message" {
		m.text(&s.EvenIfMuted, true, "true", "false")
	}
	pointer(m, &s.Retry, form.Retry{Times: "4"})
	m.args(&s.Args, catalog.Verb(s.Verb).Args, 1)
}

func (m *mutator) args(at *[]form.Arg, schema []rules.Arg, depth int) {
	for _, a := range schema {
		i := slices.IndexFunc(*at, func(b form.Arg) bool { return b.Name == a.Name })
		if i < 0 {
			m.add(false, func() { *at = append(slices.Clone(*at), m.Arg(a, depth)) })
			continue
		}
		arg := &(*at)[i]
		m.add(true, func() { *at = slices.Delete(slices.Clone(*at), i, i+1) })
		m.add(true, func() { *arg = m.Arg(a, depth) })
		m.add(true, func() {
			*arg = form.Arg{Name: a.Name, As: form.AsYAML, YAML: formtest.One(m.Rand, formtest.Snippets...)}
		})
		switch arg.As {
		case form.AsText:
			if a.Kind == rules.KindText || a.Kind == rules.KindName || a.Kind == rules.KindData {
				m.text(&arg.Text, false, formtest.Hard...)
			}
		case form.AsList:
			m.texts(&arg.List, true, formtest.Hard...)
		case form.AsFields:
			if a.Kind == rules.KindSettings || a.Kind == rules.KindHeaders || a.Kind == rules.KindQuery {
				list(m, &arg.Fields, false, func() form.Arg { return form.Arg{Name: m.NewID("field"), Text: m.Text()} })
				break
			}
			m.args(&arg.Fields, a.Fields, depth)
		case form.AsSteps:
			m.steps(&arg.Steps, false)
		case form.AsBranches:
			list(m, &arg.Branches, false, func() form.Branch { return form.Branch{If: "true", Do: m.Steps(1, 0)} })
			for i := range arg.Branches {
				b := &arg.Branches[i]
				if !b.Else {
					m.text(&b.If, false, formtest.Expressions...)
				}
				m.steps(&b.Do, false)
			}
		}
	}
}
