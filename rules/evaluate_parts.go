package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/duration"
)

// Values returns the values of the names and calls in an expression, in their order, as far as they
// are known without reading another fact.
func (e *Evaluation) Values(x *Expression) []NamedValue {
	x.once.Do(x.compileParts)
	e.explaining, e.spent, e.gathered = true, 0, x.env.gathers
	defer func() { e.explaining = false }()
	values := make([]NamedValue, 0, len(x.parts))
	for _, p := range x.parts {
		if p.program == nil || slices.ContainsFunc(p.needs, func(fact string) bool { _, known := e.env[fact]; return !known }) {
			continue
		}
		if v, err := e.vm.Run(p.program, e.env); err == nil {
			values = append(values, NamedValue{Name: p.text, Value: brief(v)})
		}
	}
	return values
}

// A NamedValue is the value of a name or a call in an expression.
type NamedValue struct {
	Name  string
	Value any
}

func (x *Expression) compileParts() {
	for i := range x.parts {
		p := &x.parts[i]
		ast.Walk(&p.node, factsIn{&p.needs})
		if program, err := x.env.compile(p.node, x.Text); err == nil {
			p.program = program
		}
	}
}

// factsIn collects the facts that a part of an expression reads.
type factsIn struct{ found *[]string }

// Visit is called for every node.
func (f factsIn) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IdentifierNode); ok && factType(n.Value) != nil {
		*f.found = append(*f.found, n.Value)
	}
}

// partsOf finds the names and calls in a tree, outermost first, without those that only make sense
// for each item of a list.
func partsOf(node ast.Node) []part {
	var parts []part
	seen := make(map[string]bool)
	variables := make(map[string]bool) // names bound by let have no value outside of the expression
	var walk func(ast.Node)
	add := func(n ast.Node) {
		if text := n.String(); !seen[text] && !variables[rootName(n)] {
			seen[text] = true
			parts = append(parts, part{text: text, node: n})
		}
	}
	walk = func(node ast.Node) {
		switch n := node.(type) {
		case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode:
			add(n)
		case *ast.CallNode:
			add(n)
			for _, a := range n.Arguments {
				walk(a)
			}
		case *ast.BuiltinNode:
			add(n)
			for _, a := range n.Arguments {
				walk(a)
			}
		case *ast.UnaryNode:
			walk(n.Node)
		case *ast.BinaryNode:
			walk(n.Left)
			walk(n.Right)
		case *ast.ConditionalNode:
			walk(n.Cond)
			walk(n.Exp1)
			walk(n.Exp2)
		case *ast.SliceNode:
			walk(n.Node)
		case *ast.ArrayNode:
			for _, item := range n.Nodes {
				walk(item)
			}
		case *ast.VariableDeclaratorNode:
			walk(n.Value)
			variables[n.Name] = true
			walk(n.Expr)
		case *ast.SequenceNode:
			for _, item := range n.Nodes {
				walk(item)
			}
		}
	}
	walk(node)
	return parts
}

// rootName returns the name that a chain of members begins with.
func rootName(node ast.Node) string {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.MemberNode:
		return rootName(n.Node)
	case *ast.ChainNode:
		return rootName(n.Node)
	}
	return ""
}

// brief keeps a value small enough to be recorded with every verdict.
func brief(v any) any {
	const most = 200
	switch v := v.(type) {
	case string:
		if len(v) > most {
			if r := []rune(v); len(r) > most {
				return string(r[:most]) + "…"
			}
		}
	case []any:
		return briefList(v)
	case map[string]any:
		for _, name := range []string{"name", "title", "text", "id"} { // what people know it by
			if text, ok := v[name].(string); ok && text != "" {
				return brief(text)
			}
		}
		return fmt.Sprintf("%d fields", len(v))
	case time.Duration:
		return duration.Format(v)
	case []string:
		return briefList(v)
	}
	return v
}

// briefList keeps the first items of a list, and how many there are if that is not all of them.
func briefList[T any](list []T) []any {
	const most = 5
	out := make([]any, 0, most+1)
	for _, item := range list[:min(len(list), most)] {
		if short, ok := brief(item).([]any); ok {
			out = append(out, fmt.Sprintf("[%d]", len(short))) // a list in a list
			continue
		}
		out = append(out, brief(item))
	}
	if len(list) > most {
		out = append(out, fmt.Sprintf("… %d", len(list)))
	}
	return out
}

// TextOf returns a value as it reads in a text.
func TextOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		return v.Format("2006-01-02 15:04")
	case time.Duration:
		return duration.Readable(v)
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = TextOf(item)
		}
		return strings.Join(texts, ", ")
	case []string:
		return strings.Join(v, ", ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
