package suspect

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/internal/tree"
)

// Bounds on the analysis: the ways in which a condition can be true, and the claims in one of them.
// A condition with more counts as sound.
const (
	maxWays   = 16
	maxClaims = 24
)

// A Claim is one requirement of a condition: a subject that is one of some values or none of them,
// lies below or above one, or holds.
type Claim struct {
	Subject string // in expr's canonical form; equal texts are equal subjects within one decision
	Text    string // all of it
	At      int    // where it stands in its expression, in bytes
	is      string // in, not in, <, <=, >, >=, true or false
	Values  []any  // texts, numbers, flags and nil
	bounds  [2]any // known bounds of the subject; nil if unknown
}

// A Way is a list of claims that make a condition true together.
type Way []*Claim

// WaysOf returns the ways in which a condition can be true, and those in which it can be false; nil
// if there are too many.
func WaysOf(node ast.Node, text string) (ways, otherwise []Way) {
	for _, negated := range []bool{false, true} {
		n, claims := countWays(node, negated)
		if n > maxWays || claims > maxClaims {
			continue
		}
		if negated {
			otherwise = allWays(node, text, negated)
		} else {
			ways = allWays(node, text, negated)
		}
	}
	return ways, otherwise
}

// sides returns the two sides of an and or an or, as what it is where negated; nil if the node is
// neither.
func sides(node ast.Node, negated bool) (n *ast.BinaryNode, and bool) {
	n, ok := node.(*ast.BinaryNode)
	switch {
	case ok && (n.Operator == "and" || n.Operator == "&&"):
		return n, !negated
	case ok && (n.Operator == "or" || n.Operator == "||"):
		return n, negated
	}
	return nil, false
}

// isNot returns what a not stands before.
func isNot(node ast.Node) (ast.Node, bool) {
	n, ok := node.(*ast.UnaryNode)
	if !ok || n.Operator != "not" && n.Operator != "!" {
		return nil, false
	}
	return n.Node, true
}

// countWays returns how many ways there are, or a number above the bound, and how many claims in
// them.
func countWays(node ast.Node, negated bool) (ways, claims int) {
	if inner, ok := isNot(node); ok {
		return countWays(inner, !negated)
	}
	n, and := sides(node, negated)
	if n == nil {
		return 1, 1
	}
	left, some := countWays(n.Left, negated)
	right, others := countWays(n.Right, negated)
	if and {
		return min(left*right, maxWays+1), some + others
	}
	return min(left+right, maxWays+1), some + others
}

// allWays returns all ways in which a condition can be true, or false where negated.
func allWays(node ast.Node, text string, negated bool) []Way {
	if inner, ok := isNot(node); ok {
		return allWays(inner, text, !negated)
	}
	if n, and := sides(node, negated); n != nil {
		left, right := allWays(n.Left, text, negated), allWays(n.Right, text, negated)
		if and {
			return BothWays(left, right)
		}
		return append(left, right...)
	}
	if n, ok := node.(*ast.BoolNode); ok && n.Value != negated {
		return []Way{{}}
	}
	return []Way{{claimOf(node, text, negated)}}
}

// BothWays returns the ways in which two conditions are true together; nil if there are too many.
func BothWays(a, b []Way) []Way {
	if len(a)*len(b) > maxWays || len(a) > 0 && len(a[0]) > maxClaims {
		return nil
	}
	ways := make([]Way, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			ways = append(ways, slices.Concat(x, y))
		}
	}
	return ways
}

// opposite maps a claim's operator to its negation.
var opposite = map[string]string{"in": "not in", "not in": "in", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "true": "false", "false": "true"}

// mirrored is the operator that says the same with its sides changed.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

func claimOf(node ast.Node, text string, negated bool) *Claim {
	c := &Claim{Text: node.String(), At: tree.ByteOffset(text, node.Location().From), is: "true"}
	c.Subject = c.Text
	switch n := node.(type) {
	case *ast.BoolNode:
		return &Claim{Text: c.Text, At: c.At, is: "in"} // one of no values
	case *ast.BinaryNode:
		c.compares(n)
		c.At = tree.ByteOffset(text, leftmost(n).Location().From)
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && name.Value == "closed" {
			c.Subject, c.is = "open"+strings.TrimPrefix(c.Subject, "closed"), "false"
		}
	}
	if negated {
		c.is, c.Text = opposite[c.is], "not "+c.Text
	}
	return c
}

func leftmost(n ast.Node) ast.Node {
	for {
		switch m := n.(type) {
		case *ast.BinaryNode:
			n = m.Left
		case *ast.MemberNode:
			n = m.Node
		case *ast.CallNode:
			n = m.Callee
		case *ast.ChainNode:
			n = m.Node
		default:
			return n
		}
	}
}

// compares sets the claim to a comparison with a literal.
func (c *Claim) compares(n *ast.BinaryNode) {
	subject, operator := n.Left, n.Operator
	value, ok := writtenOut(n.Right)
	if !ok && mirrored[operator] != "" {
		subject, operator = n.Right, mirrored[operator]
		value, ok = writtenOut(n.Left)
	}
	values := []any{value}
	if list, isList := n.Right.(*ast.ArrayNode); operator == "in" && isList {
		values, ok = nil, true
		for _, item := range list.Nodes {
			v, written := writtenOut(item)
			values, ok = append(values, v), ok && written
		}
	}
	if !ok {
		return
	}
	switch operator {
	case "==", "in":
		c.is = "in"
	case "!=":
		c.is = "not in"
	case "<", "<=", ">", ">=":
		c.is = operator
	default:
		return
	}
	c.Subject, c.Values, c.bounds = subject.String(), values, boundsOf(subject)
	if known, ok := writtenOut(subject); ok { // "vip" == "VIP"
		c.bounds = [2]any{known, known}
	}
}

// writtenOut returns the value of a constant; a duration counts as a number.
func writtenOut(node ast.Node) (any, bool) {
	if call, ok := node.(*ast.CallNode); ok && len(call.Arguments) == 1 && tree.IsName(call.Callee, "duration") {
		if s, ok := call.Arguments[0].(*ast.StringNode); ok {
			d, err := duration.Parse(s.Value)
			return float64(d), err == nil
		}
	}
	return tree.ConstantOf(node)
}

// boundsOf returns what a value lies between, whatever happens.
func boundsOf(subject ast.Node) [2]any {
	switch n := subject.(type) {
	case *ast.CallNode:
		if member, ok := n.Callee.(*ast.MemberNode); ok {
			switch property, _ := member.Property.(*ast.StringNode); property.Value {
			case "Hour":
				return [2]any{0.0, 23.0}
			case "Minute", "Second":
				return [2]any{0.0, 59.0}
			case "Day":
				return [2]any{1.0, 31.0}
			case "YearDay":
				return [2]any{1.0, 366.0}
			}
			return [2]any{}
		}
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && slices.Contains([]string{"customer_waiting", "business_time", "count_events", "len"}, name.Value) {
			return [2]any{0.0, nil}
		}
	case *ast.BuiltinNode:
		if n.Name == "count" || n.Name == "len" {
			return [2]any{0.0, nil}
		}
	}
	return [2]any{}
}
