// Package sentence reads the expressions of rules as people say them, and prints them again.
//
// A condition is a group of conditions, a sentence of the catalogue with its blanks filled, or an
// expression by hand where no sentence says it. A text with {{ }} in it is words and chips. Reading
// never fails and loses nothing: what is by hand is the smallest part possible.
//
// Two expressions that decide alike may be read as the same sentence, so a printed expression can
// differ from the one that was read; Write and WriteText keep what was not changed, byte for byte.
package sentence

import "reflect"

// A Condition is a group, a sentence, or an expression by hand: one of Group, Sentence and Hand is
// set. The zero value is no condition at all.
type Condition struct {
	Group Group       `json:"group,omitempty"`
	Of    []Condition `json:"of,omitempty"` // the conditions of a group

	Sentence string          `json:"sentence,omitempty"` // its key in the catalogue
	Not      bool            `json:"not,omitempty"`      // the contrary of the sentence
	Blanks   map[string]Term `json:"blanks,omitempty"`

	Hand string `json:"hand,omitempty"` // an expression
}

// A Group says how many of its conditions must be true.
type Group string

// The groups.
const (
	All  Group = "all"
	Any  Group = "any"
	None Group = "none"
)

// A Term is a value as people see it.
type Term struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text,omitempty"` // of every kind but list, value and condition

	List      []Term          `json:"list,omitempty"`
	Value     string          `json:"value,omitempty"` // its key in the catalogue
	Blanks    map[string]Term `json:"blanks,omitempty"`
	Condition *Condition      `json:"condition,omitempty"`

	// Wraps are what is done to the value that people need not see, the innermost first, such as
	// trim, or or_text, which takes an empty text for a missing one.
	Wraps []string `json:"wraps,omitempty"`
}

// A Kind says what a term is.
type Kind string

// The kinds of terms.
const (
	Text     Kind = "text"
	Number   Kind = "number"
	Duration Kind = "duration" // 15m
	Flag     Kind = "flag"     // true or false
	Date     Kind = "date"     // 2026-12-24
	List     Kind = "list"
	Name     Kind = "name"      // a fact, a variable, the result of a step, an item: contact.name, vars.phone, answer?.message?.text, #.text
	Value    Kind = "value"     // a value of the catalogue with its blanks, such as next_open
	Question Kind = "condition" // whether a condition is true
	Hand     Kind = "hand"      // an expression
)

// ByHand returns the expressions in a condition that no sentence says.
func (c Condition) ByHand() (list []string) {
	if c.Hand != "" {
		list = append(list, c.Hand)
	}
	for _, part := range c.Of {
		list = append(list, part.ByHand()...)
	}
	for _, name := range blankNames(c.Blanks) {
		list = append(list, c.Blanks[name].ByHand()...)
	}
	return list
}

// ByHand returns the expressions in a term that the catalogue does not have.
func (t Term) ByHand() (list []string) {
	if t.Kind == Hand {
		list = append(list, t.Text)
	}
	for _, item := range t.List {
		list = append(list, item.ByHand()...)
	}
	for _, name := range blankNames(t.Blanks) {
		list = append(list, t.Blanks[name].ByHand()...)
	}
	if t.Condition != nil {
		list = append(list, t.Condition.ByHand()...)
	}
	return list
}

// Same reports whether two conditions say the same in the same words.
func (c Condition) Same(other Condition) bool { return reflect.DeepEqual(c, other) }

// Same reports whether two terms are the same.
func (t Term) Same(other Term) bool { return reflect.DeepEqual(t, other) }

// IsZero reports whether there is no condition.
func (c Condition) IsZero() bool { return c.Group == "" && c.Sentence == "" && c.Hand == "" }
