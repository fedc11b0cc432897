// Package suspect finds in an expression what is allowed and probably not meant: comparisons that
// cannot be what they read like, and conditions that are never true, or always.
package suspect

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/internal/tree"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/rules/vocabulary"
)

// Doubts finds comparisons in an expression that cannot mean what they say. They are warnings,
// because the service may differ.
func Doubts(node ast.Node, text string) []Doubt {
	d := &doubter{text: text}
	ast.Walk(&node, d)
	return d.found
}

// A Doubt is what is probably not meant, at a byte offset inside an expression.
type Doubt struct {
	Offset        int
	Message, Hint *phrases.Message
}

type doubter struct {
	text  string
	found []Doubt
}

// Visit checks one node.
func (d *doubter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		d.operator(n)
	case *ast.CallNode:
		d.call(n)
	}
}

func (d *doubter) operator(n *ast.BinaryNode) {
	switch n.Operator {
	case "==", "!=":
		d.exact(n)
		d.compare(n.Left, n.Right)
		d.compare(n.Right, n.Left)
	case "contains", "startsWith", "endsWith":
		d.letters(n.Left, n.Right)
		if s, ok := n.Right.(*ast.StringNode); ok && len(s.Value) > 2 && (strings.HasPrefix(s.Value, "*") || strings.HasSuffix(s.Value, "*")) {
			d.doubt(s, phrases.Sprintf("write %s %q", n.Operator, strings.Trim(s.Value, "*")), "%s looks for the * too, which stands for nothing", n.Operator)
		}
	case "in":
		d.exact(n)
		d.compare(n.Right, n.Left) // "vip" in conversation.label_ids
		if list, ok := n.Right.(*ast.ArrayNode); ok {
			for _, item := range list.Nodes {
				d.compare(n.Left, item)
			}
		}
	case "matches":
		d.pattern(n.Right)
	}
}

func (d *doubter) doubt(at ast.Node, hint *phrases.Message, format string, args ...any) {
	d.found = append(d.found, Doubt{tree.ByteOffset(d.text, at.Location().From), phrases.Sprintf(format, args...), hint})
}

// nameBeside has, by the name of a field with an id, that of the field with the name.
var nameBeside = func() map[string]string {
	names := make(map[string]string)
	for _, n := range vocabulary.NamedFields() {
		names[n.ID] = n.Name
	}
	return names
}()

// compare checks a field that is compared with a literal.
func (d *doubter) compare(field, constant ast.Node) {
	s, ok := constant.(*ast.StringNode)
	if !ok {
		return
	}
	d.letters(field, constant)
	member, ok := field.(*ast.MemberNode)
	if !ok || plain.IsUUID(s.Value) {
		return
	}
	property, ok := member.Property.(*ast.StringNode)
	if !ok {
		return
	}
	named := nameBeside[property.Value]
	switch _, known := tree.PathOf(member); {
	case named != "":
		if known {
			d.doubt(constant, phrases.Sprintf("write %s.%s", tree.Describe(member.Node), named), "%s is an id, and %q is none", tree.Describe(member), s.Value)
		}
	case property.Value == "label_ids":
		hint := phrases.Sprintf("compare it with the label's id")
		if tree.IsName(member.Node, "conversation") {
			hint = phrases.Sprintf("write has_label(%q)", s.Value)
		} else if tree.IsName(member.Node, "contact") {
			hint = phrases.Sprintf("write contact_has_label(%q)", s.Value)
		}
		d.doubt(constant, hint, "%s has ids, and %q is none", tree.Describe(member), s.Value)
	}
}

// exact checks what a customer wrote: compared with words, it must be the same to the letter.
func (d *doubter) exact(n *ast.BinaryNode) {
	var words []string
	var at ast.Node
	for _, side := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		if path, _ := tree.PathOf(side[0]); path != "message.text" {
			continue
		}
		items := []ast.Node{side[1]}
		if list, ok := side[1].(*ast.ArrayNode); ok {
			items = list.Nodes
		}
		for _, item := range items {
			if s, ok := item.(*ast.StringNode); ok && strings.ContainsFunc(s.Value, unicode.IsLetter) {
				words = append(words, fmt.Sprintf("%q", s.Value))
				at = side[1]
			}
		}
	}
	if len(words) > 0 {
		not := ""
		if n.Operator == "!=" {
			not = "not "
		}
		d.doubt(at, phrases.Sprintf("write %ssays(%s)", not, strings.Join(words, ", ")), "message.text %s … is exact, with capitals and accents", n.Operator)
	}
}

// letters checks a lower- or upper-case text that is compared with a literal of another case.
func (d *doubter) letters(left, constant ast.Node) {
	s, written := constant.(*ast.StringNode)
	name := ""
	switch n := left.(type) {
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			name = callee.Value
		}
	case *ast.BuiltinNode:
		name = n.Name
	}
	switch {
	case !written:
	case name == "lower" && s.Value != strings.ToLower(s.Value):
		d.doubt(constant, phrases.Sprintf("write %q", strings.ToLower(s.Value)), "%q has capital letters, and lower(…) leaves none", s.Value)
	case name == "upper" && s.Value != strings.ToUpper(s.Value):
		d.doubt(constant, phrases.Sprintf("write %q", strings.ToUpper(s.Value)), "%q has small letters, and upper(…) leaves none", s.Value)
	}
}

// slashed is a pattern as other languages write it.
var slashed = regexp.MustCompile(`^/(.+)/[gimsu]*$`)

// wildcard is a word with a * behind it, as spreadsheets write it.
var wildcard = regexp.MustCompile(`^[\pL\d ]+\*$`)

func (d *doubter) pattern(n ast.Node) {
	if s, ok := n.(*ast.StringNode); ok {
		if m := slashed.FindStringSubmatch(s.Value); m != nil {
			d.doubt(n, phrases.Sprintf("write %q, with (?i) in front to ignore capitals", m[1]), "the slashes are part of the pattern")
		}
		if wildcard.MatchString(s.Value) {
			word := strings.TrimSuffix(s.Value, "*")
			d.doubt(n, phrases.Sprintf("write contains %q, or says(%q) for the word in a message", word, word), "in a pattern the * repeats the letter before it, and does not stand for any text")
		}
	}
}

// call checks for words that says cannot find, and for layouts of Format in the style of other
// languages.
func (d *doubter) call(n *ast.CallNode) {
	if member, ok := n.Callee.(*ast.MemberNode); ok && len(n.Arguments) == 1 && isText(member.Property, "Format") {
		if s, ok := n.Arguments[0].(*ast.StringNode); ok && time.Unix(0, 0).UTC().Format(s.Value) == s.Value {
			d.doubt(s, phrases.Sprintf("write the parts as those of 2 January 2006, 15:04, as in Format(\"02/01/2006 15:04\")"), "%q has nothing of the time in it", s.Value)
		}
	}
	if tree.IsName(n.Callee, "extract") && len(n.Arguments) == 2 {
		d.pattern(n.Arguments[1])
	}
	name := "says"
	if tree.IsName(n.Callee, "says_like") {
		name = "says_like"
	} else if !tree.IsName(n.Callee, name) {
		return
	}
	for _, argument := range n.Arguments {
		items := []ast.Node{argument}
		if list, ok := argument.(*ast.ArrayNode); ok {
			items = list.Nodes
		}
		for _, item := range items {
			if s, ok := item.(*ast.StringNode); ok {
				d.words(s, name)
			}
		}
	}
}

func isText(n ast.Node, text string) bool {
	s, ok := n.(*ast.StringNode)
	return ok && s.Value == text
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// words checks what says or says_like is to find.
func (d *doubter) words(s *ast.StringNode, name string) {
	odd := strings.IndexFunc(s.Value, func(r rune) bool { return unicode.IsSymbol(r) && r > unicode.MaxASCII })
	switch {
	case !strings.ContainsFunc(s.Value, isWord):
		d.doubt(s, phrases.Sprintf("write message.text contains %q", s.Value), "%q has no word in it, so %s never finds it", s.Value, name)
	case odd >= 0:
		d.doubt(s, phrases.Sprintf("write message.text contains … for that"), "%s looks at words only, and not at the %c", name, []rune(s.Value[odd:])[0])
	case strings.Contains(s.Value, "*"):
		d.doubt(s, phrases.Sprintf("write out each form, or a pattern behind message.text matches"), "%s looks for whole words, and * stands for nothing", name)
	}
}
