package sentence

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// An Offer is a condition that can be chosen. Its blanks that are to be filled have no kind yet.
type Offer struct {
	Group     string    `json:"group"` // the fact that it is about, clock or steps
	Condition Condition `json:"condition"`
	Pieces    []Piece   `json:"pieces"`
	Rare      bool      `json:"rare,omitempty"` // the contrary of a comparison, which another one says more simply
}

// IsComplete reports whether every blank of a condition is filled.
func (c Condition) IsComplete() bool {
	for _, part := range c.Of {
		if !part.IsComplete() {
			return false
		}
	}
	return complete(c.Blanks)
}

// IsComplete reports whether every blank of a term is filled.
func (t Term) IsComplete() bool {
	for _, item := range t.List {
		if !item.IsComplete() {
			return false
		}
	}
	return t.Kind != "" && complete(t.Blanks) && (t.Condition == nil || t.Condition.IsComplete())
}

func complete(blanks map[string]Term) bool {
	for _, t := range blanks {
		if !t.IsComplete() {
			return false
		}
	}
	return true
}

// Has reports whether what starts the rule, or a step before, comes with a fact.
func (s Scope) Has(fact string) bool { return s.has(fact) }

// has reports whether what starts the rule comes with a fact. The zero scope has them all.
func (s Scope) has(fact string) bool { return s.facts == nil || slices.Contains(s.facts, fact) }

// Offers returns the sentences that can be chosen as they are: those that people say, and the
// language's questions, each with its contrary.
func (s Scope) Offers(l phrases.Language) (list []Offer) {
	seen := map[string]bool{}
	add := func(group string, c Condition) {
		if vocabulary.FactOf(group) != nil && !s.has(group) {
			return
		}
		for _, not := range []bool{c.Not, !c.Not} {
			c.Not = not
			pieces := s.Pieces(l, c)
			if words := join(pieces); !seen[words] {
				seen[words] = true // another way to ask the same is not offered
				rare := c.Not && slices.Contains(comparisons, c.Sentence) && !c.IsComplete()
				list = append(list, Offer{group, c, pieces, rare})
			}
		}
	}
	for _, f := range rules.Functions() {
		if form := whole().byKey[0][f.Name]; form != nil {
			add(groupOf(f.Needs), Condition{Sentence: f.Name, Blanks: form.form.empty()})
		}
	}
	sayings, _ := readSayings()
	for _, r := range sayings {
		add(groupOf(rootOf(r.expression)), emptied(r.condition))
	}
	for _, k := range s.names {
		if k.verb == "wait_for" || k.card {
			add(steps, Condition{Sentence: "known", Blanks: map[string]Term{"x": {Kind: Name, Text: k.name}}})
		}
	}
	slices.SortStableFunc(list, func(a, b Offer) int { return groupRank(a.Group) - groupRank(b.Group) })
	return list
}

// The groups that are no facts: the time, the results of steps, and variables.
const (
	clock     = "clock"
	steps     = "steps"
	variables = "vars"
)

// empty returns the blanks of a form with nothing in them.
func (f *Form) empty() map[string]Term {
	if len(f.Blanks) == 0 {
		return nil
	}
	out := make(map[string]Term, len(f.Blanks))
	for _, b := range f.Blanks {
		out[b.Name] = Term{}
	}
	return out
}

func groupOf(fact string) string {
	if vocabulary.FactOf(fact) == nil {
		return clock
	}
	return fact
}

func groupRank(group string) int {
	return slices.IndexFunc(vocabulary.Facts(), func(f vocabulary.FactRow) bool { return f.Name == group })
}

// rootOf returns the fact that an expression begins to ask of.
func rootOf(expression string) string {
	for _, f := range vocabulary.Facts() {
		if f.ListOf == "" && (strings.Contains(expression, f.Name+".") || strings.HasPrefix(expression, f.Name+" ")) {
			return f.Name
		}
	}
	if strings.Contains(expression, "customer_waiting") || strings.Contains(expression, "count_events") {
		return vocabulary.Conversation
	}
	return clock
}

// emptied returns a condition of a saying with nothing in its blanks.
func emptied(c Condition) Condition {
	c.Blanks = emptiedBlanks(c.Blanks)
	return c
}

func emptiedBlanks(blanks map[string]Term) map[string]Term {
	out := maps.Clone(blanks)
	for name, t := range out {
		switch {
		case t.Kind == Name && strings.HasPrefix(t.Text, blankPrefix):
			t = Term{}
		case t.Condition != nil:
			c := emptied(*t.Condition)
			t.Condition = &c
		default:
			t.Blanks = emptiedBlanks(t.Blanks)
		}
		out[name] = t
	}
	return out
}

// comparisons are the sentences whose contrary is another one of them.
var comparisons = []string{"more", "least", "less", "most"}

// operators are the sentences for a value of a type, in the order in which they are offered.
var operators = map[*Type][]string{
	rules.Text:     {"is", "one_of", "contains", "begins", "ends", "matches", "known"},
	rules.Number:   {"is", "more", "least", "less", "most", "one_of", "known"},
	rules.Duration: {"more", "least", "less", "most"},
	rules.Time:     {"less", "more", "known"},
	rules.Flag:     {"yes"},
}

// Operators returns what can be asked of a value: the sentences for its type, each with its
// contrary where that says something else than another one of them.
func (s Scope) Operators(l phrases.Language, x Term) (list []Offer) {
	known := s.typeOf(x, "")
	group := cmp.Or(known.fact, clock)
	add := func(c Condition) { list = append(list, Offer{group, c, s.Pieces(l, c), false}) }
	typ := known.typ
	switch {
	case typ != nil && typ.Elem() != nil && len(typ.Elem().Fields()) > 0:
		for _, key := range []string{"any_item", "every_item", "no_item"} {
			add(Condition{Sentence: key, Blanks: map[string]Term{"list": x, "condition": {}}})
		}
		return list
	case typ != nil && typ.Elem() != nil:
		item := Condition{Sentence: "one_of", Blanks: map[string]Term{"x": {Kind: Name, Text: "#"}, "list": {}}}
		for _, not := range []bool{false, true} {
			add(Condition{Sentence: "has", Not: not, Blanks: map[string]Term{"item": {}, "list": x}})
			add(Condition{Sentence: "any_item", Not: not, Blanks: map[string]Term{"list": x, "condition": {Kind: Question, Condition: &item}}})
		}
		return list
	case typ != nil && len(typ.Fields()) > 0:
		for _, not := range []bool{false, true} {
			add(Condition{Sentence: "known", Not: not, Blanks: map[string]Term{"x": x}})
		}
		return list
	}
	keys := operators[typ]
	if keys == nil {
		keys = []string{"is", "one_of", "more", "least", "less", "most", "contains", "known"}
	}
	if picker, _ := (wording{scope: s}).pickerOf(x); typ == rules.Text && picker != "text" {
		keys = []string{"is", "one_of", "known"} // it is chosen, not written
	}
	for _, key := range keys {
		blanks := whole().byKey[0][key].form.empty()
		blanks["x"] = x
		add(Condition{Sentence: key, Blanks: blanks})
		if !slices.Contains(comparisons, key) {
			add(Condition{Sentence: key, Not: true, Blanks: blanks})
		}
	}
	if typ == rules.Time {
		for _, key := range []string{"more", "less"} {
			since := Term{Kind: Value, Value: "since", Blanks: map[string]Term{"time": x}}
			add(Condition{Sentence: key, Blanks: map[string]Term{"x": since, "y": {}}})
		}
	}
	return list
}

// An Insert is a value that can be chosen: a chip for a text, or what a condition asks of.
type Insert struct {
	Group string `json:"group"` // a fact, clock, steps or vars
	Term  Term   `json:"term"`
	Words string `json:"words"`
	Type  string `json:"type,omitempty"` // text, number, duration, time, flag or list; empty where it is not known
	ID    bool   `json:"id,omitempty"`   // for programs rather than for people
	Fixed bool   `json:"-"`              // one of a fixed set, which a text would have as rules write it
}

// Inserts returns the values that can be chosen, by what starts the rule and the steps before.
func (s Scope) Inserts(l phrases.Language) (list []Insert) {
	add := func(group, expression string, id bool) {
		t := ReadValue(withBlanks(expression))
		t.Blanks = emptiedBlanks(t.Blanks)
		of := s.typeOf(t, "")
		known := of.typ
		kind := typePickers[known]
		if known != nil && known.Elem() != nil {
			kind = "list"
		}
		list = append(list, Insert{group, t, s.Chip(l, t), kind, id, of.field != nil && of.field.Values != nil || t.Value == "weekday"})
	}
	for _, f := range vocabulary.Facts() {
		switch {
		case !s.has(f.Name):
		case f.ListOf != "":
			add(f.Name, f.Name, false)
			add(f.Name, "len("+f.Name+")", false)
		default:
			s.fields(factTypes[f.Name], func(name string, id bool) { add(f.Name, f.Name+"."+name, id) })
		}
		if f.Name == vocabulary.Contact && s.has(f.Name) {
			add(f.Name, `first(split(trim(contact.name ?? ""), " "))`, false)
		}
		if f.Name == vocabulary.Message && s.has(f.Name) {
			add(f.Name, "number(message.text)", false)
		}
		if f.Name == vocabulary.Conversation && s.has(f.Name) {
			add(f.Name, "customer_waiting()", false)
		}
		if f.Name == vocabulary.Attendance && s.has(f.Name) {
			add(f.Name, "now() - attendance.opened_at", false)
			add(f.Name, "business_time({calendar}, attendance.opened_at, now())", false)
		}
	}
	for _, expression := range []string{"now()", "next_open({calendar})", "next_close({calendar})", "next_open({calendar}) - now()", "next_close({calendar}) - now()", "day(now(), 0)", "day(now(), -1)", "day(now(), 1)", "day(now(), {n})", "now().Weekday().String()", "now().Hour()"} {
		add(clock, expression, false)
	}
	for _, k := range s.names {
		switch {
		case k.verb == variables:
			add(variables, k.name, false)
		case k.verb == "wait_for":
			add(steps, k.name+".message.text", false)
			add(steps, "number("+k.name+".message.text)", false)
		case k.typ != nil && len(k.typ.Fields()) > 0:
			s.fields(k.typ, func(name string, id bool) { add(steps, k.name+"."+name, id) })
			if items := k.typ.Field("items"); items != nil && items.Elem() != nil && items.Elem().Field("sector_name") != nil {
				add(steps, "count("+k.name+".items, #.sector_name == {sector})", false)
				add(steps, "count("+k.name+".items, #.sector_name == nil)", false)
			}
		default:
			add(steps, k.name, false)
		}
	}
	return list
}

// fields calls a function for each field of an object that is a value.
func (s Scope) fields(t *Type, each func(name string, id bool)) {
	for _, f := range t.Fields() {
		if len(f.Type.Fields()) > 0 || f.Type == rules.Anything && f.Name == "data" {
			continue
		}
		each(f.Name, isID(t, f.Name))
	}
}

// isID reports whether a field holds what people do not call things by.
func isID(t *Type, name string) bool {
	named := slices.ContainsFunc(vocabulary.NamedFields(), func(n vocabulary.Named) bool { return n.ID == name && factTypes[n.Fact] == t })
	return named || name == "id" || name == "version" || name == "moved_by" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids")
}
