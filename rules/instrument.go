package rules

import (
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker/nature"

	"github.com/quandohq/quando/rules/internal/tree"
)

// instrument rewrites a checked tree, so that it passes the Evaluation to the language's functions
// and meters what grows. It also makes comparisons accept nil, which expr's typed comparisons do
// not.
func instrument(node *ast.Node) { ast.Walk(node, instrumentation{}) }

type instrumentation struct{}

// Visit is called for the children of a node before the node itself.
func (instrumentation) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && exprFunctions[callee.Value] != nil {
			if f := functionByName[callee.Value]; f != nil {
				compilePatterns(f, n)
				if f.mayBeNil {
					mayBeNil(n)
				}
			}
			passEvaluation(n)
		}
	case *ast.BinaryNode:
		if n.Operator == "??" {
			mayBeNil(n)
		}
		instrumentOperator(node, n)
	case *ast.PredicateNode:
		replace(&n.Node, iterateFn, n.Node, &ast.IntegerNode{Value: bodyCost(n.Node)})
	case *ast.MemberNode:
		if n.Nature().IsTime() {
			inZone(node, n)
		} else {
			mayBeNil(n)
		}
	case *ast.ChainNode, *ast.ConditionalNode, *ast.IdentifierNode:
		mayBeNil(n)
	}
}

// inZone makes the time that a field gives one of the workspace's zone, as now() is: what a rule or
// a customer reads of it is an hour of theirs. A day without a time of day stays the day that it
// is.
func inZone(node *ast.Node, n *ast.MemberNode) {
	if property, ok := n.Property.(*ast.StringNode); !ok || property.Value == "due" {
		return
	}
	// The field is evaluated first: a ?. in it that yields nil skips the whole call.
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: inZoneFn}, Arguments: []ast.Node{n, &ast.IdentifierNode{Value: scopeName}}}
	call.Callee.SetType(anyFunc)
	t := *n.Nature()
	ast.Patch(node, call)
	call.SetNature(t)
}

// mayBeNil removes the type of a field's value, directly or through ?., a choice or a let: a field
// may be nil.
func mayBeNil(n ast.Node) {
	if t := n.Nature(); t.IsString() || t.IsNumber() || t.IsBool() {
		n.SetNature(nature.Nature{})
	}
}

// instrumentOperator makes an operator pay unless both sides are small for sure.
func instrumentOperator(node *ast.Node, n *ast.BinaryNode) {
	t := n.Nature()
	switch n.Operator {
	case "+":
		if !t.IsNumber() && !t.IsTime() && !t.IsDuration() {
			replace(node, addFn, n.Left, n.Right)
		}
	case "matches":
		if s, ok := n.Right.(*ast.StringNode); ok {
			replace(node, matchFn, n.Left, &ast.ConstantNode{Value: newPattern(s.Value)})
		}
	case "==", "!=", "<", ">", "<=", ">=":
		// A comparison with a literal costs no more than the literal.
		if !tree.IsLiteral(n.Left) && !tree.IsLiteral(n.Right) && !isSmall(n.Left) {
			replace(node, operator+n.Operator, n.Left, n.Right)
		}
	case "in":
		if list, ok := n.Right.(*ast.ArrayNode); !ok || len(list.Nodes) > 100 || slices.ContainsFunc(list.Nodes, func(item ast.Node) bool { return !tree.IsLiteral(item) }) {
			replace(node, operator+"in", n.Left, n.Right)
		}
	case "contains", "startsWith", "endsWith":
		replace(node, operator+n.Operator, n.Left, n.Right)
	}
}

// isSmall reports whether a value is of a type that has one size.
func isSmall(n ast.Node) bool {
	t := n.Nature()
	return t.IsNumber() || t.IsBool() || t.IsTime() || t.IsDuration()
}

// bodyCost is the cost of one item of a predicate: its body allocates its literals for each.
func bodyCost(body ast.Node) int {
	count := entryCount(0)
	ast.Walk(&body, &count)
	return iterationCost + literalCost*int(count)
}

type entryCount int

func (c *entryCount) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ArrayNode:
		*c += entryCount(len(n.Nodes) + 1)
	case *ast.MapNode:
		*c += entryCount(len(n.Pairs) + 1)
	}
}

// A pattern is a compiled pattern of `matches` or `extract` with its cost per byte, which grows
// with its size.
type pattern struct {
	*regexp.Regexp
	cost int
}

func newPattern(text string) pattern {
	cost := matchCost
	if re, err := syntax.Parse(text, syntax.Perl); err == nil {
		cost += patternSize(re) / 2
	}
	return pattern{regexp.MustCompile(text), cost}
}

// compilePatterns compiles the patterns among a call's arguments, which are written out.
func compilePatterns(f *function, call *ast.CallNode) {
	for i, a := range call.Arguments {
		if s, ok := a.(*ast.StringNode); ok && f.argument(i) == patternArgument {
			call.Arguments[i] = &ast.ConstantNode{Value: newPattern(s.Value)}
		}
	}
}

// replace puts the call of a hidden function where a node stood, with the same type.
func replace(node *ast.Node, name string, args ...ast.Node) {
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
	passEvaluation(call)
	t := *(*node).Nature()
	ast.Patch(node, call)
	call.SetNature(t)
}

// passEvaluation makes the Evaluation the first argument of a call.
func passEvaluation(call *ast.CallNode) {
	call.Arguments = append([]ast.Node{&ast.IdentifierNode{Value: scopeName}}, call.Arguments...)
	call.Callee.SetType(anyFunc)
}

// exprFunction makes a function of the language one of expr's.
func exprFunction(name string, types []reflect.Type, call func(e *Evaluation, args []any) (any, error)) *builtin.Function {
	return &builtin.Function{Name: name, Types: types, Func: func(args ...any) (any, error) {
		return call(args[0].(*Evaluation), args[1:])
	}}
}
