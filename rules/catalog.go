package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Schema describes one verb. The checker, the JSON Schema and the documentation are all made from it.
type Schema struct {
	Verb    string
	Summary string // one sentence, in the imperative, without a full stop
	Main    string // the argument that a plain value or list stands for
	Args    []Arg

	OneOf    []string    // at least one of these arguments must be given
	Together [][2]string // the first argument makes no sense without the second
	Not      [][2]string // pairs of arguments that exclude each other

	Needs  string   // the fact the step works on
	Unless string   // an argument that takes the place of that fact
	Pins   string   // a fact that the run is about from its beginning on, and no newer one
	Result *Type    // what later steps see under the step's id; nil when there is none
	Gives  string   // the fact that the result becomes
	Scopes []string // that the step's own calls need
	Reads  []string // scopes of the calls that settle a repeat or find what is there already
	Emits  []string // events that the service raises when the step has its effect

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
	Min, Max int      // of a Number; 0 is no bound
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
)

var kindNames = [...]string{
	KindText: "text", KindName: "name", KindNames: "names", KindFlag: "true or false", KindNumber: "number", KindChoice: "choice",
	KindDuration: "duration", KindWhen: "day or time", KindFields: "mapping", KindTarget: "conversation or mapping", KindData: "any",
	KindExpression: "expression", KindEvent: "event", KindSpan: "duration", KindSteps: "steps", KindBranches: "branches", KindSettings: "names and values",
	KindHeaders: "names and texts", KindZone: "time zone",
}

// String names the kind for the documentation.
func (k Kind) String() string { return kindNames[k] }

// OnlyReads reports whether the verb changes nothing: its calls need no scope but those for reading.
func (s *Schema) OnlyReads() bool {
	for _, scope := range s.Scopes {
		if scope != "read" && !strings.HasSuffix(scope, ":read") {
			return false
		}
	}
	return len(s.Scopes) > 0
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
