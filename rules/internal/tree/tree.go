// Package tree answers questions about the syntax trees of expressions.
package tree

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/vocabulary"
)

// ByteOffset turns expr's position, counted in characters, into bytes.
func ByteOffset(text string, runes int) int {
	for i := range text {
		if runes == 0 {
			return i
		}
		runes--
	}
	return len(text)
}

// IsName reports whether a node is a name.
func IsName(n ast.Node, name string) bool {
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == name
}

// Describe names a node in a message.
func Describe(n ast.Node) string {
	if _, ok := n.(*ast.PointerNode); ok {
		return "the item"
	}
	return n.String()
}

// PathOf returns the dotted path of a field of a fact. It refuses ?.: the index could not tell a
// missing value from one that makes the expression fail.
func PathOf(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value, vocabulary.FactOf(n.Value) != nil
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		base, known := PathOf(n.Node)
		if !ok || !known || n.Optional || strings.Contains(property.Value, ".") {
			return "", false
		}
		return base + "." + property.Value, true
	}
	return "", false
}

// ConstantOf returns a literal in the form in which the index compares it.
func ConstantOf(node ast.Node) (any, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		return float64(n.Value), true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.NilNode:
		return nil, true
	}
	return nil, false
}

// IsLiteral reports whether a node is a value that is written out.
func IsLiteral(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		return true
	}
	return false
}
