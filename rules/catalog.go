package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/vocabulary"
)

// A Schema describes one verb. The checker, the JSON Schema and the documentation are all made from
// it.
type Schema struct {
	Verb    string
	Group   string // where people look for it in the menu of steps; among the others if empty
	Summary string // one sentence, in the imperative, without a full stop
	Main    string // the argument that a plain value or list stands for
	Args    []Arg

	OneOf    []string    // at least one of these arguments must be given
	Together [][2]string // the first argument makes no sense without the second
	Not      [][2]string // pairs of arguments that exclude each other

	Needs  string   // the fact the step works on
	Unless []string // arguments each of which replaces that fact
	Pins   string   // a fact that the run is about from its beginning on, and no newer one
	Result *Type    // what later steps see under the step's id; nil when there is none
	Gives  string   // the fact that the result becomes
	Scopes []string // that the step's own calls need
	Reads  []string // scopes of the calls that check a retry or find an existing object
	Emits  []string // events that the service raises for the step's effect

	Outside bool // its calls go to other systems than the service

	Example string // the arguments of a step, as YAML behind "verb: "
}

// An Arg describes one argument of a verb.
type Arg struct {
	Name     string
	Summary  string
	Kind     Kind
	Required bool
	Values   []string // that a Choice may have
	Refers   string   // what a Name or Names names: label, sector, person, channel, board, stage, contact, conversation, card
	Fields   []Arg    // of a Fields or Target argument
	Scopes   []string // that are needed when the argument is given
	Emits    []string // events that the service may raise when the argument is given
	Min, Max int      // of a Number or Numbers; 0 is no bound
	Longest  int      // of a Text, in characters; 0 is no bound
	Null     bool     // may be null
	Address  bool     // of a Text: it is an address, in which the values of expressions are escaped
}

// A Kind says how an argument is written.
type Kind int

// The kinds of arguments.
const (
	KindText       Kind = iota // a text with {{ }}
	KindName                   // the name or the id of something of the service
	KindNames                  // one or several of them
	KindFlag                   // true or false
	KindNumber                 // a whole number
	KindChoice                 // one of a few words
	KindDuration               // 15m
	KindWhen                   // a day or a time
	KindFields                 // a mapping of its own arguments
	KindTarget                 // a conversation, or a mapping that names one
	KindData                   // any YAML with {{ }} in its texts
	KindExpression             // an expression
	KindEvent                  // an event's name
	KindSpan                   // a duration, perhaps of a calendar: 15m of office
	KindSteps                  // a list of steps
	KindBranches               // the list of a choose
	KindSettings               // names to values
	KindHeaders                // names to texts
	KindZone                   // an IANA time zone
	KindQuery                  // names to one or several texts each
	KindNumbers                // one or several whole numbers
)

var kindNames = [...]string{
	KindText: "text", KindName: "name", KindNames: "names", KindFlag: "true or false", KindNumber: "number", KindChoice: "choice",
	KindDuration: "duration", KindWhen: "day or time", KindFields: "mapping", KindTarget: "conversation or mapping", KindData: "any",
	KindExpression: "expression", KindEvent: "event", KindSpan: "duration", KindSteps: "steps", KindBranches: "branches", KindSettings: "names and values",
	KindHeaders: "names and texts", KindZone: "time zone", KindQuery: "names and values", KindNumbers: "numbers",
}

// String names the kind for the documentation.
func (k Kind) String() string { return kindNames[k] }

// OnlyReads reports whether the verb changes nothing: its calls need only read scopes.
func (s *Schema) OnlyReads() bool {
	for _, scope := range s.Scopes {
		if scope != "read" && !strings.HasSuffix(scope, ":read") {
			return false
		}
	}
	return len(s.Scopes) > 0
}

// AtHand returns the facts that are at hand after a step of the verb. A step that reads a
// conversation, or the attendance of another one, takes it up with what belongs to it.
func (s *Schema) AtHand(another bool) []vocabulary.Fact {
	switch {
	case s.Gives == vocabulary.Conversation, s.Gives == vocabulary.Attendance && another:
		return []vocabulary.Fact{vocabulary.Conversation, vocabulary.Contact, vocabulary.Attendance}
	case s.Gives != "":
		return []vocabulary.Fact{s.Gives}
	}
	return nil
}

// arg returns the argument of a name, or nil.
func (s *Schema) arg(name string) *Arg {
	for i := range s.Args {
		if s.Args[i].Name == name {
			return &s.Args[i]
		}
	}
	return nil
}

func argNames(args []Arg) []string {
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = a.Name
	}
	return names
}

// A Catalog holds the verbs that rules may use, the language's own and those of the actions.
type Catalog struct {
	schemas []*Schema
	byVerb  map[string]*Schema
}

// NewCatalog returns a catalog of the language's own verbs and the given ones.
func NewCatalog(actions ...Schema) (*Catalog, error) {
	c := &Catalog{byVerb: make(map[string]*Schema)}
	for _, s := range append(slices.Clone(actions), controlVerbs...) {
		if c.byVerb[s.Verb] != nil {
			return nil, fmt.Errorf("two actions have the verb %q", s.Verb)
		}
		c.byVerb[s.Verb] = &s
		c.schemas = append(c.schemas, &s)
	}
	return c, nil
}

// Verb returns the schema of a verb, or nil.
func (c *Catalog) Verb(verb string) *Schema { return c.byVerb[verb] }

// Schemas returns all verbs: the actions in the order given, then the language's own.
func (c *Catalog) Schemas() []*Schema { return c.schemas }

// Verbs returns the names of all verbs.
func (c *Catalog) Verbs() []string {
	names := make([]string, len(c.schemas))
	for i, s := range c.schemas {
		names[i] = s.Verb
	}
	return names
}

func compareText(a, b string) int { return cmp.Compare(a, b) }

// controlVerbs are the verbs of the language itself: they control a run and have no effect outside
// of it.
var controlVerbs = []Schema{
	{
		Verb: "wait", Group: "flow", Main: "for", Summary: "Wait; the run sleeps in the journal and survives a restart",
		Args: []Arg{
			{Name: "for", Kind: KindSpan, Summary: "how long, `15m`, or in opening hours, `15m of office`"},
			{Name: "until", Kind: KindWhen, Summary: "a time, mostly an expression such as `{{ next_open(\"office\") }}`"},
		},
		OneOf: []string{"for", "until"}, Not: [][2]string{{"for", "until"}},
		Example: "15m of office",
	},
	{
		Verb: "wait_for", Group: "flow", Main: "event", Summary: "Wait for an event of the same lane; the result is the event, or nil when the time is over",
		Args: []Arg{
			{Name: "event", Kind: KindEvent, Required: true, Summary: "the event's name, or a list of names"},
			{Name: "if", Kind: KindExpression, Summary: "which of these events counts; `event` and `message` are the arriving ones"},
			{Name: "timeout", Kind: KindSpan, Required: true, Summary: "how long at most, `24h` or `4h of office`"},
			{Name: "claim", Kind: KindFlag, Summary: "`false` lets the event that it takes start other rules too"},
		},
		Result:  EventType,
		Example: "{ event: message.received, timeout: 24h }",
	},
	{
		Verb: "stop_if", Group: "flow", Main: "if", Summary: "End the run when the expression is true",
		Args:    []Arg{{Name: "if", Kind: KindExpression, Required: true, Summary: "the condition"}},
		Example: "attendance.status != \"open\"",
	},
	{
		Verb: "choose", Group: "flow", Main: "branches", Summary: "Take the steps of the first branch whose condition is true",
		Args:    []Arg{{Name: "branches", Kind: KindBranches, Required: true, Summary: "a list of `{if, do}`, and at last `{else: [steps]}`"}},
		Example: "[{ if: says(\"invoice\"), do: [{ set_sector: Finance }] }, { else: [{ set_sector: Support }] }]",
	},
	{
		Verb: "for_each", Group: "flow", Summary: "Take the steps once for each item of a list",
		Args: []Arg{
			{Name: "in", Kind: KindExpression, Required: true, Summary: "an expression that gives a list"},
			{Name: "as", Kind: KindText, Summary: "the item's name in the steps, `item` unless given"},
			{Name: "do", Kind: KindSteps, Required: true, Summary: "the steps"},
			{Name: "max", Kind: KindNumber, Summary: "how many items at most, 100 unless given; a longer list fails the step"},
		},
		Example: "{ in: messages, as: m, do: [{ log: \"{{ m.text }}\" }] }",
	},
	{
		Verb: "stop", Group: "flow", Main: "reason", Summary: "End the run",
		Args:    []Arg{{Name: "reason", Kind: KindText, Summary: "why, for the people who read the run"}},
		Example: "Nothing left to do",
	},
	{
		Verb: "set", Group: "flow", Main: "values", Summary: "Give names to values for the steps that follow",
		Args:    []Arg{{Name: "values", Kind: KindSettings, Required: true, Summary: "names to values"}},
		Example: "{ greeting: \"Hello {{ contact.name }}\" }",
	},
	{
		Verb: "log", Group: "flow", Main: "text", Summary: "Write a line into the run's trace",
		Args:    []Arg{{Name: "text", Kind: KindText, Required: true, Summary: "the line"}},
		Example: "\"{{ contact.name }} is waiting\"",
	},
}
