// Package form reads a rule as the fields of a form, and writes the fields back into the rule's
// file without changing anything else.
//
// YAML carries what the form has no field for, so that a form holds the whole rule. Writing a form
// back as it was read leaves the file unchanged, byte for byte.
package form

// A Form is one rule. An empty field is an absent key, which Write removes; every value is as a
// person types it, without quotes.
type Form struct {
	ID          string   `json:"id"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Stage       string   `json:"stage,omitempty"`  // draft, shadow or live
	Sample      string   `json:"sample,omitempty"` // 10%
	When        When     `json:"when"`
	From        string   `json:"from,omitempty"`     // others or any
	Claimed     string   `json:"claimed,omitempty"`  // skip or run
	Internal    string   `json:"internal,omitempty"` // skip or run
	Gather      *Gather  `json:"gather,omitempty"`
	If          []string `json:"if,omitempty"` // expressions that must all be true
	By          string   `json:"by,omitempty"` // an expression
	Mode        string   `json:"mode,omitempty"`
	Limit       *Limit   `json:"limit,omitempty"`
	Late        *Late    `json:"late,omitempty"`
	Max         string   `json:"max,omitempty"`
	CancelOn    []Match  `json:"cancel_on,omitempty"`
	Do          []Step   `json:"do"`
	OnError     []Step   `json:"on_error,omitempty"`

	// YAML holds the values of keys that the fields above cannot hold: unknown keys, and values of
	// another shape than the language expects. A key that is here has no field above.
	YAML map[string]string `json:"yaml,omitempty"`
}

// A When is what starts the rule: events, or a schedule.
type When struct {
	Events   []string  `json:"events,omitempty"` // names, patterns such as kanban.card.*, and manual
	Schedule *Schedule `json:"schedule,omitempty"`
}

// A Schedule starts a rule by the clock. One of Every, Cron and At is given.
type Schedule struct {
	Every    string   `json:"every,omitempty"`
	Cron     string   `json:"cron,omitempty"`
	At       []string `json:"at,omitempty"`
	On       []string `json:"on,omitempty"`
	Timezone string   `json:"timezone,omitempty"`
	Each     string   `json:"each,omitempty"`  // attendances, conversations, contacts or cards
	Where    []Arg    `json:"where,omitempty"` // the filters of Each
}

// A Gather collects events into one run.
type Gather struct {
	Quiet  string `json:"quiet,omitempty"`
	AtMost string `json:"at_most,omitempty"`
}

// A Limit bounds the runs of a rule.
type Limit struct {
	Times string `json:"times,omitempty"`
	Per   string `json:"per,omitempty"`
	By    string `json:"by,omitempty"` // an expression
}

// A Late says what happens to events and ticks that come late.
type Late struct {
	SkipAfter string `json:"skip_after,omitempty"` // a duration, or none
	Run       string `json:"run,omitempty"`        // last, all or none
}

// A Match is events that cancel a run.
type Match struct {
	Events []string `json:"events"`
	If     string   `json:"if,omitempty"` // an expression
}

// A Step is one step of a rule. One that has no fields has only YAML.
type Step struct {
	Verb    string `json:"verb,omitempty"`
	Args    []Arg  `json:"args,omitempty"`
	ID      string `json:"id,omitempty"`
	If      string `json:"if,omitempty"` // an expression
	Retry   *Retry `json:"retry,omitempty"`
	OnError string `json:"on_error,omitempty"` // stop or continue

	EvenIfMuted string `json:"even_if_muted,omitempty"` // true or false
	Enabled     string `json:"enabled,omitempty"`       // false for a step that is switched off

	YAML string `json:"yaml,omitempty"` // the whole step
}

// A Retry bounds the attempts of a step.
type Retry struct {
	Times string `json:"times,omitempty"`
	For   string `json:"for,omitempty"`
}

// A Branch is one way of a choose.
type Branch struct {
	If   string `json:"if,omitempty"`   // an expression
	Else bool   `json:"else,omitempty"` // the last one, which has no If
	Do   []Step `json:"do"`
}

// An Arg is an argument of a step, a filter of a schedule, or a part of either. An absent argument
// is not given.
type Arg struct {
	Name string `json:"name"`
	As   As     `json:"as,omitempty"` // which of the fields below holds the value

	Text     string   `json:"text,omitempty"`
	List     []string `json:"list,omitempty"`
	Fields   []Arg    `json:"fields,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`
	Branches []Branch `json:"branches,omitempty"`
	YAML     string   `json:"yaml,omitempty"`
}

// An As says how the value of an argument is given.
type As string

// The ways to give a value. Which of them an argument usually takes is in the Catalogue.
const (
	AsText     As = ""         // Text: a text, a name, a number, true or false, a duration, an expression
	AsList     As = "list"     // List: several of them, or none
	AsFields   As = "fields"   // Fields: names with values
	AsSteps    As = "steps"    // Steps
	AsBranches As = "branches" // Branches
	AsNull     As = "null"     // an explicit null
	AsYAML     As = "yaml"     // YAML: anything else
)
