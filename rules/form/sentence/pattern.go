package sentence

import (
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser/operator"

	"github.com/quandohq/quando/rules"
)

// blankName matches a blank in the expression of a form.
var blankName = regexp.MustCompile(`\{(\w+)\}`)

// blankPrefix begins the name that stands for a blank in a syntax tree.
const blankPrefix = "blank_of_"

// A pattern is an expression with blanks: a syntax tree to read by, and segments to print.
type pattern struct {
	form     *Form
	not      bool // it is the contrary
	contrary *pattern
	tree     ast.Node
	segments []segment
	binds    int // how strongly its outermost operator binds
}

// A segment is a part of a pattern: words, or a blank.
type segment struct {
	words string
	blank string
	binds int // how strongly what fills the blank must bind to need no parentheses
}

// How strongly things bind, beside the operators.
const (
	loosest   = 0    // a ? b : c
	strongest = 1000 // names, literals and calls
)

func newPattern(f *Form, expression string) *pattern {
	node, err := rules.ParseExpression(withBlanks(expression))
	if err != nil {
		panic(err) // the tables are wrong
	}
	p := &pattern{form: f, tree: node, binds: binding(node)}
	if n, ok := node.(*ast.UnaryNode); ok && !strings.HasPrefix(expression, n.Operator) {
		p.binds = binding(n.Node) // a not in b
	}
	need := map[string]int{}
	needs(node, loosest, need)
	at := 0
	for _, m := range blankName.FindAllStringSubmatchIndex(expression, -1) {
		name := expression[m[2]:m[3]]
		p.segments = append(p.segments, segment{words: expression[at:m[0]]}, segment{blank: name, binds: need[name]})
		at = m[1]
	}
	p.segments = append(p.segments, segment{words: expression[at:]})
	return p
}

// negated returns the expression of the contrary of a form that names none.
func (p *pattern) negated() string {
	n, ok := p.tree.(*ast.BinaryNode)
	switch {
	case !ok:
		return "not " + p.form.Expression
	case operator.AllowedNegateSuffix(n.Operator):
		return strings.Replace(p.form.Expression, " "+n.Operator+" ", " not "+n.Operator+" ", 1)
	}
	return "not (" + p.form.Expression + ")"
}

// binding returns how strongly the outermost operator of a tree binds.
func binding(node ast.Node) int {
	switch n := node.(type) {
	case *ast.BinaryNode:
		if n.Operator == "??" {
			return loosest + 1 // expr refuses it beside other operators
		}
		return operator.Binary[n.Operator].Precedence
	case *ast.UnaryNode:
		return operator.Unary[n.Operator].Precedence
	case *ast.ConditionalNode:
		return loosest
	}
	return strongest
}

// needs notes how strongly each blank's term must bind, which depends on what stands around it.
func needs(node ast.Node, around int, need map[string]int) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		if name, ok := strings.CutPrefix(n.Value, blankPrefix); ok {
			need[name] = around
		}
	case *ast.BinaryNode:
		left := operator.Binary[n.Operator].Precedence
		if n.Operator == "??" {
			left = strongest - 2
		} else if left == operator.Binary["=="].Precedence {
			left++ // a < b < c is not (a < b) < c
		}
		needs(n.Left, left, need)
		needs(n.Right, left+1, need)
	case *ast.UnaryNode:
		needs(n.Node, operator.Unary[n.Operator].Precedence, need)
	case *ast.MemberNode:
		needs(n.Node, strongest, need)
	case *ast.CallNode:
		needs(n.Callee, strongest, need)
		for _, a := range n.Arguments {
			needs(a, loosest, need)
		}
	case *ast.BuiltinNode:
		for _, a := range n.Arguments {
			needs(a, loosest, need)
		}
	case *ast.PredicateNode:
		needs(n.Node, loosest, need)
	case *ast.ConditionalNode:
		for _, part := range []ast.Node{n.Cond, n.Exp1, n.Exp2} {
			needs(part, operator.Binary["or"].Precedence, need)
		}
	}
}

// root names what a tree is at its outermost, to find the patterns that may fit it.
func root(node ast.Node) string {
	switch n := node.(type) {
	case *ast.ChainNode:
		return root(n.Node)
	case *ast.BinaryNode:
		return n.Operator
	case *ast.BuiltinNode:
		return n.Name + "()"
	case *ast.BoolNode:
		return "bool"
	case *ast.ConditionalNode:
		return "?"
	case *ast.CallNode:
		switch callee := n.Callee.(type) {
		case *ast.IdentifierNode:
			return callee.Value + "()"
		case *ast.MemberNode:
			if property, ok := callee.Property.(*ast.StringNode); ok {
				return "." + property.Value + "()"
			}
		}
	}
	return ""
}

// match reports whether a tree fits a pattern's, and notes what stands in the blanks. Where filled
// is nil it reports whether two trees are the same.
func match(p, n ast.Node, filled map[string]ast.Node) bool {
	switch p := p.(type) {
	case *ast.IdentifierNode:
		if name, ok := strings.CutPrefix(p.Value, blankPrefix); ok && filled != nil {
			filled[name] = n
			return true
		}
		n, ok := n.(*ast.IdentifierNode)
		return ok && n.Value == p.Value
	case *ast.NilNode:
		_, ok := n.(*ast.NilNode)
		return ok
	case *ast.IntegerNode:
		n, ok := n.(*ast.IntegerNode)
		return ok && n.Value == p.Value
	case *ast.FloatNode:
		n, ok := n.(*ast.FloatNode)
		return ok && n.Value == p.Value
	case *ast.BoolNode:
		n, ok := n.(*ast.BoolNode)
		return ok && n.Value == p.Value
	case *ast.StringNode:
		n, ok := n.(*ast.StringNode)
		return ok && n.Value == p.Value
	case *ast.BytesNode:
		n, ok := n.(*ast.BytesNode)
		return ok && slices.Equal(n.Value, p.Value)
	case *ast.UnaryNode:
		n, ok := n.(*ast.UnaryNode)
		return ok && n.Operator == p.Operator && match(p.Node, n.Node, filled)
	case *ast.BinaryNode:
		n, ok := n.(*ast.BinaryNode)
		return ok && n.Operator == p.Operator && match(p.Left, n.Left, filled) && match(p.Right, n.Right, filled)
	case *ast.ChainNode:
		n, ok := n.(*ast.ChainNode)
		return ok && match(p.Node, n.Node, filled)
	case *ast.MemberNode:
		n, ok := n.(*ast.MemberNode)
		return ok && n.Optional == p.Optional && match(p.Node, n.Node, filled) && match(p.Property, n.Property, filled)
	case *ast.SliceNode:
		n, ok := n.(*ast.SliceNode)
		return ok && match(p.Node, n.Node, filled) && matchOptional(p.From, n.From, filled) && matchOptional(p.To, n.To, filled)
	case *ast.CallNode:
		n, ok := n.(*ast.CallNode)
		return ok && match(p.Callee, n.Callee, filled) && matchList(p.Arguments, n.Arguments, filled)
	case *ast.BuiltinNode:
		n, ok := n.(*ast.BuiltinNode)
		return ok && n.Name == p.Name && matchList(p.Arguments, n.Arguments, filled)
	case *ast.PredicateNode:
		n, ok := n.(*ast.PredicateNode)
		return ok && match(p.Node, n.Node, filled)
	case *ast.PointerNode:
		n, ok := n.(*ast.PointerNode)
		return ok && n.Name == p.Name
	case *ast.ConditionalNode:
		n, ok := n.(*ast.ConditionalNode)
		return ok && match(p.Cond, n.Cond, filled) && match(p.Exp1, n.Exp1, filled) && match(p.Exp2, n.Exp2, filled)
	case *ast.ArrayNode:
		n, ok := n.(*ast.ArrayNode)
		return ok && matchList(p.Nodes, n.Nodes, filled)
	case *ast.VariableDeclaratorNode:
		n, ok := n.(*ast.VariableDeclaratorNode)
		return ok && n.Name == p.Name && match(p.Value, n.Value, filled) && match(p.Expr, n.Expr, filled)
	case *ast.SequenceNode:
		n, ok := n.(*ast.SequenceNode)
		return ok && matchList(p.Nodes, n.Nodes, filled)
	case *ast.MapNode:
		n, ok := n.(*ast.MapNode)
		return ok && matchList(p.Pairs, n.Pairs, filled)
	case *ast.PairNode:
		n, ok := n.(*ast.PairNode)
		return ok && match(p.Key, n.Key, filled) && match(p.Value, n.Value, filled)
	}
	return false
}

func matchOptional(p, n ast.Node, filled map[string]ast.Node) bool {
	if p == nil || n == nil {
		return p == nil && n == nil
	}
	return match(p, n, filled)
}

func matchList(p, n []ast.Node, filled map[string]ast.Node) bool {
	return slices.EqualFunc(p, n, func(a, b ast.Node) bool { return match(a, b, filled) })
}
