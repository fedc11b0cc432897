package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/internal/tree"
	"github.com/quandohq/quando/rules/phrases"
)

// words describes why a condition was true or false. It is empty if the condition itself says it
// best.
func (e *Evaluation) words(x *Expression, truth bool) string {
	node, err := x.env.parse(x.Text)
	if err != nil {
		return ""
	}
	return (&wording{e, x.env}).describe(node, truth)
}

// falsePart returns the operand that made a false condition false, where it joins several.
func (e *Evaluation) falsePart(x *Expression) string {
	node, err := x.env.parse(x.Text)
	if err != nil {
		return x.Text
	}
	w := &wording{e, x.env}
	part := node
	for {
		n, ok := part.(*ast.BinaryNode)
		if !ok || n.Operator != "and" && n.Operator != "&&" {
			break
		}
		switch left, known := w.value(n.Left); {
		case known && left == false:
			part = n.Left
		default:
			right, known := w.value(n.Right)
			if !known || right != false {
				return x.Text
			}
			part = n.Right
		}
	}
	if part == node {
		return x.Text
	}
	return part.String()
}

// A wording puts the parts of a condition into words, with the values that they had.
type wording struct {
	*Evaluation
	env *environment
}

// t returns one of the phrases.
func (w *wording) t(code phrases.Code, args ...any) string {
	return phrases.Say(w.language, code, args...)
}

// either returns a phrase, or the one for its contrary.
func (w *wording) either(truth bool, code phrases.Code, args ...any) string {
	if !truth {
		code += ".not"
	}
	return w.t(code, args...)
}

// describe words a part that was true or false.
func (w *wording) describe(node ast.Node, truth bool) string {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return w.describe(n.Node, !truth)
		}
	case *ast.BinaryNode:
		return w.binary(n, truth)
	case *ast.CallNode:
		if words := w.call(n, truth); words != "" {
			return words
		}
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.BuiltinNode:
	default:
		return ""
	}
	return w.t("condition.was", node.String(), w.wordsOf(truth))
}

func (w *wording) binary(n *ast.BinaryNode, truth bool) string {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return w.joined(n, truth)
	case "==", "!=":
		return w.equality(n, truth == (n.Operator == "=="))
	case "<", "<=", ">", ">=":
		return w.order(n, truth)
	case "in":
		return w.membership(n, truth)
	case "contains", "startsWith", "endsWith", "matches":
		return w.textual(n, truth)
	}
	return ""
}

// joined describes the operands of an and or an or that decided it.
func (w *wording) joined(n *ast.BinaryNode, truth bool) string {
	all := n.Operator == "and" || n.Operator == "&&"
	if all == truth { // both have the value of the whole
		left, right := w.describe(n.Left, truth), w.describe(n.Right, truth)
		if left == "" || right == "" {
			return ""
		}
		return left + "; " + right
	}
	for _, part := range []ast.Node{n.Left, n.Right} {
		if v, ok := w.value(part); ok && v == truth {
			return w.describe(part, truth)
		}
	}
	return ""
}

func (w *wording) equality(n *ast.BinaryNode, equal bool) string {
	name, other := n.Left, n.Right
	if tree.IsLiteral(name) {
		name, other = other, name
	}
	was, ok := w.valueWords(name)
	wanted, known := w.valueWords(other)
	switch {
	case !ok || !known:
		return ""
	case n.Operator == "!=" && equal:
		return w.t("condition.wants_else", w.subject(name), was)
	case n.Operator == "==" && !equal:
		return w.t("condition.wants", w.subject(name), was, wanted)
	}
	return w.t("condition.was", w.subject(name), was)
}

// orders are the phrases of the comparisons: of times, and of everything else.
var orders = map[string][2]phrases.Code{
	"<": {"condition.before", "condition.less"}, "<=": {"condition.latest", "condition.most"},
	">": {"condition.after", "condition.more"}, ">=": {"condition.earliest", "condition.least"},
}

// turned are the comparisons as they read from the right to the left.
var turned = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (w *wording) order(n *ast.BinaryNode, truth bool) string {
	name, other, operator := n.Left, n.Right, n.Operator
	if tree.IsLiteral(name) {
		name, other, operator = other, name, turned[operator]
	}
	was, ok := w.valueWords(name)
	wanted, known := w.valueWords(other)
	if !ok || !known {
		return ""
	}
	if truth {
		return w.t("condition.was", w.subject(name), was)
	}
	words := orders[operator][1]
	if v, _ := w.value(other); typeOfValue(v) == Time {
		words = orders[operator][0]
	}
	return w.t("condition.wants_order", w.subject(name), was, w.t(words), wanted)
}

func (w *wording) membership(n *ast.BinaryNode, truth bool) string {
	list, ok := n.Right.(*ast.ArrayNode)
	was, known := w.valueWords(n.Left)
	if !ok || !known {
		return w.either(truth, "condition.in", w.subject(n.Left), n.Right.String())
	}
	var items []string
	for _, item := range list.Nodes {
		words, ok := w.valueWords(item)
		if !ok {
			return ""
		}
		items = append(items, words)
	}
	return w.either(truth, "condition.one_of", w.subject(n.Left), was, strings.Join(items, ", "))
}

// textual words the operators on texts: each has a phrase of its name.
func (w *wording) textual(n *ast.BinaryNode, truth bool) string {
	return w.either(truth, phrases.Code("condition."+n.Operator), w.subject(n.Left), n.Right.String())
}

// call words the functions that answer yes or no.
func (w *wording) call(n *ast.CallNode, truth bool) string {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return ""
	}
	var arguments []string
	for _, a := range n.Arguments {
		words, ok := w.valueWords(a)
		if s, literal := a.(*ast.StringNode); literal && (callee.Value == "says" || callee.Value == "says_like") {
			words = quote(s.Value)
		}
		if !ok {
			return ""
		}
		arguments = append(arguments, words)
	}
	switch {
	case (callee.Value == "says" || callee.Value == "says_like") && len(arguments) > 0:
		return w.either(truth, phrases.Code("condition."+callee.Value), strings.Join(arguments, w.t("condition.or")))
	case callee.Value == "muted" && len(arguments) == 0:
		return w.either(truth, "condition.muted")
	case len(arguments) != 1:
		return ""
	}
	switch callee.Value {
	case "open", "closed":
		if (callee.Value == "open") == truth {
			return w.t("condition.open", arguments[0])
		}
		return w.t("condition.closed", arguments[0])
	case "human_active", "has_label", "contact_has_label":
		return w.either(truth, phrases.Code("condition."+callee.Value), arguments[0])
	}
	return ""
}

// subject names what a comparison looks at.
func (w *wording) subject(node ast.Node) string {
	if n, ok := node.(*ast.CallNode); ok {
		callee, _ := n.Callee.(*ast.IdentifierNode)
		switch {
		case callee == nil:
		case callee.Value == "now" && len(n.Arguments) == 0:
			return w.t("condition.time")
		case callee.Value == "customer_waiting" && len(n.Arguments) == 0:
			return w.t("condition.waiting")
		case callee.Value == "count_events" && len(n.Arguments) == 2 && tree.IsLiteral(n.Arguments[0]) && tree.IsLiteral(n.Arguments[1]):
			return w.t("condition.number", plainLiteral(n.Arguments[0]), plainLiteral(n.Arguments[1]))
		}
	}
	return node.String()
}

func plainLiteral(node ast.Node) string {
	if s, ok := node.(*ast.StringNode); ok {
		return s.Value
	}
	return node.String()
}

// compiled makes a part an expression of its own.
func (w *wording) compiled(node ast.Node) (*Expression, error) {
	x, issues := compileExpression(node.String(), w.env, nil)
	if len(issues) > 0 {
		return nil, fmt.Errorf("%s: %w", node, issues[0].message)
	}
	return x, nil
}

// value evaluates a part on its own, without asking for anything more.
func (w *wording) value(node ast.Node) (any, bool) {
	if v, ok := tree.ConstantOf(node); ok {
		return v, true
	}
	x, err := w.compiled(node)
	if err != nil || slices.ContainsFunc(x.needs, func(fact string) bool { _, known := w.Evaluation.env[fact]; return !known }) {
		return nil, false
	}
	w.explaining = true
	defer func() { w.explaining = false }()
	v, err := w.Value(x)
	return v, err == nil
}

// valueWords describes the value of a part. It shows an id's name if that is known too.
func (w *wording) valueWords(node ast.Node) (string, bool) {
	v, ok := w.value(node)
	if !ok {
		return "", false
	}
	if m, isMember := node.(*ast.MemberNode); isMember && v != nil {
		if name, ok := w.nameOf(m); ok {
			return w.wordsOf(name), true
		}
	}
	return w.wordsOf(v), true
}

// named are the fields that hold an id, with those beside them that hold its name.
var named = map[string]string{
	"assignee": "assignee_name", "sector": "sector_name", "channel": "channel_name",
	"board_id": "board_name", "stage_id": "stage_name", "from_stage_id": "from_stage_name",
}

func (w *wording) nameOf(m *ast.MemberNode) (any, bool) {
	property, ok := m.Property.(*ast.StringNode)
	if !ok || named[property.Value] == "" {
		return nil, false
	}
	path, ok := tree.PathOf(m.Node)
	if !ok {
		return nil, false
	}
	object, _ := lookup(w.Evaluation.env, strings.Split(path, "."))
	fact, _ := object.(map[string]any)
	name := fact[named[property.Value]]
	return name, name != nil
}

// plainWord matches a text that needs no quotes within a sentence.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN][\pL\pN_.:+-]*$`) })

// wordsOf writes a value for a sentence.
func (w *wording) wordsOf(v any) string {
	switch v := v.(type) {
	case nil:
		return w.t("condition.not_set")
	case bool:
		return w.t(phrases.Code("condition." + strconv.FormatBool(v)))
	case string:
		if plainWord().MatchString(v) && len(v) <= 40 {
			return v
		}
		return quote(v)
	case []any, map[string]any:
		text, _ := json.Marshal(brief(v))
		return string(text)
	case time.Time:
		return v.Format(w.t("condition.moment"))
	case time.Duration:
		return duration.Format(v) // not rounded: it is compared
	}
	return TextOf(v)
}

// quote writes a text in quotes, and of a long one the beginning.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return `"` + s + `"`
}

// A Language is a language of messages. The zero value is English.
type Language = phrases.Language

// The languages.
const (
	English    = phrases.English
	Portuguese = phrases.Portuguese
)
