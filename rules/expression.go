package rules

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/quandohq/quando/rules/internal/suspect"
	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/internal/tree"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// maxExpression is how long an expression may be.
const maxExpression = 2 << 10

// An Expression is a compiled expression of a rule.
type Expression struct {
	Text string

	program *vm.Program
	needs   []string // the facts it reads
	labels  []string // the facts and results whose labels it reads the names of
	calls   []string // the language's functions it calls
	result  *Type
	keys    keySet // what must hold for it to be true, for the index

	patterns      int // the size of its patterns
	usesCalendars []string
	usesVars      []string
	counts        []string        // events that it counts
	data          []dataUse       // what it reads of event.data
	ways          []suspect.Way   // in which it is true; only during compilation
	otherwise     []suspect.Way   // in which it is false
	mentions      []mention       // names of the service
	lookups       []string        // the scopes with which names are looked up
	doubts        []suspect.Doubt // what is allowed and probably not meant

	env   *environment
	parts []part // the names and calls in it, for verdicts
	once  sync.Once
}

// A mention is a name of something of the service at a byte offset inside an expression.
type mention struct {
	kind, name string
	field      string // that is compared with it
	offset     int
}

// A part is a name or a call inside an expression whose value explains the outcome.
type part struct {
	text    string
	node    ast.Node
	needs   []string // the facts in it
	program *vm.Program
}

// An environment is what an expression may see at one place of a rule.
type environment struct {
	names     map[string]*Type
	available map[string]bool // facts that what started the rule comes with
	starts    any             // what starts the rule, for messages
	gathers   bool            // says searches all gathered messages
	calendars []string
	later     map[string]int // the ids of all steps, with their lines
	config    *conf.Config   // made when it is first needed
}

// with returns the environment with one more name.
func (e *environment) with(name string, t *Type) *environment {
	names := make(map[string]*Type, len(e.names)+1)
	for k, v := range e.names {
		names[k] = v
	}
	names[name] = t
	return &environment{names: names, available: e.available, starts: e.starts, gathers: e.gathers, calendars: e.calendars, later: e.later}
}

// having returns the environment with more facts available.
func (e *environment) having(facts ...string) *environment {
	available := make(map[string]bool, len(e.available)+len(facts))
	for k := range e.available {
		available[k] = true
	}
	for _, f := range facts {
		available[f] = true
	}
	return &environment{names: e.names, available: available, starts: e.starts, gathers: e.gathers, calendars: e.calendars, later: e.later}
}

// exprBuiltins are expr's own functions as the parser wants them.
var exprBuiltins = func() conf.FunctionsTable {
	table := make(conf.FunctionsTable, len(builtin.Builtins))
	for _, f := range builtin.Builtins {
		table[f.Name] = f
	}
	return table
}()

// An issue is a problem at a byte offset inside an expression.
type issue struct {
	offset        int
	message, hint *phrases.Message
}

// compileExpression compiles the text for an environment. It returns all issues that it found, or
// the expression. A nil want takes any type.
func compileExpression(text string, env *environment, want *Type) (x *Expression, issues []issue) {
	defer func() {
		// The compiler's own bugs must not take the rule set down.
		if r := recover(); r != nil {
			x, issues = nil, []issue{{0, say("the expression cannot be compiled: %v", r), nil}}
		}
	}()
	switch {
	case strings.TrimSpace(text) == "":
		return nil, []issue{{0, say("the expression is empty"), nil}}
	case len(text) > maxExpression:
		return nil, []issue{{0, say("the expression is %d bytes long; at most %d are allowed", len(text), maxExpression), say("use `set` to give parts of it names")}}
	}
	if strings.HasPrefix(text, "{{") && strings.HasSuffix(text, "}}") {
		return nil, []issue{{0, say("this is an expression already"), say("leave the {{ }} out")}}
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "=") && !strings.HasPrefix(trimmed, "==") {
		hint := say("leave the = out")
		if strings.HasPrefix(trimmed, "={{") {
			hint = say("leave the = and the {{ }} out")
		} else if strings.Count(trimmed, "=") == 2 {
			hint = say("leave the = out, and compare with ==")
		}
		return nil, []issue{{strings.Index(text, "="), say("an expression does not begin with ="), hint}}
	}
	node, err := env.parse(text)
	if err != nil {
		return nil, []issue{parseIssue(text, err)}
	}
	r := resolver{env: env, text: text}
	result := r.resolve(node)
	if len(r.issues) > 0 {
		return nil, r.issues
	}
	if err := env.check(node, text); err != nil {
		if issues := typeIssues(node, text, env); len(issues) > 0 {
			return nil, issues
		}
		return nil, []issue{typeIssue(text, err)}
	}
	if result == nil {
		result = typeOfNature(node)
	}
	if want != nil && result != Anything && !fits(result, want) {
		return nil, []issue{{0, say("the expression gives %s, where %s is needed", result, want), wantHint(text, result, want)}}
	}
	x = &Expression{Text: text, needs: r.facts, labels: r.labels, calls: r.calls, usesCalendars: r.calendars, usesVars: r.vars, counts: r.counts, mentions: r.mentions, lookups: r.lookups, patterns: r.patterns, result: result, env: env}
	x.keys = keysOf(node)
	x.data = dataUses(node, text)
	x.parts = partsOf(node)
	x.doubts = suspect.Doubts(node, text)
	if want == Flag {
		x.ways, x.otherwise = suspect.WaysOf(node, text)
	}
	instrument(&node)
	if x.program, err = env.compile(node, text); err != nil {
		return nil, []issue{typeIssue(text, err)}
	}
	return x, nil
}

// fits reports whether a value of type t can stand where want is needed.
func fits(t, want *Type) bool {
	return t == Anything || want == Anything || t.name == want.name
}

func wantHint(text string, result, want *Type) *phrases.Message {
	if want == Flag && len(result.fields) == 0 {
		return say("compare it, as in %s == …", strings.TrimSpace(text))
	}
	if len(result.fields) > 0 {
		return say("use one of its fields: %s", strings.Join(fieldNames(result.fields), ", "))
	}
	return nil
}

// typeOfNature names the type that expr found, for expressions that are more than a name.
func typeOfNature(node ast.Node) *Type {
	n := node.Nature()
	switch {
	case n.IsBool():
		return Flag
	case n.IsDuration():
		return Duration
	case n.IsTime():
		return Time
	case n.IsNumber():
		return Number
	case n.IsString():
		return Text
	case n.IsArray():
		return ListOf(Anything)
	}
	return Anything
}

// parseIssue rewords the parser's error for rule authors.
func parseIssue(text string, err error) issue {
	var e *file.Error
	if !errors.As(err, &e) {
		return issue{0, say("%v", err), nil}
	}
	at := tree.ByteOffset(text, e.From)
	rest := text[at:]
	switch {
	case strings.Contains(e.Message, "EOF"):
		return issue{len(strings.TrimRight(text, " \n")), say(endsTooEarly), cmp.Or(habitHint(text), say("a value, a closing bracket or a closing quote is missing"))}
	case strings.HasPrefix(rest, "=") && strings.HasSuffix(text[:at], "=="), strings.HasPrefix(rest, "=") && strings.HasSuffix(text[:at], "!="):
		return issue{at, say("a third = means nothing here"), say("compare with == or !=")}
	case strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="):
		return issue{at, say("a single = means nothing here"), say("compare with ==")}
	case strings.HasPrefix(rest, "“") || strings.HasPrefix(rest, "”") || strings.HasPrefix(rest, "‘") || strings.HasPrefix(rest, "’") || strings.HasPrefix(rest, "«"):
		return issue{at, say("curved quotes mean nothing here"), say("use straight ones: \" or '")}
	case strings.HasPrefix(rest, "&") || strings.HasPrefix(rest, "|"):
		return issue{at, say("unexpected %q", rest[:1]), say("write and or or between conditions, and + between texts")}
	case strings.Contains(e.Message, "maximum allowed nodes"):
		return issue{0, say("the expression has too many parts"), say("use `set` to give parts of it names")}
	case strings.Contains(e.Message, "bad number syntax"):
		return issue{at, parserWords(e.Message), say("put a duration in quotes, as in \"15m\"")}
	case strings.Contains(e.Message, "invalid char escape"):
		return issue{at, say("a \\ means nothing before this letter"), say("write it twice, as in \"\\\\d\"")}
	case strings.Contains(e.Message, "literal not terminated"):
		return issue{unclosedQuote(text), say("a quote is opened and never closed"), nil}
	}
	hint := habitHint(text)
	if m := unexpectedWord.FindStringSubmatch(e.Message); hint == nil && m != nil {
		hint = wordHint(m[1])
	}
	return issue{at, parserWords(e.Message), hint}
}

// parserWords words what the parser says, without its classes of tokens.
func parserWords(message string) *phrases.Message {
	message = tokenName.ReplaceAllString(message, "$1")
	if token, ok := strings.CutPrefix(message, "unexpected token "); ok {
		return say("unexpected token %s", token)
	}
	if number, ok := strings.CutPrefix(message, "bad number syntax: "); ok {
		return say("bad number syntax: %s", number)
	}
	return phrases.Word(message).Message()
}

const endsTooEarly = "the expression ends too early"

// unclosedQuote returns the offset of the quote that has no end.
func unclosedQuote(text string) int {
	for at := 0; at < len(text); at++ {
		if c := text[at]; c == '"' || c == '\'' || c == '`' {
			end := template.Quoted(text, at)
			if end >= len(text) {
				return at
			}
			at = end
		}
	}
	return 0
}

// tokenName matches tokens as expr prints them, with their class: Operator("=").
var tokenName = regexp.MustCompile(`\b[A-Z][a-z]+\(("(?:[^"\\]|\\.)*")\)`)

// unexpectedWord is what expr says of a name that stands where none can.
var unexpectedWord = regexp.MustCompile(`^unexpected token Identifier\("(.*)"\)`)

// typeIssues finds the wrong types in each part of a condition: the checker stops at its first.
func typeIssues(node ast.Node, text string, env *environment) []issue {
	if n, ok := node.(*ast.BinaryNode); ok && slices.Contains([]string{"and", "&&", "or", "||"}, n.Operator) {
		return append(typeIssues(n.Left, text, env), typeIssues(n.Right, text, env)...)
	}
	if err := env.check(node, text); err != nil {
		return []issue{typeIssue(text, err)}
	}
	return nil
}

// typeIssue words the type checker's error with the names of our types.
func typeIssue(text string, err error) issue {
	var e *file.Error
	if !errors.As(err, &e) {
		return issue{0, phrases.Word(plainTypes(err.Error())).Message(), nil}
	}
	said := plainTypes(strings.TrimSpace(e.Message))
	message := phrases.Word(said).Message()
	var hint *phrases.Message
	if m := mismatch.FindStringSubmatch(said); m != nil {
		message, hint = say("%s cannot be used between %s and %s", m[1], phrases.Word(m[2]), phrases.Word(m[3])), mismatchHint(m[1], m[2], m[3])
		if clock := timeOfDay.FindString(text); clock != "" && strings.Contains(m[2]+m[3], Time.name) {
			hint = say("write now().Format(\"15:04\") %s %s, or closed(\"office\") of a calendar", m[1], clock)
		}
	} else if m := inList.FindStringSubmatch(said); m != nil {
		message, hint = say("%s is never one of a list of %s", phrases.Word(m[1]), phrases.Word(strings.TrimPrefix(m[2], "a ")+"s")), say("put the items in quotes, as in [\"1\", \"2\"]")
		if m[1] == Number.name {
			hint = say("leave the quotes of the items out, as in [1, 2]")
		}
	} else if m := argument.FindStringSubmatch(said); m != nil {
		message = say("%s needs %s here, not %s", m[3], phrases.Word(m[2]), phrases.Word(m[1]))
		if m[2] == Duration.name {
			hint = say("write it in quotes, as in \"15m\"")
		}
	} else if strings.HasPrefix(said, "array elements can only be selected using an integer") {
		message, hint = say("the place of an item in a list must be a whole number"), say("make it one with int(…)")
	} else if m := noMethod.FindStringSubmatch(said); m != nil {
		message = say("%s has no method %q", phrases.Word(m[1]), m[2])
	} else if m := notFlag.FindStringSubmatch(said); m != nil {
		message = say("the condition gives %s, where %s is needed", phrases.Word(m[1]), Flag)
	} else if m := arguments.FindStringSubmatch(said); m != nil {
		message = say("%s arguments for %s", phrases.Word(m[1]), m[2])
		if f := functionByName[m[2]]; f != nil {
			hint = say("write %s", f.Signature)
		}
	}
	return issue{tree.ByteOffset(text, e.From), message, hint}
}

var (
	argument  = regexp.MustCompile(`^cannot use (.+) as argument \(type (.+)\) to call (\w+)$`)
	arguments = regexp.MustCompile(`^(not enough|too many) arguments to call (\w+)$`)
	mismatch  = regexp.MustCompile(`^invalid operation: (\S+) \(mismatched types (.+) and (.+)\)$`)
	inList    = regexp.MustCompile(`^cannot use (a text|a number) as type (a text|a number) in array$`)
	noMethod  = regexp.MustCompile(`^type (.+) has no method (\w+)$`)
	notFlag   = regexp.MustCompile(`^non-bool expression \(type (.+)\) used as condition$`)
	timeOfDay = regexp.MustCompile(`"\d{1,2}:\d{2}(?::\d{2})?"`)
	goTypes   = regexp.MustCompile(`map\[string\]interface \{\}|\[\]interface \{\}|interface \{\}|time\.Time|time\.Duration|\b(?:float64|int|string|bool)\b`)
	typeWords = map[string]string{
		"map[string]interface {}": "an object", "[]interface {}": "a list", "interface {}": "anything", "time.Time": "a time",
		"time.Duration": "a duration", "float64": "a number", "int": "a number", "string": "a text", "bool": "true or false",
	}
)

func plainTypes(message string) string {
	return goTypes.ReplaceAllStringFunc(message, func(t string) string { return typeWords[t] })
}

// at turns issues into problems of a node whose value holds the expression at an offset.
func (i issue) at(node *source.Node, offset int) source.Problem {
	return node.AtOffset(offset+i.offset, source.Error, i.message, i.hint)
}
