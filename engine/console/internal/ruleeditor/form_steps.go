package ruleeditor

import (
	"fmt"
	"slices"

	"github.com/quandohq/quando/rules/form"
)

// steps are the fields of a list of steps.
func (m *FormMaker) steps(path string, list []form.Step) Steps {
	v := Steps{Path: path, Verbs: m.verbs()}
	for i, s := range list {
		v.Steps = append(v.Steps, m.step(fmt.Sprintf("%s/%d", path, i), s, i, len(list)))
	}
	return v
}

// step are the fields of a step: its arguments, and those that it needs.
func (m *FormMaker) step(path string, s form.Step, i, of int) Step {
	v := Step{Path: path, N: i + 1, Verb: s.Verb, Words: m.Or("verb.", s.Verb), First: i == 0, Last: i == of-1}
	if s.Verb == "" {
		v.Words = m.T("form.yaml_step")
		v.YAML = &Field{Path: path + "/yaml", Label: "YAML", Kind: "yaml", Value: s.YAML}
		return v
	}
	v.If = m.expression(path+"/if", m.T("form.only_if"), s.If)
	verb := m.verb(s.Verb)
	if verb == nil {
		return v
	}
	v.Fields = m.arguments(path+"/args", verb.Args, s.Args, false, append(verb.OneOf, verb.Main)...)
	for _, a := range verb.Args {
		if !slices.ContainsFunc(v.Fields, func(f Field) bool {
			return slices.ContainsFunc(f.Hidden, func(h Hidden) bool { return h.Value == a.Name })
		}) {
			v.Add = append(v.Add, Option{Value: a.Name, Label: m.label(a.Name)})
		}
	}
	return v
}

// arguments are the fields of arguments: those that are given, and behind them those that are
// wanted, or all of them, without a value.
func (m *FormMaker) arguments(path string, known []form.Argument, given []form.Arg, all bool, wanted ...string) []Field {
	var list []Field
	at := func(i int) string { return fmt.Sprintf("%s/%d", path, i) }
	for i, a := range given {
		k := slices.IndexFunc(known, func(k form.Argument) bool { return k.Name == a.Name })
		if k < 0 {
			list = append(list, m.unknown(at(i), a))
			continue
		}
		list = append(list, m.argument(at(i), known[k], a))
	}
	for _, k := range known {
		is := slices.ContainsFunc(given, func(a form.Arg) bool { return a.Name == k.Name })
		if !is && (all || k.Required || slices.Contains(wanted, k.Name)) {
			list = append(list, m.argument(at(len(list)), k, form.Arg{Name: k.Name, As: k.As}))
		}
	}
	return list
}

// argument is the field of one argument.
func (m *FormMaker) argument(path string, k form.Argument, a form.Arg) Field {
	f := Field{Path: path + "/text", Label: m.label(k.Name), Kind: "line", Value: a.Text, Required: k.Required, Longest: k.Longest, Hidden: []Hidden{{path + "/name", k.Name}}, Removes: !k.Required}
	if m.Code == "en" {
		f.Hint = k.Summary
	}
	as := func(way form.As) { f.Hidden = append(f.Hidden, Hidden{path + "/as", string(way)}) }
	switch {
	case a.As == form.AsYAML || k.Kind == "data" && a.As == form.AsText && a.Text == "":
		as(form.AsYAML)
		f.Path, f.Kind, f.Value = path+"/yaml", "yaml", a.YAML
	case a.As == form.AsNull:
		as(form.AsNull)
		f.Path, f.Kind, f.Value = "", "line", m.T("form.nothing")
	case a.As == form.AsSteps:
		as(form.AsSteps)
		f.Kind, f.Path, f.Steps = "steps", path+"/steps", m.steps(path+"/steps", a.Steps)
	case a.As == form.AsBranches:
		as(form.AsBranches)
		f.Kind, f.Path, f.Branches = "branches", path+"/branches", m.branches(path+"/branches", a.Branches)
	case a.As == form.AsFields:
		as(form.AsFields)
		f.Kind, f.Path, f.Fields = "fields", path+"/fields", m.arguments(path+"/fields", k.Fields, a.Fields, len(k.Fields) > 0)
	case a.As == form.AsList:
		as(form.AsList)
		f.Kind, f.Path, f.Free = "several", path+"/list", true
		f.Options = m.several(k, a.List)
	case k.Kind == "choice" || k.Kind == "flag":
		values := k.Values
		if k.Kind == "flag" {
			values = []string{"true", "false"}
		}
		f.Kind, f.Options = "choice", []Option{{"", "–", a.Text == ""}}
		for _, v := range values {
			f.Options = append(f.Options, Option{v, m.Or("value.", v), v == a.Text})
		}
		f = f.withValue()
	case k.Kind == "text":
		f.Kind = "long"
	case k.Kind == "expression":
		f.Suggestions = "conditions"
	case k.Kind == "span":
		f.Suggestions = "span"
	case k.Refers != "":
		f.Suggestions = k.Refers
	}
	return f
}

// several are the names that can be chosen, and those that are.
func (m *FormMaker) several(k form.Argument, chosen []string) []Option {
	var list []Option
	if k.Kind == "events" {
		for _, e := range m.Catalogue.Events {
			list = append(list, Option{e.Name, m.Or("when.", e.Name), slices.Contains(chosen, e.Name)})
		}
	}
	for _, name := range m.named(k.Refers) {
		list = append(list, Option{name, name, slices.Contains(chosen, name)})
	}
	for _, name := range chosen {
		if !slices.ContainsFunc(list, func(o Option) bool { return o.Value == name }) {
			list = append(list, Option{name, name, true})
		}
	}
	return list
}

// unknown is the field of an argument that the language does not describe.
func (m *FormMaker) unknown(path string, a form.Arg) Field {
	f := Field{Path: path + "/text", Label: a.Name, Kind: "line", Value: a.Text, Hidden: []Hidden{{path + "/name", a.Name}}, Removes: true}
	if a.As != form.AsText {
		f.Path, f.Value = "", "…"
	}
	return f
}

func (m *FormMaker) branches(path string, list []form.Branch) []Branch {
	var out []Branch
	for i, b := range list {
		at := fmt.Sprintf("%s/%d", path, i)
		out = append(out, Branch{Path: at, Else: b.Else, If: m.expression(at+"/if", m.T("rule.if"), b.If), Steps: m.steps(at+"/do", b.Do)})
	}
	return out
}
