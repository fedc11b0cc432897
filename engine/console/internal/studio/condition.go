package studio

import (
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
)

// A Condition is a sentence, or a group of them.
type Condition struct {
	Path   string // in the model: /if/~if/of/0
	And    string // where another condition goes that must be true as well; of the outermost
	AndOp  Op     // how it gets there
	Group  sentence.Group
	Of     []Condition
	Pieces []Piece
	Hand   bool
}

// conditions shows the conditions of a place; nil where there are none.
func (w *writer) conditions(path string, c sentence.Condition, scope sentence.Scope) *Condition {
	and := path + "/of/1"
	if c.Group == sentence.All && len(c.Of) == 1 { // a group of one says no more than that one
		c, path = c.Of[0], path+"/of/0"
	} else if c.Group == sentence.All {
		and = path + "/of/" + strconv.Itoa(len(c.Of))
	}
	if c.IsZero() || c.Group != "" && len(c.Of) == 0 {
		return nil
	}
	shown := w.condition(path, c, scope)
	shown.And, shown.AndOp = and, Add
	if c.Group != "" && c.Group != sentence.All && and == path+"/of/1" {
		shown.And, shown.AndOp = path, Group
	}
	return &shown
}

// Next is where another condition of a group goes.
func (c Condition) Next() string { return c.Path + "/of/" + strconv.Itoa(len(c.Of)) }

// IsEmpty reports whether a condition is still to be chosen.
func (c Condition) IsEmpty() bool { return c.Group == "" && len(c.Pieces) == 0 }

// Words returns a condition in words alone.
func (c Condition) Words() string { return inWords(c.Pieces) }

func inWords(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Words)
		if p.Chip != nil {
			b.WriteString(p.Chip.Words)
		}
	}
	return b.String()
}

// Words returns the sentence of a card in words alone.
func (c Card) Words() string { return inWords(c.Pieces) }

func (w *writer) condition(path string, c sentence.Condition, scope sentence.Scope) Condition {
	out := Condition{Path: path, Group: c.Group, Hand: c.Hand != ""}
	for i, part := range c.Of {
		out.Of = append(out.Of, w.condition(path+"/of/"+strconv.Itoa(i), part, scope))
	}
	if c.Group != "" {
		return out
	}
	for _, p := range scope.Pieces(w.RulesLanguage(), c) {
		out.Pieces = append(out.Pieces, w.blank(path, c, p))
	}
	return out
}

// blank shows a piece of a sentence; a chip can be changed in the model.
func (w *writer) blank(path string, c sentence.Condition, p sentence.Piece) Piece {
	if p.Blank == "" {
		return Piece{Words: p.Words}
	}
	if p.Picker == "expression" {
		return Piece{Chip: &Chip{Path: path + "/hand", Picker: "hand", Label: w.T("studio.by_hand"), Words: p.Words, Value: p.Words, Hand: true}}
	}
	at, term := blankPath(c, p.Blank)
	chip := pickerOf(p)
	chip.Path, chip.Words, chip.Bare = path+at, p.Words, p.Empty
	chip.Label = w.Or("blank.", p.Picker)
	chip.Value, chip.Hand = termValue(term), len(term.ByHand()) > 0
	if term.Kind == sentence.Name && chip.Picker != "value" {
		chip.Value = nil // it is chosen, not written
		if chip.Picker == "text" || chip.Picker == "number" {
			chip.Picker, chip.From = "value", chip.Picker
		}
	}
	if term.Kind != "" && chip.Picker == "value" {
		chip.Term = term.Kind
	}
	if term.Kind == sentence.Number && (chip.Picker == "one" || chip.Picker == "text") { // compared as a number, no name or text fits
		chip.Picker, chip.Term = "number", sentence.Number
	}
	return Piece{Chip: &chip}
}

// blankPath returns the path below a condition that the names of blanks lead to, and what is there.
func blankPath(c sentence.Condition, names string) (path string, t sentence.Term) {
	blanks := c.Blanks
	var at strings.Builder
	inTerm := false
	for name := range strings.SplitSeq(names, ".") {
		if inTerm && name == "condition" && t.Condition != nil {
			at.WriteString("/condition")
			blanks, inTerm = t.Condition.Blanks, false
			continue
		}
		at.WriteString("/blanks/" + name)
		t = blanks[name]
		blanks, inTerm = t.Blanks, true
	}
	return at.String(), t
}

// pickerOf says how the blank of a sentence is chosen.
func pickerOf(p sentence.Piece) Chip {
	c := Chip{Picker: "value", From: p.Picker, Term: sentence.Text}
	for _, v := range p.Values {
		c.Values = append(c.Values, Option{Value: v.Value, Label: v.Words})
	}
	switch p.Picker {
	case "label", "sector", "person", "teammate", "channel", "board", "stage", "calendar", "event":
		c.Picker, c.Values = "one", nil
	case "labels", "sectors", "persons", "channels", "boards", "stages":
		c.Picker, c.From, c.Term = "several", strings.TrimSuffix(p.Picker, "s"), sentence.List
	case "words", "texts", "numbers", "durations", "times", "hours", "clocks":
		c.Picker, c.From, c.Term = "several", "", sentence.List
	case "choices", "weekdays", "weekday_numbers", "months":
		c.Picker, c.From, c.Term = "choices", "", sentence.List
	case "weekday_number":
		c.Picker, c.Term = "choice", sentence.Number
	case "choice", "weekday", "month":
		c.Picker = "choice"
	case "flag":
		c.Picker, c.Term = "choice", sentence.Flag
	case "duration":
		c.Picker, c.Term = "duration", sentence.Duration
	case "number", "hour":
		c.Picker, c.Term = "number", sentence.Number
	case "text", "pattern", "clock", "layout":
		c.Picker = "text"
	}
	return c
}

// termValue returns what a picker begins with.
func termValue(t sentence.Term) any {
	switch t.Kind {
	case sentence.List:
		list := []string{}
		for _, item := range t.List {
			list = append(list, item.Text)
		}
		return list
	case sentence.Value, sentence.Question:
		return nil
	}
	return t.Text
}

// ConditionWords puts one condition of a rule into words; empty where a part of it has none.
func (m *Maker) ConditionWords(f form.Form, expression string) string {
	w := &writer{m, f, nil}
	c := sentence.Read(expression)
	if len(c.ByHand()) > 0 {
		return ""
	}
	return w.said(w.condition("", c, w.scope(nil)))
}

// said puts a condition into words, groups included.
func (w *writer) said(c Condition) string {
	if c.Group == "" {
		return c.Words()
	}
	var parts []string
	for _, one := range c.Of {
		parts = append(parts, w.said(one))
	}
	between := " " + w.T("form.and") + " "
	if c.Group != sentence.All {
		between = " " + w.T("studio.or") + " "
	}
	text := strings.Join(parts, between)
	if c.Group == sentence.None {
		return w.T("studio.group.none") + ": " + text
	}
	return text
}

// SpanWords puts a length of time into words.
func (m *Maker) SpanWords(f form.Form, text string) string {
	w := &writer{m, f, nil}
	return w.span(text, w.scope(nil))
}
