package form

import (
	"fmt"
	"slices"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// steps returns the target for a list of steps. It matches existing ones, also at another position.
func (w writer) steps(n *source.Node, old, list []Step) *source.Wanted {
	out := &source.Wanted{Old: n, Kind: source.List}
	var items []*source.Node
	if n != nil && n.Kind == source.List {
		items = n.Items
	} else {
		old = nil
	}
	for i, at := range pairUp(old, list, func(s Step) string { return s.Verb }) {
		if at < 0 {
			out.Items = append(out.Items, w.step(nil, Step{}, list[i]))
		} else {
			out.Items = append(out.Items, w.step(items[at], old[at], list[i]))
		}
	}
	return out
}

func (w writer) step(n *source.Node, old, s Step) *source.Wanted {
	switch {
	case n != nil && same(old, s):
		return source.Kept(n)
	case s.YAML != "":
		return &source.Wanted{Old: n, YAML: s.YAML}
	}
	schema := w.catalog.Verb(s.Verb)
	fields := mappingOf(n)
	if old.YAML != "" {
		fields = nil // of another shape
	}
	if fields == nil && s.isBare() && standsAlone(schema) {
		return &source.Wanted{Old: n, Kind: source.Scalar, Value: s.Verb, Loose: true}
	}
	want := make(map[string]*source.Wanted)
	verb := s.Verb
	if fields != nil {
		verb = old.Verb // the one in the file
	}
	if fields != nil && old.Verb == s.Verb {
		want[verb] = w.args(fields.Get(verb), old.Args, s.Args, schema)
	} else {
		want[verb] = w.args(nil, nil, s.Args, schema)
	}
	for _, key := range []string{"id", "if", "on_error", "even_if_muted", "enabled"} {
		if text := *s.text(key); text != "" {
			want[key] = word(fields.Get(key), text, key != "id")
		}
	}
	if r := s.Retry; r != nil {
		want["retry"] = recordOf(fields.Get("retry"), []string{"times", "for"}, []*string{&r.Times, &r.For})
	}
	pairs := merge(fields, want, []string{verb, "id", "if", "retry", "on_error", "even_if_muted", "enabled"}, false)
	for i := range pairs {
		if pairs[i].Key == verb && verb != s.Verb {
			pairs[i].Key, pairs[i].Old = s.Verb, verb
		}
	}
	return &source.Wanted{Old: n, Kind: source.Mapping, Pairs: pairs}
}

func (s *Step) isBare() bool {
	return len(s.Args) == 0 && s.ID == "" && s.If == "" && s.Retry == nil && s.OnError == "" && s.EvenIfMuted == "" && s.Enabled == ""
}

// standsAlone reports whether a verb without anything behind it has no arguments.
func standsAlone(schema *rules.Schema) bool {
	main := argNamed(schema.Args, schema.Main)
	return main == nil || !main.Null
}

// args returns the target for the arguments of a verb: the main argument alone, or a mapping of
// arguments.
func (w writer) args(n *source.Node, old, args []Arg, schema *rules.Schema) *source.Wanted {
	main := argNamed(schema.Args, schema.Main)
	mapped := n != nil && n.Kind == source.Mapping && (main == nil || !takesMapping(main))
	switch {
	case n != nil && same(old, args):
		return source.Kept(n)
	case len(args) == 0 && standsAlone(schema):
		return &source.Wanted{Old: n, Kind: source.Null, Loose: true}
	case len(args) == 1 && main != nil && args[0].Name == main.Name && !mapped && canStandAlone(args[0], main):
		if len(old) == 1 && n.Kind != source.Null {
			return w.arg(n, &old[0], args[0], main)
		}
		return w.arg(nil, nil, args[0], main).In(n)
	case mapped:
		return w.fields(n, old, args, schema.Args)
	}
	out := w.fields(nil, nil, args, schema.Args).In(n)
	// The main argument, which was written alone, gets its name.
	for i, p := range out.Pairs {
		if n != nil && len(old) == 1 && p.Key == schema.Main && same(old[0], *named(args, p.Key)) {
			out.Pairs[i].Value = source.Kept(n)
		}
	}
	return out
}

// canStandAlone reports whether a value can follow its verb without its name.
func canStandAlone(a Arg, main *rules.Arg) bool {
	if takesMapping(main) {
		return true // and cannot be named
	}
	switch a.As {
	case AsNull:
		return main.Null
	case AsFields:
		return false
	case AsYAML:
		kind := kindOf(a.YAML)
		return kind != source.Null && kind != source.Mapping
	}
	return true
}

// kindOf returns what kind of value a YAML text is.
func kindOf(text string) source.Kind {
	if n, err := source.ParseValue(text); err == nil {
		return n.Kind
	}
	return source.Null
}

func named(args []Arg, name string) *Arg {
	if i := place(args, name); i >= 0 {
		return &args[i]
	}
	return nil
}

// fields returns the target for a mapping of arguments.
func (w writer) fields(n *source.Node, old, args []Arg, schema []rules.Arg) *source.Wanted {
	order := make([]string, len(schema))
	for i, a := range schema {
		order[i] = a.Name
	}
	was := mappingOf(n)
	if was == nil {
		order = nil // as they are given
		for _, a := range args {
			order = append(order, a.Name)
		}
	}
	want := make(map[string]*source.Wanted)
	for _, a := range args {
		want[a.Name] = w.arg(was.Get(a.Name), named(old, a.Name), a, argNamed(schema, a.Name))
	}
	return &source.Wanted{Old: n, Kind: source.Mapping, Short: true, Pairs: merge(was, want, order, false)}
}

// arg returns the target for the value of an argument. The schema is nil for an unknown one.
func (w writer) arg(n *source.Node, old *Arg, a Arg, schema *rules.Arg) *source.Wanted {
	if n != nil && old != nil && same(*old, a) {
		return source.Kept(n)
	}
	if schema == nil {
		schema = &rules.Arg{Kind: rules.KindData}
	}
	if old == nil {
		old = &Arg{}
	}
	switch a.As {
	case AsNull:
		return &source.Wanted{Old: n, Kind: source.Null}
	case AsYAML:
		return &source.Wanted{Old: n, YAML: a.YAML}
	case AsList:
		return w.names(n, a.List, schema)
	case AsSteps:
		return w.steps(n, old.Steps, a.Steps)
	case AsBranches:
		return w.branches(n, old.Branches, a.Branches)
	case AsFields:
		return w.settings(n, old.Fields, a.Fields, schema)
	}
	out := &source.Wanted{Old: n, Kind: source.Scalar, Value: a.Text, Loose: isLoose(schema.Kind)}
	if _, isFlag := flag(a.Text); isFlag && schema.Kind == rules.KindFlag {
		out.Bare = true
	}
	return out
}

// isLoose reports whether a value of a kind needs no quotes even if it looks like a number.
func isLoose(k rules.Kind) bool {
	switch k {
	case rules.KindNumber, rules.KindChoice, rules.KindDuration, rules.KindSpan, rules.KindExpression, rules.KindEvent, rules.KindZone, rules.KindNumbers:
		return true
	}
	return false
}

func (w writer) names(n *source.Node, list []string, schema *rules.Arg) *source.Wanted {
	loose := isLoose(schema.Kind)
	alone := schema.Kind == rules.KindEvent
	if n != nil && n.Kind == source.Scalar && schema.Kind == rules.KindNames && (isTemplate(n.Value) || len(list) == 1 && isTemplate(list[0])) {
		return wordList(n, list, loose) // alone, an expression is the whole list
	}
	if v := words(n, list, loose, alone); v != nil {
		return v
	}
	return &source.Wanted{Old: n, Kind: source.List}
}

// settings returns the target for a mapping whose values have the kinds of the argument.
func (w writer) settings(n *source.Node, old, args []Arg, schema *rules.Arg) *source.Wanted {
	if schema.Kind != rules.KindSettings && schema.Kind != rules.KindHeaders && schema.Kind != rules.KindQuery {
		return w.fields(n, old, args, schema.Fields)
	}
	var fields []rules.Arg
	for _, a := range args {
		field := *part(schema)
		field.Name = a.Name
		fields = append(fields, field)
	}
	out := w.fields(n, old, args, fields)
	// Their order counts: each value can use those before it.
	slices.SortFunc(out.Pairs, func(a, b source.WantedPair) int { return place(args, a.Key) - place(args, b.Key) })
	return out
}

func place(args []Arg, name string) int {
	return slices.IndexFunc(args, func(a Arg) bool { return a.Name == name })
}

func (w writer) branches(n *source.Node, old, list []Branch) *source.Wanted {
	out := &source.Wanted{Old: n, Kind: source.List}
	var items []*source.Node
	if n != nil && n.Kind == source.List {
		items = n.Items
	} else {
		old = nil
	}
	for i, at := range pairUp(old, list, func(b Branch) string { return fmt.Sprint(b.Else, b.If) }) {
		switch {
		case at < 0:
			out.Items = append(out.Items, w.branch(nil, Branch{}, list[i]))
		case same(old[at], list[i]):
			out.Items = append(out.Items, source.Kept(items[at]))
		default:
			out.Items = append(out.Items, w.branch(items[at], old[at], list[i]))
		}
	}
	return out
}

func (w writer) branch(n *source.Node, old, b Branch) *source.Wanted {
	steps, was := "do", "do"
	if b.Else {
		steps = "else"
	}
	if old.Else {
		was = "else"
	}
	want := map[string]*source.Wanted{was: w.steps(n.Get(was), old.Do, b.Do)}
	if b.If != "" {
		want["if"] = word(n.Get("if"), b.If, true)
	}
	pairs := merge(n, want, []string{"if", was}, false)
	for i := range pairs {
		if pairs[i].Key == was && was != steps {
			pairs[i].Key, pairs[i].Old = steps, was
		}
	}
	return &source.Wanted{Old: n, Kind: source.Mapping, Pairs: pairs}
}
