package form

import (
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

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
	Control  bool        `json:"control,omitempty"`  // it controls the run and does not call the service
	Example  string      `json:"example,omitempty"`  // as YAML, behind the verb
}

// An Argument is what a verb, or the filters of a schedule, can be given.
type Argument struct {
	Name     string     `json:"name"`
	Summary  string     `json:"summary"`
	Kind     string     `json:"kind"`         // text, name, names, flag, number, choice, duration, span, time, fields, target, data, expression, events, steps, branches, settings, headers, query, numbers or zone
	As       As         `json:"as,omitempty"` // how it is usually given
	Required bool       `json:"required,omitempty"`
	Values   []string   `json:"values,omitempty"`  // of a choice
	Refers   string     `json:"refers,omitempty"`  // what a name is of: label, sector, person, teammate, channel, board, stage, media, calendar
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

// kinds name the kinds of arguments for a program.
var kinds = map[rules.Kind]string{
	rules.KindText: "text", rules.KindName: "name", rules.KindNames: "names", rules.KindFlag: "flag", rules.KindNumber: "number", rules.KindChoice: "choice",
	rules.KindDuration: "duration", rules.KindWhen: "time", rules.KindFields: "fields", rules.KindTarget: "target", rules.KindData: "data",
	rules.KindExpression: "expression", rules.KindEvent: "events", rules.KindSpan: "span", rules.KindSteps: "steps", rules.KindBranches: "branches",
	rules.KindSettings: "settings", rules.KindHeaders: "headers", rules.KindZone: "zone", rules.KindQuery: "query", rules.KindNumbers: "numbers",
}

// usual says how an argument of a kind is given, where it is not as one text.
var usual = map[rules.Kind]As{
	rules.KindNames: AsList, rules.KindEvent: AsList, rules.KindFields: AsFields, rules.KindTarget: AsFields, rules.KindSettings: AsFields,
	rules.KindHeaders: AsFields, rules.KindQuery: AsFields, rules.KindNumbers: AsList, rules.KindSteps: AsSteps, rules.KindBranches: AsBranches, rules.KindData: AsYAML,
}

// NewCatalogue describes the language with its verbs.
func NewCatalogue(c *rules.Catalog) Catalogue {
	var out Catalogue
	for _, k := range rules.RuleKeys {
		key := Key{Name: k.Name, Default: k.Default, Required: k.Default == "required", Summary: k.Doc, Values: k.Values()}
		if key.Required {
			key.Default = ""
		}
		out.Keys = append(out.Keys, key)
	}
	for _, e := range append(vocabulary.Events(), *vocabulary.EventOf(vocabulary.Manual)) {
		out.Events = append(out.Events, Event{e.Type, e.Doc, e.Facts})
	}
	for _, e := range rules.EachItems() {
		out.Each = append(out.Each, Each{e.Name, arguments(e.Filters), e.Facts})
	}
	own, err := rules.NewCatalog()
	if err != nil {
		panic(err) // without actions there are no two of one name
	}
	for _, s := range c.Schemas() {
		out.Verbs = append(out.Verbs, Verb{
			Name: s.Verb, Summary: s.Summary, Main: s.Main, Args: arguments(s.Args),
			OneOf: s.OneOf, Together: s.Together, Not: s.Not, Result: s.Result != nil, Control: own.Verb(s.Verb) != nil, Example: s.Example,
		})
	}
	out.Facts = factsOf(rules.FactTypes())
	for _, f := range rules.Functions() {
		out.Functions = append(out.Functions, Function{f.Name, f.Signature, f.Doc})
	}
	return out
}

func arguments(args []rules.Arg) []Argument {
	out := []Argument{}
	for _, a := range args {
		refers := a.Refers
		if a.Kind == rules.KindSpan {
			refers = "calendar" // behind "of"
		}
		argument := Argument{
			Name: a.Name, Summary: a.Summary, Kind: kinds[a.Kind], As: usual[a.Kind], Required: a.Required,
			Values: a.Values, Refers: refers, Min: a.Min, Max: a.Max, Longest: a.Longest, Null: a.Null,
		}
		if len(a.Fields) > 0 {
			argument.Fields = arguments(a.Fields)
		}
		out = append(out, argument)
	}
	return out
}

func factsOf(fields []rules.Field) []Fact {
	var out []Fact
	for _, f := range fields {
		fact := Fact{Name: f.Name, Type: f.Type.String(), Summary: f.Doc, Values: f.Values, Fields: factsOf(f.Type.Fields())}
		if item := f.Type.Elem(); item != nil {
			fact.Fields = factsOf(item.Fields())
		}
		out = append(out, fact)
	}
	return out
}
