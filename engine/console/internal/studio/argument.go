package studio

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
)

// argument shows an argument inside a sentence. One that is not given is shown where it is wanted.
func (w *writer) argument(path string, k form.Argument, given *form.Arg, wanted bool, scope sentence.Scope) []Piece {
	if given == nil {
		if !wanted {
			return nil
		}
		c := w.missing(path, k, scope)
		return []Piece{{Chip: &c}}
	}
	if given.As == form.AsFields || given.As == form.AsYAML {
		var out []Piece
		list := w.fields(path, k, *given, scope)
		if given.As == form.AsYAML {
			list = w.data(path+"/yaml", w.Or("field.", k.Name), given.YAML, scope)
		}
		for i, chip := range list {
			if i > 0 {
				out = append(out, Piece{Words: ", "})
			}
			out = append(out, Piece{Chip: &chip})
		}
		return out
	}
	c := w.chip(path, k, *given, scope)
	c.Clear = !k.Required
	return []Piece{{Chip: &c}}
}

// missing shows an argument that is not given.
func (w *writer) missing(path string, k form.Argument, scope sentence.Scope) Chip {
	as := k.As
	if as != form.AsList {
		as = form.AsText
	}
	c := w.chip(path, k, form.Arg{Name: k.Name, As: as}, scope)
	c.Words, c.Value, c.Bare = w.pick(k), nil, true
	return c
}

// pick asks for what an argument refers to.
func (w *writer) pick(k form.Argument) string {
	for _, kind := range []string{k.Refers, k.Kind, map[string]string{"events": "event", "expression": "list"}[k.Kind]} {
		if kind != "" && w.Knows("pick."+kind) && k.Kind != "span" {
			return w.T("pick." + kind)
		}
	}
	if k.Kind == "span" {
		return w.T("pick.span")
	}
	return w.T("pick.any", strings.ToLower(w.Or("field.", k.Name)))
}

// besides shows the arguments that a sentence does not have, and lists those that could be added.
func (w *writer) besides(path string, known []form.Argument, given []form.Arg, said map[string]bool, scope sentence.Scope) (chips, add []Chip) {
	for _, a := range given {
		if said[a.Name] {
			continue
		}
		k := argumentNamed(known, a.Name)
		if k == nil {
			k = &form.Argument{Name: a.Name, Kind: "text"}
		}
		if a.As == form.AsYAML {
			chips = append(chips, w.data(path+"/"+a.Name+"/yaml", w.Or("field.", a.Name), a.YAML, scope)...)
			continue
		}
		if a.As == form.AsFields {
			chips = append(chips, w.fields(path+"/"+a.Name, *k, a, scope)...)
			continue
		}
		c := w.chip(path+"/"+a.Name, *k, a, scope)
		c.Clear = true
		chips = append(chips, c)
	}
	for _, k := range known {
		a := argNamed(given, k.Name)
		at := path + "/" + k.Name
		switch {
		case k.Kind == "target" && a == nil:
			add = append(add, w.missing(at, k, scope))
		case len(k.Fields) > 0:
			for _, f := range k.Fields {
				if a == nil || argNamed(a.Fields, f.Name) == nil {
					c := w.missing(at+"/fields/"+f.Name, f, scope)
					c.Label = w.Or("field.", k.Name) + ": " + strings.ToLower(c.Label)
					add = append(add, c)
				}
			}
		case k.Kind == "data" && (a == nil || a.As == form.AsYAML):
			add = append(add, Chip{Path: at + "/yaml/~data/+", Picker: "named", Label: w.Or("field.", k.Name)})
		case k.Kind == "settings" || k.Kind == "headers" || k.Kind == "query":
			add = append(add, Chip{Path: at + "/fields/", Picker: "named", Label: w.Or("field.", k.Name)})
		case a == nil && !said[k.Name]:
			add = append(add, w.missing(at, k, scope))
		}
	}
	return chips, add
}

// fields shows the parts of an argument, each by itself.
func (w *writer) fields(path string, k form.Argument, a form.Arg, scope sentence.Scope) (chips []Chip) {
	for _, f := range a.Fields {
		known := argumentNamed(k.Fields, f.Name)
		if known == nil {
			known = &form.Argument{Name: f.Name, Kind: "text"}
		}
		if f.As == form.AsYAML {
			label := f.Name
			if k.Fields != nil {
				label = w.Or("field.", f.Name)
			}
			chips = append(chips, w.data(path+"/fields/"+f.Name+"/yaml", label, f.YAML, scope)...)
			continue
		}
		c := w.chip(path+"/fields/"+f.Name, *known, f, scope)
		if k.Fields == nil {
			c.Label = f.Name // a person's own name
		}
		c.Clear = true
		chips = append(chips, c)
	}
	return chips
}

// chip shows an argument that is given.
func (w *writer) chip(path string, k form.Argument, a form.Arg, scope sentence.Scope) Chip {
	c := Chip{Path: path, Picker: "text", From: k.Refers, Label: w.Or("field.", k.Name), Value: a.Text}
	c.Words, c.Hand = w.words(a.Text, scope)
	switch a.As {
	case form.AsYAML, form.AsSteps, form.AsBranches:
		c.Path, c.Picker, c.Words, c.Value, c.Hand = path+"/yaml", "hand", strings.TrimSpace(a.YAML), a.YAML, true
		return c
	case form.AsNull:
		c.Words, c.Value = w.T("form.nothing"), nil
	case form.AsList:
		var said []string
		for _, item := range a.List {
			text, _ := w.words(item, scope)
			said = append(said, text)
		}
		c.Words, c.Value = strings.Join(said, ", "), a.List
	}
	switch k.Kind {
	case "names", "numbers":
		c.Picker = "several"
	case "events":
		names := a.List
		if a.As == form.AsText && a.Text != "" {
			names = []string{a.Text}
		}
		label := c.Label
		c = w.events(path, names)
		c.Label = label
	case "name":
		c.Picker = "one"
	case "flag":
		c.Picker, c.Values = "choice", w.flags()
		if w.Knows("value." + a.Text) {
			c.Words = w.T("value." + a.Text)
		}
	case "choice":
		c.Picker = "choice"
		for _, v := range k.Values {
			c.Values = append(c.Values, Option{Value: v, Label: w.value(k.Name, v)})
		}
		if slices.Contains(k.Values, a.Text) {
			c.Words = w.value(k.Name, a.Text)
		}
	case "target":
		if a.Text == "" {
			c.Picker, c.Values = "target", []Option{{Value: "phone", Label: w.T("target.phone")}, {Value: "channel", Label: w.T("pick.channel")}}
		}
	case "number":
		c.Picker = "number"
	case "duration", "span":
		c.Picker, c.Words = k.Kind, w.span(a.Text, scope)
	case "time":
		c.Picker = "time"
		if _, err := time.Parse(time.DateOnly, a.Text); err == nil {
			c.Words = scope.SayValue(w.RulesLanguage(), sentence.Term{Kind: sentence.Date, Text: a.Text})
		} else if t := sentence.ReadValue(a.Text); a.As == form.AsText && (t.Kind == sentence.Value || t.Kind == sentence.Name) { // wait takes it without {{ }}
			c.Words, c.Hand = scope.Chip(w.RulesLanguage(), t), len(t.ByHand()) > 0
		}
	case "zone":
		c.Words = zone(a.Text)
	case "expression":
		t := sentence.ReadValue(a.Text)
		c.Path, c.Picker, c.From, c.Term = path+"/text/~value", "value", "list", t.Kind
		if a.Text != "" {
			c.Words, c.Hand = scope.SayValue(w.RulesLanguage(), t), len(t.ByHand()) > 0
		}
	}
	return c
}

func (w *writer) flags() []Option {
	return []Option{{Value: "true", Label: w.Or("value.", "true")}, {Value: "false", Label: w.Or("value.", "false")}}
}

// value puts one of a fixed set of values into words.
func (w *writer) value(name, v string) string {
	for _, prefix := range []string{"fixed." + name + ".", "value." + name + ".", "value."} {
		if w.Knows(prefix + v) {
			return w.T(prefix + v)
		}
	}
	return v
}

// plain puts a number or a share, which can stand in {{ }}, into words.
func (w *writer) plain(text string, scope sentence.Scope) string {
	said, _ := w.words(text, scope)
	return said
}

// words puts a text with {{ }} into words, and reports whether a part of it is by hand.
func (w *writer) words(text string, scope sentence.Scope) (said string, hand bool) {
	var b strings.Builder
	for _, p := range w.parts(text, scope) {
		b.WriteString(p.Words)
		hand = hand || p.Hand
	}
	return b.String(), hand
}

// parts returns a text as plain text and chips.
func (w *writer) parts(text string, scope sentence.Scope) (out []TextPart) {
	expressions := sentence.Expressions(text)
	for _, p := range sentence.ReadText(text) {
		if p.Chip == nil {
			out = append(out, TextPart{Words: p.Text})
			continue
		}
		out = append(out, TextPart{Words: scope.Chip(w.RulesLanguage(), *p.Chip), Chip: true, Hand: len(p.Chip.ByHand()) > 0, Expression: expressions[0]})
		expressions = expressions[1:]
	}
	return out
}

// text shows a text that has a place of its own.
func (w *writer) text(path string, k form.Argument, given *form.Arg, scope sentence.Scope) *Text {
	t := &Text{Path: path, Label: w.Or("field.", k.Name)}
	if given != nil {
		t.Value, t.Parts = given.Text, w.parts(given.Text, scope)
	}
	return t
}

// counted matches a length of time whose number is a value.
var counted = regexp.MustCompile(`^(\{\{.*\}\})([smhdw])$`)

// variable matches a text that is a variable.
var variable = regexp.MustCompile(`^\{\{ *vars\.(\w+) *\}\}$`)

// span puts a length of time into words: 15 minutes, 15 minutes of office hours. A variable is told
// with what it stands for.
func (w *writer) span(text string, scope sentence.Scope) string {
	length, calendar, of := strings.Cut(text, " of ")
	var said string
	switch _, err := duration.Parse(length); {
	case err == nil:
		said = scope.SayValue(w.RulesLanguage(), sentence.Term{Kind: sentence.Duration, Text: length})
	case length == "none":
		said = w.T("span.never")
	default:
		said, _ = w.words(length, scope)
		if m := variable.FindStringSubmatch(length); m != nil {
			if value, ok := w.Vars[m[1]].(string); ok {
				said = w.T("span.variable", said, w.span(value, scope))
			}
		}
		if m := counted.FindStringSubmatch(length); m != nil {
			said = w.T("unit."+m[2]+".many", w.plain(m[1], scope))
		}
	}
	if of {
		return w.T("span.of", said, calendar)
	}
	return said
}
