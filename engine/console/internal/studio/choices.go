package studio

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
)

// Choices are what can be said at a place of a rule.
type Choices struct {
	Conditions []Offer `json:"conditions,omitempty"`
	Values     []Value `json:"values,omitempty"`
	Text       string  `json:"text,omitempty"`
	More       []Chip  `json:"more,omitempty"`
}

// An Offer is a condition to choose, with the blanks that are to be filled.
type Offer struct {
	Group     string             `json:"group"`
	Label     string             `json:"label"`
	Parts     []TextPart         `json:"parts"` // of the label
	Condition sentence.Condition `json:"condition"`
	Blanks    []Chip             `json:"blanks,omitempty"`
	Rare      bool               `json:"rare,omitempty"` // shown to whoever asks for more
}

// A Value is what a condition can ask of, or a chip for a text.
type Value struct {
	Group  string        `json:"group"`
	Label  string        `json:"label"`
	Type   string        `json:"type,omitempty"`
	Term   sentence.Term `json:"term"`
	Blanks []Chip        `json:"blanks,omitempty"`
}

// Choices returns what can be said at a place: conditions and values, or what can be asked of one
// value.
func (m *Maker) Choices(f form.Form, path string, value *sentence.Term) Choices {
	f = m.WithNames(f)
	w := &writer{Maker: m, form: f}
	scope := w.scope(before(f, path))
	var out Choices
	if value != nil {
		for _, o := range scope.Operators(w.RulesLanguage(), *value) {
			out.Conditions = append(out.Conditions, w.offer(o))
		}
		return out
	}
	offers, inserts := scope.Offers(w.RulesLanguage()), scope.Inserts(w.RulesLanguage())
	slices.SortStableFunc(offers, func(a, b sentence.Offer) int { return groupRank(a.Group) - groupRank(b.Group) })
	slices.SortStableFunc(inserts, func(a, b sentence.Insert) int { return groupRank(a.Group) - groupRank(b.Group) })
	for _, o := range offers {
		out.Conditions = append(out.Conditions, w.offer(o))
	}
	for _, i := range inserts {
		if i.ID {
			continue
		}
		v := Value{Group: w.group(i.Group), Label: i.Words, Type: i.Type, Term: i.Term}
		for name, t := range i.Term.Blanks {
			if t.Kind == "" {
				chip := pickerOf(sentence.Piece{Picker: name})
				if name == "n" {
					chip = pickerOf(sentence.Piece{Picker: "number"})
				}
				chip.Path, chip.Label = "/blanks/"+name, w.Or("blank.", name)
				v.Blanks = append(v.Blanks, chip)
			}
			if t.Condition != nil && !t.Condition.IsComplete() {
				asked := w.offer(sentence.Offer{Condition: *t.Condition, Pieces: scope.Pieces(w.RulesLanguage(), *t.Condition)})
				for _, chip := range asked.Blanks {
					chip.Path = "/blanks/" + name + "/condition" + chip.Path
					v.Blanks = append(v.Blanks, chip)
				}
			}
		}
		out.Values = append(out.Values, v)
	}
	return out
}

// More returns what a step could be given besides.
func (m *Maker) More(f form.Form, path string) Choices {
	w := &writer{Maker: m, form: f}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	steps := map[string][]form.Step{"do": f.Do, "on_error": f.OnError}[segments[0]]
	s := stepAt(steps, segments[1:])
	if s == nil {
		return Choices{}
	}
	return Choices{More: w.step(path, *s, before(f, path)).Add}
}

// stepAt returns the step at a place, or nil.
func stepAt(list []form.Step, path []string) *form.Step {
	if len(path) == 0 {
		return nil
	}
	n, err := strconv.Atoi(path[0])
	if err != nil || n < 0 || n >= len(list) {
		return nil
	}
	if len(path) < 5 {
		return &list[n]
	}
	a := argNamed(list[n].Args, path[2])
	switch {
	case a == nil:
	case path[3] == "steps":
		return stepAt(a.Steps, path[4:])
	case path[3] == "branches" && len(path) > 6:
		if k, err := strconv.Atoi(path[4]); err == nil && k >= 0 && k < len(a.Branches) {
			return stepAt(a.Branches[k].Do, path[6:])
		}
	}
	return nil
}

// groupOrder is the order in which people look for what a condition is about; other groups follow.
var groupOrder = []string{"steps", vocabulary.Contact, vocabulary.Message, vocabulary.Conversation, vocabulary.Attendance, "clock", "vars", vocabulary.Card}

func groupRank(group string) int {
	if i := slices.Index(groupOrder, group); i >= 0 {
		return i
	}
	return len(groupOrder)
}

// group names a group of offers.
func (w *writer) group(name string) string {
	if w.Knows("offers." + name) {
		return w.T("offers." + name)
	}
	return w.T("offers.clock")
}

func (w *writer) offer(o sentence.Offer) Offer {
	out := Offer{Group: w.group(o.Group), Condition: o.Condition, Rare: o.Rare}
	var label strings.Builder
	for _, p := range o.Pieces {
		label.WriteString(p.Words)
		out.Parts = append(out.Parts, TextPart{Words: p.Words, Chip: p.Empty})
		if !p.Empty {
			continue
		}
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

func edits(op Op, path, to string) string { return asJSON([]Edit{{Op: op, Path: path, To: to}}) }

// Adds returns what could be given besides.
func (c Card) Adds() string {
	if len(c.Add) == 0 {
		return ""
	}
	return asJSON(c.Add)
}

// SwitchOn returns the edit that switches a step on again.
func (c Card) SwitchOn() string { return edits(Remove, c.Path+"/enabled", "") }

// Folds reports whether something belongs to a card besides its sentence.
func (c Card) Folds() bool {
	return len(c.More) > 0 || c.Text != nil || c.Question != nil || c.If != nil || c.BranchPath != "" || c.Loop != nil
}

// Waits reports whether a card waits for something, of which its question asks.
func (c Card) Waits() bool { return c.Verb == "wait_for" }

// Ways returns how many ways come before the last one, which is taken otherwise.
func (c Card) Ways() int {
	n := len(c.Branches)
	if n > 0 && c.Branches[n-1].Else {
		n--
	}
	return n
}

// Removal returns the edit that takes a condition away.
func (c Condition) Removal() string { return edits(Remove, c.Path, "") }

// Removal returns the edit that takes a way away.
func (b Branch) Removal() string { return edits(Remove, b.Path, "") }

// Removal returns the edit that takes an ending away.
func (e Ending) Removal() string { return edits(Remove, e.Path, "") }

// Removal returns the edit that takes a bound away.
func (b Bound) Removal() string { return edits(Remove, b.Path, "") }

// Words returns a bound in words alone.
func (b Bound) Words() string { return inWords(b.Pieces) }

// BoundOptions returns the bounds that could be added.
func (v View) BoundOptions() string { return asJSON(v.MoreBounds) }

// ByClock returns the ways to let the clock start the rule, with the edits that do so.
func (v View) ByClock() string { return asJSON(v.Clock) }

// clock returns the ways to let the clock start a rule.
func (w *writer) clock() (list []Option) {
	add := func(name string, s form.Schedule) {
		list = append(list, Option{Value: asJSON([]Edit{{Op: Set, Path: "/when", Value: form.When{Schedule: &s}}}), Label: w.T("clock." + name)})
	}
	add("workday", form.Schedule{At: []string{"09:00"}, On: []string{"mon-fri"}})
	add("day", form.Schedule{At: []string{"09:00"}})
	add("every", form.Schedule{Every: "1h"})
	return list
}

// ByEvent returns the edit that lets an event start the rule.
func (v View) ByEvent() string {
	return asJSON([]Edit{{Op: Set, Path: "/when", Value: form.When{Events: []string{vocabulary.MessageReceived}}}})
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null" // it has been read from JSON
	}
	return string(text)
}
