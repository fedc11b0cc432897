package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// maxExpressions bounds the expressions of one file, and with them the memory that compiling it
// takes.
const maxExpressions = 4000

// maxPatterns bounds the size of all patterns of one file together.
const maxPatterns = 20 * maxPattern

// Options are what a rule set is compiled with.
type Options struct {
	Catalog *Catalog
	// ReadFile returns a file that a rule file names, such as an .ics of holidays, by its path
	// relative to the rule file; nil when rules may name none.
	ReadFile func(ruleFile, name string) ([]byte, error)
	// People are the names of the persons that rules may write to; nil when they are not known, and
	// not checked.
	People []string
}

// A compiler compiles a rule set. It reports every problem that it finds and continues.
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
	off          map[string]int  // the lines of the results of steps that are switched off
	offSteps     int             // the steps that are switched off around what is compiled
	sends        *source.Node    // the first send_message of the rule without a `to`
	known        bool            // the rule has made sure that there is a conversation, or was warned
	answers      map[string]bool // ids of the rule's steps that call other systems
	used         map[string]bool // calendars that the rule names
	usedVars     map[string]bool
	looked       map[secretLook]bool   // values of the file already checked for secrets
	cut          map[*source.Node]bool // values that end at a comma inside a call
	ctx          context.Context       // that ends the compilation
}

// Compile compiles the files as one rule set; their order does not matter. The set holds every rule
// that is free of errors, also when there are problems with others. It may be called by many
// goroutines.
func Compile(files []*File, options Options) (*Set, Problems) {
	set, problems, _ := CompileContext(context.Background(), files, options) // nothing ends it
	return set, problems
}

// CompileContext does the same, and stops when ctx ends. It returns no other error.
func CompileContext(ctx context.Context, files []*File, options Options) (*Set, Problems, error) {
	c := &compiler{
		ctx: ctx, options: options, catalog: options.Catalog,
		set:       &Set{Calendars: make(map[string]*calendar.Calendar), byID: make(map[string]*Rule)},
		calendars: make(map[string]*source.Node), sources: make(map[string]string), cut: make(map[*source.Node]bool),
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
		c.looked = make(map[secretLook]bool)
		c.compileVars()
		for i, node := range f.rules {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			c.compileRule(node, f.endOfRule(i), seen)
		}
		c.problems = append(c.problems, c.unread...)
	}
	slices.SortFunc(c.set.Rules, func(a, b *Rule) int { return compareText(a.ID, b.ID) })
	c.reportSplits()
	for i, r := range c.set.Rules {
		r.ordinal = i
	}
	c.reportCycles()
	for _, r := range c.set.Rules {
		c.set.byID[r.ID] = r
	}
	c.set.index, c.set.claims = buildIndex(c.set.Rules), slices.ContainsFunc(c.set.Rules, (*Rule).claims)
	for _, f := range files {
		c.file, c.rule = f, nil
		for _, node := range f.tests {
			c.compileTest(node, seen)
		}
	}
	if ctx.Err() != nil { // then expressions were left out
		return nil, nil, ctx.Err()
	}
	return c.set, c.problems.Sort(), nil
}

// say makes a hint, or another part of a message.
func say(format string, args ...any) *phrases.Message { return phrases.Sprintf(format, args...) }

// report adds an error at a node.
func (c *compiler) report(n *source.Node, hint *phrases.Message, format string, args ...any) {
	c.add(n.At(source.Error, say(format, args...), hint))
}

// warn adds a warning at a node.
func (c *compiler) warn(n *source.Node, hint *phrases.Message, format string, args ...any) {
	c.add(n.At(source.Warning, say(format, args...), hint))
}

// maxProblems is how many problems of a file are worth reading.
const maxProblems = 1000

func (c *compiler) add(p Problem) {
	if c.reported++; c.reported > maxProblems {
		if c.reported == maxProblems+1 {
			c.problems = append(c.problems, p.Saying(say("there are more problems; only the first are shown"), nil))
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
				c.report(p.Key, say("use letters, digits and _"), "%q is not a name that expressions can use", p.Key.Value)
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
	if c.cut[n] {
		return nil // it is reported already
	}
	if n.Kind != source.Scalar {
		c.report(n, expressionHint(n), "an expression is needed here, not %s", n.Kind)
		return nil
	}
	return c.expressionAt(n, 0, n.Value, env, want)
}

// expressionHint says how to write as an expression what other tools write as a mapping or a list.
func expressionHint(n *source.Node) *phrases.Message {
	if n.Kind == source.List {
		return say("put quotes around the list, as in \"[%s]\"", written(n.Items, ", "))
	}
	if n.Kind != source.Mapping || n.Broken {
		return nil
	}
	var all []string // conditions that must be true together
	for _, p := range n.Pairs {
		name, value := strings.ToLower(p.Key.Value), p.Value
		switch {
		case name == "conditions" && n.Get("condition") != nil:
			name = n.Get("condition").Value
		case name == "value_template":
			return say("write the expression itself, as in %s", strings.Trim(value.Value, "{} "))
		case value.Kind == source.Mapping && len(value.Pairs) == 1: // message.text: { in: [1, 2] }
			name, value = p.Key.Value+" "+value.Pairs[0].Key.Value, value.Pairs[0].Value
		}
		switch {
		case slices.Contains([]string{"or", "any", "ou"}, name) && len(all) > 0:
			all = append(all, "("+written(value.Items, " or ")+")")
		case slices.Contains([]string{"or", "any", "ou"}, name):
			return say("write or between the conditions: %s", written(value.Items, " or "))
		case slices.Contains([]string{"and", "all", "e"}, name):
			all = append(all, written(value.Items, " and "))
		case name == "not" || name == "não" || name == "nao":
			return say("write not in front of the condition: not %s", written(oneOrMore(value), " and not "))
		case strings.HasSuffix(name, " in") && value.Kind == source.List:
			return say("write %s [%s]", name, quotedItems(value))
		}
	}
	if len(all) > 0 {
		return say("write and between the conditions: %s", strings.Join(all, " and "))
	}
	return say("write a condition in one line, as in conversation.kind == \"direct\", with quotes around it where it holds { or \": \"")
}

// written returns conditions as they are written, joined.
func written(items []*source.Node, between string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		if texts[i] = item.Value; item.Kind != source.Scalar {
			texts[i] = "…"
		}
	}
	if len(texts) == 0 {
		return "…"
	}
	return strings.Join(texts, between)
}

// quotedItems returns the items of a list as texts of an expression.
func quotedItems(n *source.Node) string {
	texts := make([]string, len(n.Items))
	for i, item := range n.Items {
		texts[i] = fmt.Sprintf("%q", item.Value)
	}
	return strings.Join(texts, ", ")
}

// expressionAt compiles an expression that stands at an offset inside a scalar.
func (c *compiler) expressionAt(n *source.Node, offset int, text string, env *environment, want *Type) *Expression {
	if c.expressions++; c.expressions > maxExpressions {
		if c.expressions == maxExpressions+1 {
			c.report(n, say("split the file"), "the file holds more than %d expressions", maxExpressions)
		}
		return nil
	}
	if c.patterns > maxPatterns || c.ctx.Err() != nil {
		return nil // reported with the one that was too much, or given up
	}
	x, issues := compileExpression(text, env, want)
	if x != nil {
		if c.patterns += x.patterns; c.patterns > maxPatterns {
			c.report(n, say("use smaller counts in { }, or split the file"), "the patterns of the file are too large together")
		}
	}
	for _, i := range issues {
		if i.message.String() == endsTooEarly && !n.Quoted && strings.Contains(lineOf(n), " #") {
			i.hint = say("in YAML a # behind a space begins a comment: put quotes around the whole expression")
		}
		if !n.Quoted && strings.Count(n.Value, "(") != strings.Count(n.Value, ")") && besideComma(n) {
			i.hint = say("in [ ] and { } a comma ends a value: put quotes around the whole expression")
		}
		c.add(i.at(n, offset))
	}
	if x != nil {
		c.noteNeeds(x)
		c.noteConversation(x, n, offset)
		c.noteData(x, n, offset)
		c.noteOff(x, n)
		for _, i := range x.doubts {
			c.add(n.AtOffset(offset+i.Offset, source.Warning, i.Message, i.Hint))
		}
		x.doubts = nil
		if c.rule != nil {
			for _, m := range x.mentions {
				c.rule.names = append(c.rule.names, NameUse{Kind: m.kind, Name: m.name, Field: m.field, place: c.place(n, offset+m.offset)})
			}
			x.mentions = nil
		}
		if c.rule != nil && c.rule.hearsNothing() && slices.Contains(x.calls, "count_events") {
			c.warn(n, say("count in a rule on the event, or over attendances or conversations"), "count_events is always 0 in a rule that is started by %s", c.rule.started())
		}
	}
	return x
}

// besideComma reports whether a value begins or ends at a comma of YAML.
func besideComma(n *source.Node) bool {
	p := n.At(source.Error, nil, nil)
	before := []rune(p.Text)[:min(p.Column-1, utf8.RuneCountInString(p.Text))]
	return strings.HasPrefix(lineOf(n), n.Value+",") || strings.HasSuffix(strings.TrimSpace(string(before)), ",")
}

// noteNeeds records what an expression needs, for the rule's scopes.
func (c *compiler) noteNeeds(x *Expression) {
	if c.rule == nil {
		return
	}
	for _, fact := range x.needs {
		if f := vocabulary.FactOf(fact); f != nil {
			c.reads(f.Scope)
		}
	}
	c.reads(x.lookups...)
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
