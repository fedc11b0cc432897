package sentence

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Scope says what the names mean where an expression stands. The zero value knows the facts
// alone; a name that it does not know is shown as it is written.
type Scope struct {
	names []known // in the order in which they are given
	facts []string
}

// A known is a name that is no fact: a variable, the result of a step, what a step sets, or the
// item of a loop.
type known struct {
	name string
	typ  *Type
	verb string // that gives it
	card bool   // it is the card that a step has looked for, and nil where there was none
}

// NewScope returns the scope behind some steps of a rule. Vars are those of the rule's file. Before
// are the steps that come first, in their order, with those around; a for_each gives its item.
func NewScope(catalog *rules.Catalog, f form.Form, vars map[string]any, before []form.Step) Scope {
	s := Scope{facts: factsAt(f)}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		s.add("vars."+name, typeOfVar(vars[name]), variables)
	}
	for _, step := range before {
		s.step(catalog, step)
	}
	return s
}

// typeOfVar returns the type of a variable.
func typeOfVar(v any) *Type {
	switch v.(type) {
	case string:
		return rules.Text
	case int, float64:
		return rules.Number
	case bool:
		return rules.Flag
	case []any:
		return rules.ListOf(rules.Text)
	}
	return rules.Anything
}

// factsAt returns the facts that come with what starts a rule.
func factsAt(f form.Form) []string {
	var sources []string
	if schedule := f.When.Schedule; schedule != nil {
		for _, each := range rules.EachItems() {
			if each.Name == schedule.Each {
				return each.Facts
			}
		}
		return []string{vocabulary.Happening}
	}
	for _, name := range f.When.Events {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			for _, typ := range vocabulary.EventTypes() {
				if strings.HasPrefix(typ, prefix) {
					sources = append(sources, typ)
				}
			}
			continue
		}
		sources = append(sources, name)
	}
	var out []string
	for _, fact := range vocabulary.Facts() {
		everywhere := len(sources) > 0
		for _, typ := range sources {
			e := vocabulary.EventOf(typ)
			everywhere = everywhere && e != nil && slices.Contains(e.Facts, fact.Name)
		}
		if everywhere || fact.ListOf != "" && f.Gather != nil {
			out = append(out, fact.Name)
		}
	}
	return out
}

// step adds the names that a step gives.
func (s *Scope) step(catalog *rules.Catalog, step form.Step) {
	argument := func(name string) *form.Arg {
		for i := range step.Args {
			if step.Args[i].Name == name {
				return &step.Args[i]
			}
		}
		return nil
	}
	switch step.Verb {
	case "set":
		if values := argument("values"); values != nil {
			for _, v := range values.Fields {
				s.add(v.Name, s.typeOfText(v.Text), "set")
			}
		}
	case "for_each":
		name, typ := "item", rules.Anything
		if as := argument("as"); as != nil && as.Text != "" {
			name = as.Text
		}
		if in := argument("in"); in != nil {
			if list := s.typeOf(ReadValue(in.Text), "").typ; list != nil && list.Elem() != nil {
				typ = list.Elem()
			}
		}
		s.add(name, typ, "for_each")
	}
	schema := catalog.Verb(step.Verb)
	if schema == nil || schema.Result == nil {
		return
	}
	if step.ID != "" {
		s.names = append(s.names, known{name: step.ID, typ: schema.Result, verb: step.Verb, card: schema.Gives == vocabulary.Card && schema.OnlyReads()})
	}
	for _, fact := range schema.AtHand(argument("conversation") != nil || argument("attendance") != nil) {
		if !slices.Contains(s.facts, fact) {
			s.facts = append(s.facts, fact)
		}
	}
}

func (s *Scope) add(name string, typ *Type, verb string) {
	s.names = append(s.names, known{name: name, typ: typ, verb: verb})
}

// typeOfText returns the type of a text with {{ }} in it: that of the expression where it is one
// whole.
func (s Scope) typeOfText(text string) *Type {
	pieces := ReadText(text)
	if len(pieces) == 1 && pieces[0].Chip != nil {
		if t := s.typeOf(*pieces[0].Chip, "").typ; t != nil {
			return t
		}
		return rules.Anything
	}
	return rules.Text
}

// lookup returns what is known of a name, the newest first.
func (s Scope) lookup(name string) (known, bool) {
	for i := len(s.names) - 1; i >= 0; i-- {
		if s.names[i].name == name {
			return s.names[i], true
		}
	}
	return known{}, false
}

// A typed is what is known of a value.
type typed struct {
	typ   *Type // nil where nothing is known
	fact  string
	field *rules.Field // the field that it is, with its only values
}

// typeOf returns what is known of a term. Item is the fact that # is.
func (s Scope) typeOf(t Term, item string) typed {
	if n := len(t.Wraps); n > 0 {
		if gives := whole().byKey[1][t.Wraps[n-1]].form.Gives; gives != nil {
			return typed{typ: gives}
		}
	}
	switch t.Kind {
	case Text:
		return typed{typ: rules.Text}
	case Number:
		return typed{typ: rules.Number}
	case Duration:
		return typed{typ: rules.Duration}
	case Flag, Question:
		return typed{typ: rules.Flag}
	case Date:
		return typed{typ: rules.Time}
	case List:
		return typed{typ: rules.ListOf(rules.Anything)}
	case Name:
		return s.typeOfName(t.Text, item)
	case Value:
		form := whole().byKey[1][t.Value]
		if form == nil {
			return typed{}
		}
		if form.form.Gives != nil {
			return typed{typ: form.form.Gives}
		}
		list := s.typeOf(t.Blanks["list"], item).typ
		if list != nil && list.Elem() != nil {
			return typed{typ: list.Elem()}
		}
		if t.Value == "minus" && s.typeOf(t.Blanks["x"], item).typ == rules.Time && s.typeOf(t.Blanks["y"], item).typ == rules.Time {
			return typed{typ: rules.Duration}
		}
		if t.Value == "choice" || t.Value == "or_else" || t.Value == "plus" || t.Value == "minus" || t.Value == "times" {
			return typed{typ: s.typeOf(t.Blanks["x"], item).typ}
		}
	}
	return typed{}
}

// typeOfName follows a path.
func (s Scope) typeOfName(path, item string) typed {
	parts := partsOf(path)
	at := typed{typ: factTypes[parts[0]], fact: parts[0]}
	rest := parts[1:]
	switch {
	case parts[0] == "#":
		at = typed{typ: factTypes[item], fact: item}
	case parts[0] == "steps" && len(parts) > 1:
		k, _ := s.lookup(parts[1])
		at, rest = typed{typ: k.typ, fact: factOf(k.typ)}, parts[2:]
	case parts[0] == "vars" && len(parts) > 1:
		k, _ := s.lookup("vars." + parts[1])
		at, rest = typed{typ: k.typ}, parts[2:]
	case at.typ == nil:
		k, _ := s.lookup(parts[0])
		at = typed{typ: k.typ, fact: factOf(k.typ)}
	}
	for _, part := range rest {
		if at.typ == nil {
			return typed{}
		}
		if _, err := strconv.Atoi(part); err == nil {
			at = typed{typ: at.typ.Elem(), fact: factOf(at.typ.Elem())}
			continue
		}
		next := typed{}
		for _, f := range at.typ.Fields() {
			if f.Name == part {
				next = typed{typ: f.Type, fact: factOf(f.Type), field: &f}
				if next.fact == "" {
					next.fact = at.fact
				}
			}
		}
		at = next
	}
	return at
}

// factTypes are the types of the facts, by name.
var factTypes = func() map[string]*Type {
	out := map[string]*Type{}
	for _, f := range rules.FactTypes() {
		out[f.Name] = f.Type
	}
	return out
}()

// factOf names the fact that a type is of.
func factOf(t *Type) string {
	for _, f := range vocabulary.Facts() {
		if t != nil && f.ListOf == "" && factTypes[f.Name] == t {
			return f.Name
		}
	}
	return ""
}

// pathPart matches a name or a place of a path.
var pathPart = regexp.MustCompile(`\[("(?:[^"\\]|\\.)*")\]|\[(-?\d+)\]|[^.?\[\]]+`)

// partsOf splits a path into its names and places: before.items[0].id has before, items, 0 and id.
func partsOf(path string) []string {
	var out []string
	for _, m := range pathPart.FindAllStringSubmatch(path, -1) {
		name, err := strconv.Unquote(m[1])
		if err != nil {
			name = cmp.Or(m[2], m[0])
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}
