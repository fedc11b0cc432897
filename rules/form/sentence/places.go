package sentence

import (
	"fmt"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

// A Place is where a rule has an expression, or a text with chips.
type Place struct {
	Path  string // such as if[0], do[1].if, do[2].branches[0].do[0].text
	Kind  PlaceKind
	Text  string // as the rule has it
	Scope Scope
}

// A PlaceKind says what stands at a place.
type PlaceKind string

// The kinds of places.
const (
	ConditionPlace PlaceKind = "condition" // for Read
	ValuePlace     PlaceKind = "value"     // for ReadValue
	TextPlace      PlaceKind = "text"      // for ReadText
)

// ByHand returns the expressions of a place that the catalogue cannot say.
func (p Place) ByHand() (list []string) {
	switch p.Kind {
	case ConditionPlace:
		return Read(p.Text).ByHand()
	case ValuePlace:
		return ReadValue(p.Text).ByHand()
	}
	for _, part := range ReadText(p.Text) {
		if part.Chip != nil {
			list = append(list, part.Chip.ByHand()...)
		}
	}
	return list
}

// Places returns every expression of a rule, and every text with chips, with what its names mean
// there. Vars are those of the rule's file.
func Places(catalog *rules.Catalog, f form.Form, vars map[string]any) []Place {
	w := &walker{catalog: catalog, scope: NewScope(catalog, f, vars, nil)}
	for i, x := range f.If {
		w.add(fmt.Sprintf("if[%d]", i), ConditionPlace, x)
	}
	w.add("by", ValuePlace, f.By)
	if f.Limit != nil {
		w.add("limit.by", ValuePlace, f.Limit.By)
	}
	for i, m := range f.CancelOn {
		w.add(fmt.Sprintf("cancel_on[%d].if", i), ConditionPlace, m.If)
	}
	w.steps("do", f.Do)
	w.scope.add("error", rules.Text, "error")
	w.steps("on_error", f.OnError)
	return w.places
}

type walker struct {
	catalog *rules.Catalog
	scope   Scope
	places  []Place
}

func (w *walker) add(path string, kind PlaceKind, text string) {
	if text == "" || kind == TextPlace && !strings.Contains(text, "{{") {
		return
	}
	scope := w.scope
	scope.names = scope.names[:len(scope.names):len(scope.names)] // later ones are not of this place
	w.places = append(w.places, Place{path, kind, text, scope})
}

func (w *walker) steps(path string, list []form.Step) {
	for i, step := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		w.add(at+".if", ConditionPlace, step.If)
		if step.Verb == "for_each" {
			w.scope.step(w.catalog, step) // its own steps know the item
		}
		w.args(at, step.Verb, step.Args, w.catalog.Verb(step.Verb))
		if step.Verb != "for_each" {
			w.scope.step(w.catalog, step)
		}
	}
}

func (w *walker) args(at, verb string, args []form.Arg, schema *rules.Schema) {
	for _, a := range args {
		path := at + "." + a.Name
		kind := TextPlace
		if schema != nil && isExpression(schema, a.Name) {
			kind = ConditionPlace
			if verb == "for_each" {
				kind = ValuePlace
			}
		}
		w.add(path, kind, a.Text)
		for i, text := range a.List {
			w.add(fmt.Sprintf("%s[%d]", path, i), TextPlace, text)
		}
		w.args(path, verb, a.Fields, nil)
		w.steps(path, a.Steps)
		for i, b := range a.Branches {
			branch := fmt.Sprintf("%s[%d]", path, i)
			w.add(branch+".if", ConditionPlace, b.If)
			w.steps(branch+".do", b.Do)
		}
	}
}

// isExpression reports whether an argument is written as an expression, without {{ }}.
func isExpression(schema *rules.Schema, name string) bool {
	for _, a := range schema.Args {
		if a.Name == name {
			return a.Kind == rules.KindExpression
		}
	}
	return false
}
