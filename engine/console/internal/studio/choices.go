package studio

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
)

// Choices are what can be said at a place of a rule.
type Choices struct {
	Conditions []Offer `json:"conditions,omitempty"`
	Values     []Value `json:"values,omitempty"`
}

// An Offer is a condition to choose, with the blanks that are to be filled.
type Offer struct {
	Group     string             `json:"group"`
	Label     string             `json:"label"`
	Condition sentence.Condition `json:"condition"`
	Blanks    []Chip             `json:"blanks,omitempty"`
}

// A Value is what a condition can ask of, or a chip for a text.
type Value struct {
	Group  string        `json:"group"`
	Label  string        `json:"label"`
	Type   string        `json:"type,omitempty"`
	Term   sentence.Term `json:"term"`
	Text   string        `json:"text"` // as a text has it
	Blanks []Chip        `json:"blanks,omitempty"`
}

// Choices returns what can be said at a place: conditions and values, or what can be asked of one
// value.
func (m *Maker) Choices(f form.Form, path string, value *sentence.Term) Choices {
	w := &writer{Maker: m, form: f}
	scope := w.scope(before(f, path))
	var out Choices
	if value != nil {
		for _, o := range scope.Operators(w.RulesLanguage(), *value) {
			out.Conditions = append(out.Conditions, w.offer(o))
		}
		return out
	}
	for _, o := range scope.Offers(w.RulesLanguage()) {
		out.Conditions = append(out.Conditions, w.offer(o))
	}
	for _, i := range scope.Inserts(w.RulesLanguage()) {
		if i.ID {
			continue
		}
		v := Value{Group: w.group(i.Group), Label: i.Words, Type: i.Type, Term: i.Term, Text: sentence.PrintText([]sentence.Part{{Chip: &i.Term}})}
		for name, t := range i.Term.Blanks {
			if t.Kind == "" {
				chip := pickerOf(sentence.Piece{Picker: name})
				if name == "n" {
					chip = pickerOf(sentence.Piece{Picker: "number"})
				}
				chip.Path, chip.Label = "/blanks/"+name, w.Or("blank.", name)
				v.Blanks = append(v.Blanks, chip)
			}
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// group names a group of offers.
func (w *writer) group(name string) string {
	if w.Knows("offers." + name) {
		return w.T("offers." + name)
	}
	return w.T("offers.clock")
}

func (w *writer) offer(o sentence.Offer) Offer {
	out := Offer{Group: w.group(o.Group), Condition: o.Condition}
	var label strings.Builder
	for _, p := range o.Pieces {
		if !p.Empty {
			label.WriteString(p.Words)
			continue
		}
		label.WriteString("…")
		piece := w.blank("", o.Condition, p)
		out.Blanks = append(out.Blanks, *piece.Chip)
	}
	out.Label = label.String()
	return out
}

// before returns the steps that come before a place, with those around it.
func before(f form.Form, path string) []form.Step {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch segments[0] {
	case "do":
		return stepsBefore(f.Do, segments[1:])
	case "on_error":
		return append(slices.Clip(f.Do), stepsBefore(f.OnError, segments[1:])...)
	}
	return nil
}

func stepsBefore(list []form.Step, path []string) []form.Step {
	if len(path) == 0 {
		return nil
	}
	n, err := strconv.Atoi(path[0])
	if err != nil || n < 0 {
		return nil
	}
	n = min(n, len(list))
	out := slices.Clone(list[:n])
	if n == len(list) || len(path) < 5 || path[1] != "args" {
		return out
	}
	a := argNamed(list[n].Args, path[2])
	switch {
	case a == nil:
	case path[3] == "steps":
		return append(append(out, list[n]), stepsBefore(a.Steps, path[4:])...)
	case path[3] == "branches" && len(path) > 6:
		if k, err := strconv.Atoi(path[4]); err == nil && k >= 0 && k < len(a.Branches) {
			return append(out, stepsBefore(a.Branches[k].Do, path[6:])...)
		}
	}
	return out
}

// Data returns a chip for the page's script.
func (c Chip) Data() string { return asJSON(c) }

// Edit returns an edit for the page's script.
func (Card) Edit(op, path, to string) string {
	return asJSON([]Edit{{Op: Op(op), Path: path, To: to}})
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null" // it has been read from JSON
	}
	return string(text)
}
