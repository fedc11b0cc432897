package rules

import (
	"cmp"
	"errors"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/internal/tree"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// maxPattern bounds the size of a compiled pattern of `matches`.
const maxPattern = 2000

// A resolver walks an expression's syntax tree, reports every wrong name in it, and refuses what
// could cost more than a condition should: expr's own budgets do not stop ranges, reduce and nested
// predicates.
type resolver struct {
	env       *environment
	text      string
	issues    []issue
	facts     []string
	calls     []string
	calendars []string
	vars      []string // constants it reads; "*" if unknown
	counts    []string // events that it counts; all if unknown
	labels    []string // the facts and results whose labels are read
	patterns  int      // the size of the patterns
	mentions  []mention
	lookups   []string // the scopes with which names are looked up
	variables []Field  // let … ; of the expression, innermost last
	items     []*Type  // of the lists that predicates run over, innermost last
}

func (r *resolver) report(node ast.Node, hint *phrases.Message, format string, args ...any) *Type {
	r.issues = append(r.issues, issue{tree.ByteOffset(r.text, node.Location().From), say(format, args...), hint})
	return Anything
}

// resolve returns the type of a name, a field or a call, and nil if only expr's checker knows it.
func (r *resolver) resolve(node ast.Node) *Type {
	switch n := node.(type) {
	case nil:
	case *ast.IdentifierNode:
		return r.name(n)
	case *ast.MemberNode:
		return r.member(n)
	case *ast.ChainNode:
		return r.resolve(n.Node)
	case *ast.CallNode:
		return r.call(n)
	case *ast.BuiltinNode:
		return r.builtin(n)
	case *ast.PredicateNode:
		r.resolve(n.Node)
	case *ast.PointerNode:
		if n.Name == "" && len(r.items) > 0 {
			return r.items[len(r.items)-1]
		}
	case *ast.UnaryNode:
		r.resolve(n.Node)
	case *ast.BinaryNode:
		return r.binary(n)
	case *ast.SliceNode:
		t := r.resolve(n.Node)
		r.resolve(n.From)
		r.resolve(n.To)
		return t
	case *ast.ConditionalNode:
		r.resolve(n.Cond)
		a, b := r.resolve(n.Exp1), r.resolve(n.Exp2)
		if a == b {
			return a
		}
	case *ast.VariableDeclaratorNode:
		t := r.resolve(n.Value)
		if t == nil {
			t = Anything
		}
		r.variables = append(r.variables, Field{Name: n.Name, Type: t})
		t = r.resolve(n.Expr)
		r.variables = r.variables[:len(r.variables)-1]
		return t
	case *ast.SequenceNode:
		r.all(n.Nodes)
	case *ast.ArrayNode:
		r.all(n.Nodes)
	case *ast.MapNode:
		r.all(n.Pairs)
	case *ast.PairNode:
		r.resolve(n.Key)
		r.resolve(n.Value)
	}
	return nil
}

func (r *resolver) all(nodes []ast.Node) {
	for _, n := range nodes {
		r.resolve(n)
	}
}

func (r *resolver) name(n *ast.IdentifierNode) *Type {
	for _, v := range slices.Backward(r.variables) {
		if v.Name == n.Value {
			return v.Type
		}
	}
	if n.Value == "vars" {
		r.vars = append(r.vars, "*")
	}
	t, ok := r.env.names[n.Value]
	if !ok {
		if functionByName[n.Value] != nil || exprBuiltins[n.Value] != nil {
			return r.report(n, say("call it: %s(…)", n.Value), "%s is a function", n.Value)
		}
		hint := cmp.Or(nameHint(n.Value), source.DidYouMean(n.Value, r.names()), say("put a text in quotes, as in \"%s\"", n.Value))
		if line := r.env.later[n.Value]; line > 0 {
			hint = say("the step in line %d gives it; it must come first", line)
		} else if r.env.available == nil {
			hint = say("only vars can be used here")
		}
		return r.report(n, hint, "unknown name %q", n.Value)
	}
	if factType(n.Value) != nil && r.has(n, n.Value) && !slices.Contains(r.facts, n.Value) {
		r.facts = append(r.facts, n.Value)
	}
	return t
}

// has reports a fact that the rule's trigger never provides.
func (r *resolver) has(n ast.Node, fact string) bool {
	if r.env.available[fact] {
		return true
	}
	var hint *phrases.Message
	if f := vocabulary.FactOf(fact); f != nil {
		hint = phrases.Word(f.Hint).Message()
	}
	r.report(n, hint, "%s has no %s", r.env.starts, fact)
	return false
}

// names returns the candidates for an unknown name.
func (r *resolver) names() []string {
	var names []string
	for name := range r.env.names {
		names = append(names, name)
	}
	for _, v := range r.variables {
		names = append(names, v.Name)
	}
	return append(names, functionNames()...)
}

func (r *resolver) member(n *ast.MemberNode) *Type {
	property, fixed := n.Property.(*ast.StringNode)
	if base, ok := n.Node.(*ast.IdentifierNode); ok && fixed && base.Value == "vars" {
		r.vars = append(r.vars, property.Value)
		if t := r.env.names["vars"].Field(property.Value); t != nil {
			return t
		}
	}
	base := r.resolve(n.Node)
	if !fixed {
		r.resolve(n.Property)
		if base != nil && base.elem != nil {
			return base.elem
		}
		return Anything
	}
	if base == nil || base == Anything {
		return Anything
	}
	if t := base.Field(property.Value); t != nil {
		r.lookups = append(r.lookups, lookups[kindsOfNames[property.Value]])
		if property.Value == "labels" && (base == ConversationType || base == ContactType) {
			return r.labelNames(n, t)
		}
		return t
	}
	switch {
	case isSteps(n.Node):
		return r.report(n.Property, source.OneOf(property.Value, fieldNames(base.fields)), "no step before this one has the id %q", property.Value)
	case isVars(n.Node) && len(base.fields) == 0:
		return r.report(n.Property, say("describe it under `vars`; those of another file do not count"), "the file has no vars, so there is no %q", property.Value)
	case len(base.fields) > 0:
		return r.report(n.Property, fieldHint(property.Value, fieldNames(base.fields)), "%s has no field %q", nodeName(n.Node), property.Value)
	case base.elem != nil:
		return r.report(n.Property, say("take one of its items first, as in %s[0].%s", tree.Describe(n.Node), property.Value), "%s is a list and has no field %q", nodeName(n.Node), property.Value)
	case base == Time || base == Duration:
		return r.report(n.Property, methodHint(tree.Describe(n.Node), property.Value), "%s is %s and has no field %q", nodeName(n.Node), base, property.Value)
	}
	return r.report(n.Property, methodHint(tree.Describe(n.Node), property.Value), "%s is %s and has no fields", nodeName(n.Node), base)
}

// labelNames notes that the names of the labels of a fact or a step's result are read. They are
// looked up before the expression is evaluated, so it must be called by its name.
func (r *resolver) labelNames(n *ast.MemberNode, t *Type) *Type {
	base, ok := n.Node.(*ast.IdentifierNode)
	if !ok || slices.ContainsFunc(r.variables, func(v Field) bool { return v.Name == base.Value }) {
		return r.report(n.Property, say("write conversation.labels, contact.labels, or the id of a step before .labels"), "the labels of %s cannot be looked up", nodeName(n.Node))
	}
	if !slices.Contains(r.labels, base.Value) {
		r.labels = append(r.labels, base.Value)
	}
	return t
}

// nodeName names a part of an expression, for messages.
func nodeName(n ast.Node) phrases.Word { return phrases.Word(tree.Describe(n)) }

func isSteps(n ast.Node) bool { return tree.IsName(n, "steps") }

func isVars(n ast.Node) bool { return tree.IsName(n, "vars") }

func (r *resolver) binary(n *ast.BinaryNode) *Type {
	switch n.Operator {
	case "..":
		return r.report(n, say("name the values, or compare with < and >"), "ranges (..) are not allowed")
	case "matches":
		r.pattern(n.Right, "matches")
	}
	left, right := r.resolve(n.Left), r.resolve(n.Right)
	switch n.Operator {
	case "==", "!=":
		r.compared(n.Left, n.Right)
		r.compared(n.Right, n.Left)
	case "in":
		r.compared(n.Right, n.Left) // "vip" in contact.labels
		if list, ok := n.Right.(*ast.ArrayNode); ok {
			for _, item := range list.Nodes {
				r.compared(n.Left, item)
			}
		}
	}
	if n.Operator == "??" && left != nil && left == right {
		return left
	}
	return nil
}

// kindsOfNames are what the fields with names have the names of.
var kindsOfNames = map[string]string{
	"labels": "label", "sector_name": "sector", "assignee_name": "person", "channel_name": "channel", "board_name": "board", "stage_name": "stage", "from_stage_name": "stage",
}

// RefersOf returns what the values of a field are the names of: label, sector, person, channel,
// board or stage; empty for every other field.
func RefersOf(field string) string { return kindsOfNames[field] }

// compared reports a field that is compared with a value it never has, and notes the names of the
// service that fields are compared with.
func (r *resolver) compared(field, constant ast.Node) {
	s, ok := constant.(*ast.StringNode)
	member, isMember := field.(*ast.MemberNode)
	if !ok || !isMember {
		return
	}
	property, ok := member.Property.(*ast.StringNode)
	if !ok {
		return
	}
	probe := resolver{env: r.env, variables: r.variables, items: r.items}
	base := probe.resolve(member.Node)
	if base == nil {
		return
	}
	for _, f := range base.fields {
		if f.Name == property.Value && f.Values != nil && !slices.Contains(f.Values, s.Value) {
			r.report(constant, source.OneOf(s.Value, f.Values), "%s is never %q", nodeName(member), s.Value)
		}
		if kind := kindsOfNames[f.Name]; f.Name == property.Value && kind != "" {
			r.mention(kind, tree.Describe(member), s)
		}
	}
}

// mention notes a name of the service.
func (r *resolver) mention(kind, field string, s *ast.StringNode) {
	r.mentions = append(r.mentions, mention{kind, s.Value, field, tree.ByteOffset(r.text, s.Location().From)})
}

// pattern bounds the size of patterns and requires literals: a customer's text is never a pattern.
func (r *resolver) pattern(n ast.Node, of string) {
	s, ok := n.(*ast.StringNode)
	if !ok {
		r.report(n, say("put the pattern in quotes"), "the pattern of %s must be written out", of)
		return
	}
	re, err := syntax.Parse(s.Value, syntax.Perl)
	if err != nil {
		if words := strings.Trim(s.Value, "*"); words != s.Value && !strings.Contains(words, "*") {
			r.report(n, say("write contains %q, or says(%q) for the word in a message", words, words), "in a pattern a * does not stand for any text")
			return
		}
		code, part := "", ""
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			code, part = e.Code.String(), e.Expr
		}
		r.report(n, say("a pattern is a regular expression, such as \"^[1-5]$\"; contains looks for a text as it is"), "not a pattern: %s: `%s`", phrases.Word(code), part)
		return
	}
	size := patternSize(re)
	r.patterns += size
	if size > maxPattern {
		r.report(n, say("use smaller counts in { }"), "the pattern is too large")
	}
}

// patternSize estimates the instructions of a pattern without expanding its repeats.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, 1<<20)
}
