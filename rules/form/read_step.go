package form

import (
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// steps reads a list of steps. One without fields is YAML.
func (r reader) steps(n *source.Node) ([]Step, bool) {
	if n.Kind != source.List {
		return []Step{}, false
	}
	steps := []Step{}
	for _, item := range n.Items {
		s, ok := r.step(item)
		if !ok {
			s = Step{YAML: r.yaml(item)}
		}
		steps = append(steps, s)
	}
	return steps, true
}

// step reads a step, and reports whether it has fields.
func (r reader) step(n *source.Node) (s Step, ok bool) {
	if n.Kind == source.Scalar {
		return Step{Verb: n.Value}, r.catalog.Verb(n.Value) != nil
	}
	if n.Kind != source.Mapping || n.Broken {
		return s, false
	}
	for _, p := range n.Pairs {
		switch text := s.text(p.Key.Value); {
		case text != nil:
			*text, ok = scalar(p.Value)
			ok = ok && *text != ""
		case p.Key.Value == "retry":
			s.Retry = &Retry{}
			ok = record(p.Value, []string{"times", "for"}, []*string{&s.Retry.Times, &s.Retry.For})
		default:
			schema := r.catalog.Verb(p.Key.Value)
			if ok = schema != nil && s.Verb == ""; ok {
				s.Verb = p.Key.Value
				s.Args, ok = r.args(p.Value, schema)
			}
		}
		if !ok {
			return s, false
		}
	}
	return s, s.Verb != ""
}

// args reads what stands behind a verb: its main argument, or a mapping of arguments.
func (r reader) args(n *source.Node, schema *rules.Schema) ([]Arg, bool) {
	main := argNamed(schema.Args, schema.Main)
	switch {
	case n.Kind == source.Null && (main == nil || !main.Null):
		return nil, true
	case main != nil && (n.Kind != source.Mapping || takesMapping(main)):
		return []Arg{r.arg(n, main.Name, main)}, true
	case n.Kind != source.Mapping || n.Broken || (len(schema.Args) == 0 && len(n.Pairs) > 0):
		return nil, false
	}
	return r.pairs(n, schema.Args), true
}

// takesMapping reports whether a main argument may be a mapping without being named.
func takesMapping(a *rules.Arg) bool {
	return a.Kind == rules.KindSettings || a.Kind == rules.KindBranches
}

func argNamed(args []rules.Arg, name string) *rules.Arg {
	for i := range args {
		if args[i].Name == name {
			return &args[i]
		}
	}
	return nil
}

func (r reader) pairs(n *source.Node, args []rules.Arg) []Arg {
	var out []Arg
	for _, p := range n.Pairs {
		out = append(out, r.arg(p.Value, p.Key.Value, argNamed(args, p.Key.Value)))
	}
	if r.sorted {
		slices.SortFunc(out, func(a, b Arg) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// part describes a value of a mapping whose names the rule chooses.
func part(a *rules.Arg) *rules.Arg {
	if a.Kind == rules.KindHeaders {
		return &rules.Arg{Kind: rules.KindText}
	}
	return &rules.Arg{Kind: rules.KindData}
}

// arg reads an argument. An unknown one has no fields.
func (r reader) arg(n *source.Node, name string, a *rules.Arg) Arg {
	out := Arg{Name: name}
	if n.Kind == source.Null {
		out.As = AsNull
		return out
	}
	if a == nil || !r.value(&out, n, a) {
		return Arg{Name: name, As: AsYAML, YAML: r.yaml(n)}
	}
	return out
}

// value reads the value of an argument by its kind, and reports whether it has fields.
func (r reader) value(out *Arg, n *source.Node, a *rules.Arg) (ok bool) {
	_, isText := n.Any().(string)
	switch a.Kind {
	case rules.KindNames, rules.KindEvent, rules.KindNumbers:
		if n.Kind == source.Scalar && a.Kind == rules.KindNames && isTemplate(n.Value) {
			break // an expression may give the whole list
		}
		out.As = AsList
		out.List, ok = texts(n)
		return ok
	case rules.KindFlag:
		if _, isFlag := flag(n.Value); isFlag && n.Quoted {
			return false // a text, which is no flag
		}
	case rules.KindData:
		if n.Kind == source.Scalar && !isText {
			return false
		}
	case rules.KindFields, rules.KindTarget:
		if n.Kind == source.Mapping {
			out.As, out.Fields = AsFields, r.pairs(n, a.Fields)
			return !n.Broken
		}
	case rules.KindSettings, rules.KindHeaders, rules.KindQuery:
		if n.Kind == source.Mapping {
			out.As = AsFields
			for _, p := range n.Pairs {
				out.Fields = append(out.Fields, r.arg(p.Value, p.Key.Value, part(a)))
			}
			return !n.Broken
		}
		return false
	case rules.KindSteps:
		out.As = AsSteps
		out.Steps, ok = r.steps(n)
		return ok
	case rules.KindBranches:
		out.As = AsBranches
		out.Branches, ok = r.branches(n)
		return ok
	}
	out.Text, ok = scalar(n)
	return ok
}

// flag returns what a text says that is true or false.
func flag(s string) (value, ok bool) {
	s = strings.ToLower(s)
	return s == "true", s == "true" || s == "false"
}

func (r reader) branches(n *source.Node) ([]Branch, bool) {
	if n.Kind != source.List {
		return nil, false
	}
	var out []Branch
	for _, item := range n.Items {
		var b Branch
		keys := 0
		for _, p := range item.Pairs {
			ok := false
			switch p.Key.Value {
			case "if":
				b.If, ok = scalar(p.Value)
				ok = ok && b.If != ""
			case "else":
				b.Else = true
				fallthrough
			case "do":
				b.Do, ok = r.steps(p.Value)
				keys++
			}
			if !ok {
				return nil, false
			}
		}
		if keys != 1 || item.Broken || b.Else == (b.If != "") {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}
