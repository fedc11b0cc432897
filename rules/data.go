package rules

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/internal/tree"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A DataUse is a place where a rule reads a path of event.data. Event payloads have no schema, so
// the compiler cannot check the path; recorded events can.
type DataUse struct {
	Rule     *Rule
	Path     []string // behind event.data
	Compared *Type    // the literal it is compared with; nil if none
	Events   []string // the types of the events that it may be read of

	places []Problem // of each name
}

// Problem returns a warning at the place of the path's i-th name.
func (u DataUse) Problem(i int, message, hint *phrases.Message) Problem {
	p := u.places[i]
	p.Severity = source.Warning
	return p.Saying(message, hint)
}

// DataUses returns where the rules read event.data.
func (s *Set) DataUses() []DataUse {
	var uses []DataUse
	for _, r := range s.Rules {
		events := slices.Clone(r.When.Events)
		for _, m := range r.CancelOn {
			events = append(events, m.Event)
		}
		for step := range r.Steps() {
			events = append(events, step.Events...)
		}
		for _, u := range r.data {
			u.Rule, u.Events = r, events
			uses = append(uses, u)
		}
	}
	return uses
}

// noteData records what an expression at a node reads of event.data.
func (c *compiler) noteData(x *Expression, n *source.Node, offset int) {
	if c.rule == nil {
		return
	}
	for _, u := range x.data {
		use := DataUse{Path: u.path, Compared: u.compared}
		for _, at := range u.offsets {
			place := issue{offset: at}.at(n, offset)
			place.Rule = c.rule.ID
			use.places = append(use.places, place)
		}
		c.rule.data = append(c.rule.data, use)
	}
}

// dataUse is a path of event.data inside an expression.
type dataUse struct {
	path     []string
	offsets  []int // of its names
	compared *Type
}

// dataUses finds the paths of event.data in a tree, each as far as it is written out.
func dataUses(node ast.Node, text string) []dataUse {
	f := &dataFinder{text: text, compared: make(map[ast.Node]*Type)}
	ast.Walk(&node, f)
	var uses []dataUse
	for i, u := range f.found {
		// The walk visits a path before its continuation.
		if i+1 < len(f.nodes) && within(f.nodes[i+1], f.nodes[i]) {
			continue
		}
		u.compared = f.compared[f.nodes[i]]
		uses = append(uses, u)
	}
	return uses
}

type dataFinder struct {
	text     string
	found    []dataUse
	nodes    []ast.Node
	compared map[ast.Node]*Type
}

// Visit is called for the children of a node before the node itself.
func (f *dataFinder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode:
		if names := memberNames(n); len(names) > 2 && names[0].name == "event" && names[1].name == "data" {
			var use dataUse
			for _, m := range names[2:] {
				use.path, use.offsets = append(use.path, m.name), append(use.offsets, tree.ByteOffset(f.text, m.from))
			}
			f.found, f.nodes = append(f.found, use), append(f.nodes, n)
		}
	case *ast.BinaryNode:
		if n.Operator == "==" || n.Operator == "!=" {
			f.compare(n.Left, n.Right)
			f.compare(n.Right, n.Left)
		}
	}
}

// compare notes what a path is compared with.
func (f *dataFinder) compare(path, constant ast.Node) {
	if chain, ok := path.(*ast.ChainNode); ok {
		path = chain.Node
	}
	if v, ok := tree.ConstantOf(constant); ok && v != nil {
		f.compared[path] = typeOf(v)
	}
}

// A memberName is one name of a path, with where it stands.
type memberName struct {
	name string
	from int
}

// memberNames returns the names of a member's path that is written out, also through ?.; nil if it
// is not.
func memberNames(node ast.Node) []memberName {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return []memberName{{n.Value, n.Location().From}}
	case *ast.ChainNode:
		return memberNames(n.Node)
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		before := memberNames(n.Node)
		if !ok || before == nil || strings.ContainsAny(property.Value, ".[") {
			return nil
		}
		return append(before, memberName{property.Value, property.Location().From})
	}
	return nil
}

// within reports whether a node is what another member begins with.
func within(member, node ast.Node) bool {
	m, ok := member.(*ast.MemberNode)
	if !ok {
		return false
	}
	base := m.Node
	if chain, ok := base.(*ast.ChainNode); ok {
		base = chain.Node
	}
	return base == node
}
