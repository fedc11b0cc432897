package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// The bounds of what is looked at: the ways in which a condition can be true, and the claims in one of them. A condition with more is taken to be sound.
const (
	maxWays   = 16
	maxClaims = 24
)

// A claim is one thing that must be so for a condition to be true: a subject that is one of some values or none of them, lies below or above one, or holds.
type claim struct {
	subject string // as expr writes it: two that are written alike are alike, in one decision
	text    string // all of it
	at      int    // where it stands in its expression, in bytes
	is      string // in, not in, <, <=, >, >=, true or false
	values  []any  // texts, numbers, flags and nil
	bounds  [2]any // what the subject lies between in any case; nil where that is not known
}

// A way is a list of claims that make a condition true together.
type way []*claim

// waysOf returns the ways in which a condition can be true, and those in which it can be false; nil where there are too many.
func waysOf(node ast.Node, text string) (ways, otherwise []way) {
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

// sides returns the two sides of an and or an or, as what it is where negated; nil where the node is neither.
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

// countWays returns how many ways there are, or a number above the bound, and how many claims in them.
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
func allWays(node ast.Node, text string, negated bool) []way {
	if inner, ok := isNot(node); ok {
		return allWays(inner, text, !negated)
	}
	if n, and := sides(node, negated); n != nil {
		left, right := allWays(n.Left, text, negated), allWays(n.Right, text, negated)
		if and {
			return bothWays(left, right)
		}
		return append(left, right...)
	}
	if n, ok := node.(*ast.BoolNode); ok && n.Value != negated {
		return []way{{}}
	}
	return []way{{claimOf(node, text, negated)}}
}

// bothWays returns the ways in which two conditions are true together; nil where there are too many.
func bothWays(a, b []way) []way {
	if len(a)*len(b) > maxWays || len(a) > 0 && len(a[0]) > maxClaims {
		return nil
	}
	ways := make([]way, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			ways = append(ways, slices.Concat(x, y))
		}
	}
	return ways
}

// opposite is what is so where a claim is not.
var opposite = map[string]string{"in": "not in", "not in": "in", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "true": "false", "false": "true"}

// mirrored is the operator that says the same with its sides changed.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

func claimOf(node ast.Node, text string, negated bool) *claim {
	c := &claim{text: node.String(), at: byteOffset(text, node.Location().From), is: "true"}
	c.subject = c.text
	switch n := node.(type) {
	case *ast.BoolNode:
		return &claim{text: c.text, at: c.at, is: "in"} // one of no values
	case *ast.BinaryNode:
		c.compares(n)
		c.at = byteOffset(text, leftmost(n).Location().From)
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && name.Value == "closed" {
			c.subject, c.is = "open"+strings.TrimPrefix(c.subject, "closed"), "false"
		}
	}
	if negated {
		c.is, c.text = opposite[c.is], "not "+c.text
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

// compares makes the claim one about a value that is compared with something written out.
func (c *claim) compares(n *ast.BinaryNode) {
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
	c.subject, c.values, c.bounds = subject.String(), values, boundsOf(subject)
	if known, ok := writtenOut(subject); ok { // "vip" == "VIP"
		c.bounds = [2]any{known, known}
	}
}

// writtenOut returns the value of a constant; a duration counts as a number.
func writtenOut(node ast.Node) (any, bool) {
	if call, ok := node.(*ast.CallNode); ok && len(call.Arguments) == 1 && isName(call.Callee, "duration") {
		if s, ok := call.Arguments[0].(*ast.StringNode); ok {
			d, err := ParseDuration(s.Value)
			return float64(d), err == nil
		}
	}
	return constantOf(node)
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

// only returns the values that facts have in some events, and no others. Own is whether what rules send is among them.
func only(events []string, own bool) map[string][]any {
	if len(events) == 0 {
		return nil
	}
	only := make(map[string][]any)
	for _, e := range events {
		only["event.type"] = append(only["event.type"], e)
	}
	// Rules on several events may well ask who a message is by.
	if e := vocabulary.EventOf(events[0]); e != nil && !slices.ContainsFunc(events, func(other string) bool { return other != e.Type }) {
		for _, by := range e.By {
			if own || by != vocabulary.ByEngine {
				only["message.by"] = append(only["message.by"], by)
			}
		}
	}
	return only
}

// A condition is an expression with where it stands, and what is known of the facts that it looks at.
type condition struct {
	x    *Expression
	node *source.Node
	only map[string][]any
}

// sound warns of a condition that is never true, or always, and of what comes of that.
func (c *compiler) sound(k condition, never, always string) {
	if k.x != nil {
		c.soundTogether([]condition{k}, never, always)
	}
}

// soundTogether does the same for a list of conditions that must all be true.
func (c *compiler) soundTogether(list []condition, never, always string) {
	ways := []way{{}}
	for _, k := range list {
		if ways = bothWays(ways, k.x.ways); len(ways) == 0 {
			break
		}
		if found := clash(ways, k.only); found != nil {
			c.doubt(k, found, never)
			break
		}
	}
	for _, k := range list {
		// A condition that says what is so anyway, such as who wrote a message that was received, does no harm.
		if found := clash(k.x.otherwise, nil); found != nil && strings.TrimSpace(k.x.Text) != "true" {
			hint := ""
			if len(found) > 1 {
				hint = "did you mean and?"
			}
			c.add(k.node.AtOffset(k.offset(), source.Warning, fmt.Sprintf("%s is always true, %s", k.x.Text, always), hint))
		}
		k.x.ways, k.x.otherwise = nil, nil
	}
}

// offset returns where the expression stands in its node.
func (k condition) offset() int { return max(0, strings.Index(k.node.Value, k.x.Text)) }

// doubt warns of claims that are never so together. The last of them stands in the condition.
func (c *compiler) doubt(k condition, found way, consequence string) {
	last := found[len(found)-1]
	hint, message := "", last.text+" is never true"
	switch values := k.only[last.subject]; {
	case len(found) > 1:
		texts := make([]string, len(found))
		for i := range found {
			texts[i] = found[i].text
		}
		message, hint = list(texts)+" are never true together", "did you mean or?"
	case len(values) > 0:
		message += fmt.Sprintf(": here it is always %s", oneOf(values))
		if slices.Contains(last.values, "engine") {
			hint = "from: any lets what rules send start this one"
		}
	case strings.TrimSpace(k.x.Text) == "false":
		hint = "stage: draft switches a rule off"
	}
	c.add(k.node.AtOffset(k.offset()+last.at, source.Warning, message+", "+consequence, hint))
}

func oneOf(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(words, " or ")
}
