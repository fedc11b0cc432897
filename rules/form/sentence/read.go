package sentence

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser/utils"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// Read reads a condition. It never fails: what no sentence says is by hand.
func Read(expression string) Condition {
	if strings.TrimSpace(expression) == "" {
		return Condition{}
	}
	byHand := Condition{Hand: expression}
	node, err := parse(expression)
	if err != nil {
		return byHand
	}
	c, ok := readCondition(node)
	if !ok || c.Hand != "" || !fits(expression, func() string { return Print(c) }) {
		return byHand
	}
	return c
}

// ReadValue reads an expression that gives a value, as those between {{ and }} do.
func ReadValue(expression string) Term {
	byHand := Term{Kind: Hand, Text: expression}
	node, err := parse(expression)
	if err != nil {
		return byHand
	}
	t, ok := readTerm(node)
	if !ok || t.Kind == Hand || !fits(expression, func() string { return PrintValue(t) }) {
		return byHand
	}
	return t
}

// fits reports whether what an expression was read as can be printed: that may be longer, where a
// text has characters that are escaped, and too long for an expression.
func fits(expression string, printed func() string) bool {
	const short = 200 // nothing becomes ten times as long
	if len(expression) <= short {
		return true
	}
	_, err := parse(printed())
	return err == nil
}

// ReadAll reads the conditions of a rule, all of which must be true.
func ReadAll(expressions []string) Condition {
	out := Condition{Group: All}
	for _, x := range expressions {
		switch c := Read(x); {
		case c.IsZero():
		case c.Group == All:
			out.Of = append(out.Of, c.Of...)
		default:
			out.Of = append(out.Of, c)
		}
	}
	return out
}

// parse returns the tree of an expression that can be printed again: a comment could not.
func parse(expression string) (ast.Node, error) {
	if hasComment(expression) || !utf8.ValidString(expression) {
		return nil, strconv.ErrSyntax
	}
	return rules.ParseExpression(expression)
}

// hasComment reports whether an expression has a comment outside of its texts.
func hasComment(expression string) bool {
	if !strings.Contains(expression, "//") && !strings.Contains(expression, "/*") {
		return false
	}
	for at := 0; at < len(expression); at++ {
		switch c := expression[at]; c {
		case '"', '\'', '`':
			at = quoted(expression, at)
		case '/':
			if rest := expression[at+1:]; strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "*") {
				return true
			}
		}
	}
	return false
}

// readCondition reads a tree. It reports false where a part is of no sentence and cannot be printed
// by itself either, so that the whole is by hand; so do the functions below.
func readCondition(node ast.Node) (Condition, bool) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			c, ok := readCondition(n.Node)
			return contraryOf(c), ok
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&":
			return readGroup(All, n)
		case "or", "||":
			return readGroup(Any, n)
		}
	}
	c, ok := readSentence(node)
	if ok {
		return c, true
	}
	if x, ok := readValue(node); ok {
		return Condition{Sentence: yes.Key, Blanks: map[string]Term{"x": x}}, true
	}
	text, ok := byHand(node)
	return Condition{Hand: text}, ok
}

// contraryOf returns the condition that is true where another is false.
func contraryOf(c Condition) Condition {
	switch {
	case c.Sentence != "":
		c.Not = !c.Not
		return c
	case c.Group == Any:
		c.Group = None
		return c
	case c.Group == None && len(c.Of) == 1:
		return c.Of[0]
	case c.Group == None:
		c.Group = Any
		return c
	}
	return Condition{Group: None, Of: []Condition{c}}
}

// readGroup reads the operands of an and or an or, also of those inside it.
func readGroup(g Group, n *ast.BinaryNode) (Condition, bool) {
	out := Condition{Group: g}
	for _, part := range []ast.Node{n.Left, n.Right} {
		c, ok := readCondition(part)
		switch {
		case !ok:
			return Condition{}, false
		case c.Group == g:
			out.Of = append(out.Of, c.Of...)
		default:
			out.Of = append(out.Of, c)
		}
	}
	return out, true
}

// turned are the comparisons as they read from the right to the left.
var turned = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

// readSentence reads a tree that a sentence of the catalogue says.
func readSentence(node ast.Node) (Condition, bool) {
	if n, ok := node.(*ast.BinaryNode); ok && turned[n.Operator] != "" && isLiteral(n.Left) && !isLiteral(n.Right) {
		node = &ast.BinaryNode{Operator: turned[n.Operator], Left: n.Right, Right: n.Left}
	}
	p, blanks, ok := readForm(0, node)
	if !ok {
		return Condition{}, false
	}
	return Condition{Sentence: p.form.Key, Not: p.not, Blanks: blanks}, true
}

// readForm finds the form of the catalogue that a tree is, and reads what fills its blanks.
func readForm(which int, node ast.Node) (*pattern, map[string]Term, bool) {
	if chain, ok := node.(*ast.ChainNode); ok {
		node = chain.Node // of a method behind ?.; its name says the same
	}
	for _, p := range whole().byRoot[which][root(node)] {
		if len(p.form.Blanks) > 0 && p.form.Blanks[0].Kind == "words" {
			words, ok := readList(node.(*ast.CallNode).Arguments)
			return p, map[string]Term{p.form.Blanks[0].Name: words}, ok
		}
		filled := make(map[string]ast.Node, 2)
		if !match(p.tree, node, filled) || !p.form.fits(filled) {
			continue
		}
		if len(filled) == 0 {
			return p, nil, true
		}
		blanks := make(map[string]Term, len(filled))
		for _, b := range p.form.Blanks {
			t, ok := readBlank(b.Kind, filled[b.Name])
			if !ok {
				return nil, nil, false
			}
			blanks[b.Name] = t
		}
		return p, blanks, true
	}
	return nil, nil, false
}

// fits reports whether the blank that must be written out is.
func (f *Form) fits(filled map[string]ast.Node) bool {
	switch f.literal {
	case "":
		return true
	case "duration":
		_, ok := durationOf(filled[f.literal])
		return ok
	}
	return isLiteral(filled[f.literal])
}

// readBlank reads what fills a blank of a kind.
func readBlank(kind string, node ast.Node) (Term, bool) {
	switch kind {
	case "condition":
		c, ok := readCondition(node)
		return Term{Kind: Question, Condition: &c}, ok
	case "span":
		if s, ok := node.(*ast.StringNode); ok && isDuration(s.Value) {
			return Term{Kind: Duration, Text: s.Value}, true
		}
	}
	return readTerm(node)
}

// readTerm reads any value.
func readTerm(node ast.Node) (Term, bool) {
	if t, ok := readValue(node); ok {
		return t, true
	}
	if isQuestion(node) {
		switch c, ok := readCondition(node); {
		case !ok || c.Hand != "" || c.Sentence == yes.Key && !c.Not:
		case c.Sentence == "always": // "not false" is "true"
			return Term{Kind: Flag, Text: strconv.FormatBool(!c.Not)}, true
		default:
			return Term{Kind: Question, Condition: &c}, true
		}
	}
	text, ok := byHand(node)
	return Term{Kind: Hand, Text: text}, ok
}

// readValue reads what is a literal, a name, a list, or a value of the catalogue.
func readValue(node ast.Node) (Term, bool) {
	if t, ok := literal(node); ok {
		return t, true
	}
	if text, ok := path(node); ok {
		return Term{Kind: Name, Text: text}, true
	}
	if n, ok := node.(*ast.ArrayNode); ok {
		return readList(n.Nodes)
	}
	p, blanks, ok := readForm(1, node)
	if !ok {
		return Term{}, false
	}
	if !p.form.wraps {
		return Term{Kind: Value, Value: p.form.Key, Blanks: blanks}, true
	}
	t := blanks["x"]
	t.Wraps = append(slices.Clone(t.Wraps), p.form.Key)
	return t, true
}

// isQuestion reports whether a tree is a condition by its outermost part.
func isQuestion(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.UnaryNode:
		return n.Operator == "not" || n.Operator == "!"
	case *ast.BinaryNode:
		if slices.Contains([]string{"and", "&&", "or", "||"}, n.Operator) {
			return true
		}
	}
	return len(whole().byRoot[0][root(node)]) > 0
}

func readList(nodes []ast.Node) (Term, bool) {
	out := Term{Kind: List}
	for _, n := range nodes {
		t, ok := readTerm(n)
		if !ok {
			return Term{}, false
		}
		out.List = append(out.List, t)
	}
	return out, true
}

// byHand prints a tree, if the print is read as the same tree.
func byHand(node ast.Node) (string, bool) {
	text := node.String()
	again, err := rules.ParseExpression(text)
	if err != nil { // the item of a list is known inside its condition only
		if again, err = rules.ParseExpression("any([], " + text + ")"); err != nil {
			return "", false
		}
		again = again.(*ast.BuiltinNode).Arguments[1].(*ast.PredicateNode).Node
	}
	return text, match(node, again, nil)
}

// literal reads a value that is written out.
func literal(node ast.Node) (Term, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return Term{Kind: Text, Text: n.Value}, true
	case *ast.IntegerNode:
		return Term{Kind: Number, Text: strconv.Itoa(n.Value)}, true
	case *ast.FloatNode:
		text := strconv.FormatFloat(n.Value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return Term{Kind: Number, Text: text}, true
	case *ast.BoolNode:
		return Term{Kind: Flag, Text: strconv.FormatBool(n.Value)}, true
	case *ast.UnaryNode:
		if inner, ok := literal(n.Node); ok && n.Operator == "-" && inner.Kind == Number && !strings.HasPrefix(inner.Text, "-") {
			return Term{Kind: Number, Text: "-" + inner.Text}, true
		}
	}
	if text, ok := durationOf(node); ok {
		return Term{Kind: Duration, Text: text}, true
	}
	if text, ok := argumentOf(node, "date"); ok {
		return Term{Kind: Date, Text: text}, true
	}
	return Term{}, false
}

// isLiteral reports whether a tree is a value that is written out, or nil.
func isLiteral(node ast.Node) bool {
	if _, ok := node.(*ast.NilNode); ok {
		return true
	}
	_, ok := literal(node)
	return ok
}

// durationOf returns the duration that a tree writes out.
func durationOf(node ast.Node) (string, bool) {
	text, ok := argumentOf(node, "duration")
	return text, ok && isDuration(text)
}

func isDuration(text string) bool {
	_, err := duration.Parse(text)
	return err == nil
}

// argumentOf returns the one text that a function is called with.
func argumentOf(node ast.Node, function string) (string, bool) {
	if root(node) != function+"()" {
		return "", false
	}
	var arguments []ast.Node
	switch n := node.(type) {
	case *ast.CallNode:
		arguments = n.Arguments
	case *ast.BuiltinNode:
		arguments = n.Arguments
	}
	if len(arguments) != 1 {
		return "", false
	}
	s, ok := arguments[0].(*ast.StringNode)
	if !ok {
		return "", false
	}
	return s.Value, true
}

// path returns the names that lead to a value: contact.name, answer?.message?.text, items[0].id,
// #.text.
func path(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.ChainNode:
		return path(n.Node)
	case *ast.IdentifierNode:
		return n.Value, true
	case *ast.PointerNode:
		return "#" + n.Name, true
	case *ast.MemberNode:
		base, ok := path(n.Node)
		if !ok || n.Method {
			return "", false
		}
		dot := "."
		if n.Optional {
			dot = "?."
		}
		switch property := n.Property.(type) {
		case *ast.StringNode:
			if utils.IsValidIdentifier(property.Value) {
				return base + dot + property.Value, true
			}
			if !n.Optional {
				return base + "[" + strconv.Quote(property.Value) + "]", true
			}
		case *ast.IntegerNode:
			if !n.Optional {
				return base + "[" + strconv.Itoa(property.Value) + "]", true
			}
		}
	}
	return "", false
}
