package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/source"
)

// maxExpressions bounds the expressions of one file, and with them the memory that compiling it takes.
const maxExpressions = 4000

// maxPatterns bounds the size of all patterns of one file together.
const maxPatterns = 20 * maxPattern

// Options are what a rule set is compiled with.
type Options struct {
	Catalog *Catalog
	// ReadFile returns a file that a rule file names, such as an .ics of holidays, by its path relative to the rule
	// file; nil when rules may name none.
	ReadFile func(ruleFile, name string) ([]byte, error)
}

// A Set is a compiled rule set.
type Set struct {
	Rules     []*Rule // those that can be used, in the order of their ids
	Broken    []Broken
	Tests     []*Test
	Calendars map[string]*calendar.Calendar

	byID   map[string]*Rule
	index  map[string]*typeIndex
	cycles []Cycle
}

// Broken is a rule that could not be compiled. It stays visible with its reasons.
type Broken struct {
	ID       string
	File     string
	Line     int
	Problems Problems
}

// Rule returns a rule by its id, or nil.
func (s *Set) Rule(id string) *Rule { return s.byID[id] }

// Names returns what the rules name of the service, for checking it online.
func (s *Set) Names() []NameUse {
	var names []NameUse
	for _, r := range s.Rules {
		names = append(names, r.names...)
	}
	return names
}

// A compiler compiles a rule set. It reports every problem that it finds and goes on.
type compiler struct {
	options  Options
	catalog  *Catalog
	set      *Set
	problems Problems

	file         *File
	rule         *Rule
	vars         map[string]any
	varTypes     *Type
	calendars    map[string]*source.Node // the keys under which they stand
	sources      map[string]string       // their text, with .ics files taken in
	reported     int
	environments map[string]*environment // of the file
	unread       Problems                // of the file's form, that have not been found to stand in a rule
	expressions  int
	patterns     int // their size
	stepIDs      map[string]*source.Node
	sends        *source.Node    // the first send_message of the rule without a `to`
	used         map[string]bool // calendars that the rule names
	usedVars     map[string]bool
}

// checking lets one compilation after the other have expr's checker, which notes in the types of facts, shared by all, what it has looked up.
var checking sync.Mutex

// Compile compiles the files as one rule set; their order does not matter. The set holds every rule that is
// free of errors, also when there are problems with others. It may be called by many goroutines: they take turns.
func Compile(files []*File, options Options) (*Set, Problems) {
	checking.Lock()
	defer checking.Unlock()
	c := &compiler{
		options: options, catalog: options.Catalog,
		set:       &Set{Calendars: make(map[string]*calendar.Calendar), byID: make(map[string]*Rule)},
		calendars: make(map[string]*source.Node), sources: make(map[string]string),
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b *File) int { return compareText(a.Name, b.Name) })
	for _, f := range files {
		c.file = f
		c.compileCalendars()
	}
	seen := make(map[string]*source.Node)
	for _, f := range files {
		c.file, c.expressions, c.patterns, c.reported, c.unread = f, 0, 0, 0, slices.Clone(f.Problems)
		c.compileVars()
		for i, node := range f.rules {
			c.compileRule(node, f.endOfRule(i), seen)
		}
		c.problems = append(c.problems, c.unread...)
	}
	slices.SortFunc(c.set.Rules, func(a, b *Rule) int { return compareText(a.ID, b.ID) })
	for i, r := range c.set.Rules {
		r.ordinal = i
	}
	c.reportCycles()
	for _, r := range c.set.Rules {
		c.set.byID[r.ID] = r
	}
	c.set.index = buildIndex(c.set.Rules)
	for _, f := range files {
		c.file, c.rule = f, nil
		for _, node := range f.tests {
			c.compileTest(node, seen)
		}
	}
	return c.set, c.problems.Sort()
}

// report adds an error at a node.
func (c *compiler) report(n *source.Node, hint, format string, args ...any) {
	c.add(n.At(source.Error, fmt.Sprintf(format, args...), hint))
}

// warn adds a warning at a node.
func (c *compiler) warn(n *source.Node, hint, format string, args ...any) {
	c.add(n.At(source.Warning, fmt.Sprintf(format, args...), hint))
}

// maxProblems is how many problems of a file are worth reading.
const maxProblems = 1000

func (c *compiler) add(p Problem) {
	if c.reported++; c.reported > maxProblems {
		if c.reported == maxProblems+1 {
			p.Message, p.Hint = "there are more problems; only the first are shown", ""
			c.problems = append(c.problems, p)
		}
		return
	}
	if c.rule != nil {
		p.Rule = c.rule.ID
	}
	c.problems = append(c.problems, p)
}

// compileVars reads the file's constants.
func (c *compiler) compileVars() {
	c.rule = nil
	c.vars = make(map[string]any)
	var fields []Field
	if c.file.vars != nil {
		c.warnOfSecrets(c.file.vars, "", false)
		for _, p := range c.file.vars.Pairs {
			if !identifier.MatchString(p.Key.Value) {
				c.report(p.Key, "use letters, digits and _", "%q is not a name that expressions can use", p.Key.Value)
				continue
			}
			v := p.Value.Any()
			c.vars[p.Key.Value] = exprValue(v)
			fields = append(fields, Field{Name: p.Key.Value, Type: typeOf(v)})
		}
	}
	c.varTypes = Object(fields...)
	c.environments = make(map[string]*environment)
}

// exprValue makes numbers what the types of the language say they are.
func exprValue(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case []any:
		for i := range v {
			v[i] = exprValue(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = exprValue(v[key])
		}
	}
	return v
}

// expression compiles the expression that a scalar holds.
func (c *compiler) expression(n *source.Node, env *environment, want *Type) *Expression {
	if n.Kind != source.Scalar {
		c.report(n, expressionHint(n), "an expression is needed here, not %s", n.Kind)
		return nil
	}
	return c.expressionAt(n, 0, n.Value, env, want)
}

func expressionHint(n *source.Node) string {
	if n.Kind == source.Mapping {
		return "put an expression that holds { or \": \" in quotes"
	}
	return ""
}

// expressionAt compiles an expression that stands at an offset inside a scalar.
func (c *compiler) expressionAt(n *source.Node, offset int, text string, env *environment, want *Type) *Expression {
	if c.expressions++; c.expressions > maxExpressions {
		if c.expressions == maxExpressions+1 {
			c.report(n, "split the file", "the file holds more than %d expressions", maxExpressions)
		}
		return nil
	}
	if c.patterns > maxPatterns {
		return nil // reported with the one that was too much
	}
	x, issues := compileExpression(text, env, want)
	if x != nil {
		if c.patterns += x.patterns; c.patterns > maxPatterns {
			c.report(n, "use smaller counts in { }, or split the file", "the patterns of the file are too large together")
		}
	}
	for _, i := range issues {
		if i.message == endsTooEarly && !n.Quoted && strings.Contains(lineOf(n), " #") {
			i.hint = "in YAML a # behind a space begins a comment: put quotes around the whole expression"
		}
		c.add(i.at(n, offset))
	}
	if x != nil {
		c.note(x)
		c.noteData(x, n, offset)
		for _, i := range x.doubts {
			c.add(n.AtOffset(offset+i.offset, source.Warning, i.message, i.hint))
		}
		x.doubts = nil
		if c.rule != nil && c.rule.hearsNothing() && slices.Contains(x.calls, "count_events") {
			c.warn(n, "count in a rule on the event, or over attendances or conversations", "count_events is always 0 in a rule that is started by %s", c.rule.started())
		}
	}
	return x
}

// note records what an expression needs, for the rule's scopes.
func (c *compiler) note(x *Expression) {
	if c.rule == nil {
		return
	}
	for _, fact := range x.needs {
		c.reads(readScopes[fact])
	}
	c.rule.Facts = union(c.rule.Facts, x.needs)
	for _, name := range x.calls {
		c.reads(functionByName[name].reads)
		c.rule.Facts = union(c.rule.Facts, []string{functionByName[name].asksFor(x.env)})
	}
	c.rule.counts = union(c.rule.counts, x.counts)
	for _, name := range x.usesCalendars {
		c.used[name] = true
	}
	for _, name := range x.usesVars {
		c.usedVars[name] = true
	}
}

func (c *compiler) reads(scopes ...string) { c.rule.Reads = union(c.rule.Reads, scopes) }

// union adds those of more that are missing, in order, without the empty one.
func union(list, more []string) []string {
	for _, s := range more {
		if i, found := slices.BinarySearch(list, s); !found && s != "" {
			list = slices.Insert(list, i, s)
		}
	}
	return list
}

// text returns a scalar's text.
func (c *compiler) text(n *source.Node, what string) (string, bool) {
	if n.Kind != source.Scalar {
		c.report(n, "", "%s must be a text, not %s", what, n.Kind)
		return "", false
	}
	return n.Value, true
}

// static returns the text of a scalar that must be known when the rule is loaded: it may use vars and nothing else.
func (c *compiler) static(n *source.Node, what string) (string, bool) {
	s, ok := c.text(n, what)
	if !ok {
		return "", false
	}
	segments, problem := splitTemplate(s)
	if problem != nil {
		c.add(problem.at(n, 0))
		return "", false
	}
	if !slices.ContainsFunc(segments, func(s segment) bool { return s.expression }) {
		return s, true
	}
	env := &environment{names: map[string]*Type{"vars": c.varTypes}, starts: what}
	v := c.template(n, segments, env, nil)
	if v == nil {
		return "", false
	}
	e := NewEvaluation(context.Background(), &Rule{vars: c.vars}, nil)
	out, err := e.Render(v)
	if err != nil {
		c.report(n, "", "%v", err)
		return "", false
	}
	return textOf(out), true
}

func (c *compiler) duration(n *source.Node, what string) (time.Duration, bool) {
	s, ok := c.static(n, what)
	if !ok {
		return 0, false
	}
	d, err := ParseDuration(s)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s must be longer than nothing", what)
	}
	if err != nil {
		c.report(n, "", "%v", err)
		return 0, false
	}
	return d, true
}

// number reads a whole number from 1 on.
func (c *compiler) number(n *source.Node, what string, most int) (int, bool) {
	s, ok := c.static(n, what)
	if !ok {
		return 0, false
	}
	var i int
	if _, err := fmt.Sscanf(s+"\n", "%d\n", &i); err != nil || fmt.Sprint(i) != s || i < 1 || i > most {
		c.report(n, "", "%s must be a whole number from 1 to %d, not %q", what, most, s)
		return 0, false
	}
	return i, true
}

func (c *compiler) choice(n *source.Node, what string, values []string) (string, bool) {
	s, ok := c.text(n, what)
	if !ok {
		return "", false
	}
	if !slices.Contains(values, s) {
		c.report(n, source.OneOf(s, values), "%s cannot be %q", what, s)
		return "", false
	}
	return s, true
}

// oneOrMore returns the items of a list, or the node itself where there is only one.
func oneOrMore(n *source.Node) []*source.Node {
	switch n.Kind {
	case source.List:
		return n.Items
	case source.Null:
		return nil
	}
	return []*source.Node{n}
}

// notEmpty reports a key or a list with nothing in it: it would mean something else than it says.
func (c *compiler) notEmpty(n *source.Node, what, hint string) {
	if n.Kind == source.Null || (n.Kind == source.List && len(n.Items) == 0) {
		c.report(n, hint, "%s is empty", what)
	}
}

// mapping reports a node that is no mapping, and its keys that are none of those allowed.
func (c *compiler) mapping(n *source.Node, what string, keys ...string) bool {
	if n.Kind != source.Mapping {
		c.report(n, mappingExamples[what], "%s must be a mapping of %s, not %s", what, list(keys), n.Kind)
		return false
	}
	for _, p := range n.Pairs {
		if !slices.Contains(keys, p.Key.Value) {
			hint := source.OneOf(p.Key.Value, keys)
			if other := otherKeys[p.Key.Value]; what == "a rule" && other != "" {
				hint = other
			}
			c.report(p.Key, hint, "%s has no key %q", what, p.Key.Value)
		}
	}
	return true
}

// mappingExamples show what to write for a key that wants a mapping.
var mappingExamples = map[string]string{
	"gather": "as in { quiet: 20s, at_most: 2m }", "limit": "as in { times: 1, per: 12h }", "late": "as in { skip_after: 30m }", "retry": "as in { times: 3, for: 10m }",
	"faults": "faults: all is all of them",
}

// required reports a key that is missing from a mapping, unless it is there misspelt, which has been reported.
func (c *compiler) required(n *source.Node, what, key string) *source.Node {
	v := n.Get(key)
	if v != nil && v.Kind != source.Null {
		return v
	}
	if !misspelt(n, key) {
		c.report(n, "", "%s needs %q", what, key)
	}
	return nil
}

// hasUnknown reports whether a mapping has a key that it should not: what is missing may be meant by it.
func hasUnknown(n *source.Node, keys []string) bool {
	return n.Broken || slices.ContainsFunc(n.Pairs, func(p source.Pair) bool { return !slices.Contains(keys, p.Key.Value) })
}

func misspelt(n *source.Node, key string) bool {
	return n.Broken || slices.ContainsFunc(n.Pairs, func(p source.Pair) bool { return source.Near(p.Key.Value, []string{key}) == key })
}
