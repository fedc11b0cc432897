package form

import "github.com/quandohq/quando/rules"

// A Catalogue says which fields there are, with a sentence about each.
type Catalogue struct {
	Keys      []Key      `json:"keys"`      // of a rule, in the order in which they are written
	Events    []Event    `json:"events"`    // that a rule, a wait_for or a cancel_on can name
	Each      []Each     `json:"each"`      // what a schedule can go through
	Verbs     []Verb     `json:"verbs"`     // the actions, then the language's own
	Facts     []Fact     `json:"facts"`     // that expressions can see
	Functions []Function `json:"functions"` // that expressions can call, beside those of the expression language
}

// A Key is one key of a rule.
type Key struct {
	Name     string   `json:"name"`
	Default  string   `json:"default,omitempty"` // what counts without it
	Required bool     `json:"required,omitempty"`
	Summary  string   `json:"summary"`
	Values   []string `json:"values,omitempty"` // the only ones that it can have
}

// An Event is something that can start a rule.
type Event struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Facts   []string `json:"facts"` // that come with it
}

// An Each is what a schedule can go through, one run for each.
type Each struct {
	Name    string     `json:"name"`
	Filters []Argument `json:"filters"`
	Facts   []string   `json:"facts"` // that come with an item
}

// A Verb is what a step can do.
type Verb struct {
	Name    string     `json:"name"`
	Summary string     `json:"summary"`
	Main    string     `json:"main,omitempty"` // the argument that is written without its name
	Args    []Argument `json:"args"`

	OneOf    []string    `json:"one_of,omitempty"`   // at least one of these is needed
	Together [][2]string `json:"together,omitempty"` // the first makes no sense without the second
	Not      [][2]string `json:"not,omitempty"`      // that exclude each other
	Result   bool        `json:"result,omitempty"`   // later steps can see its result under the step's id
	Control  bool        `json:"control,omitempty"`  // it steers the run and does nothing to the service
	Example  string      `json:"example,omitempty"`  // as YAML, behind the verb
}

// An Argument is what a verb, or the filters of a schedule, can be given.
type Argument struct {
	Name     string     `json:"name"`
	Summary  string     `json:"summary"`
	Kind     string     `json:"kind"`         // text, name, names, flag, number, choice, duration, span, time, fields, target, data, expression, events, steps, branches, settings, headers or zone
	As       As         `json:"as,omitempty"` // how it is usually given
	Required bool       `json:"required,omitempty"`
	Values   []string   `json:"values,omitempty"`  // of a choice
	Refers   string     `json:"refers,omitempty"`  // what a name is of: label, sector, person, channel, board, stage, media, calendar
	Fields   []Argument `json:"fields,omitempty"`  // of fields and targets
	Min      int        `json:"min,omitempty"`     // of a number
	Max      int        `json:"max,omitempty"`     // of a number; 0 is no bound
	Longest  int        `json:"longest,omitempty"` // of a text, in characters; 0 is no bound
	Null     bool       `json:"null,omitempty"`    // it can be given as nothing
}

// A Fact is a value that expressions can see, or a part of one.
type Fact struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"` // in words
	Summary string   `json:"summary"`
	Values  []string `json:"values,omitempty"` // the only ones that it can have
	Fields  []Fact   `json:"fields,omitempty"` // of an object, or of the items of a list
}

// A Function is what expressions can call.
type Function struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
	Summary   string `json:"summary"`
}

// NewCatalogue describes the language with its verbs.
func NewCatalogue(c *rules.Catalog) Catalogue {
	return Catalogue{}
}
