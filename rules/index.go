package rules

import (
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/internal/tree"
)

// A key is a necessary condition: a field of the event with a value.
type key struct {
	path  string // conversation.kind
	value any    // a string, float64, bool or nil
}

// A keySet is a list of keys of which at least one must hold. A nil set is unknown; an empty one is
// never true.
type keySet []key

// keysOf finds what must hold for a condition to be true, from its equality and `in` clauses.
func keysOf(node ast.Node) keySet {
	switch n := node.(type) {
	case *ast.BinaryNode:
		switch n.Operator {
		case "==":
			if k, ok := equality(n.Left, n.Right); ok {
				return keySet{k}
			}
			if k, ok := equality(n.Right, n.Left); ok {
				return keySet{k}
			}
		case "in":
			return membership(n.Left, n.Right)
		case "and", "&&":
			left, right := keysOf(n.Left), keysOf(n.Right)
			if left == nil || (right != nil && len(right) < len(left)) {
				return right
			}
			return left
		case "or", "||":
			if left, right := keysOf(n.Left), keysOf(n.Right); left != nil && right != nil {
				return append(slices.Clone(left), right...)
			}
		}
	case *ast.MemberNode:
		if path, ok := tree.PathOf(n); ok && n.Nature().IsBool() {
			return keySet{{path, true}}
		}
	case *ast.UnaryNode:
		if m, ok := n.Node.(*ast.MemberNode); ok && (n.Operator == "not" || n.Operator == "!") && m.Nature().IsBool() {
			if path, ok := tree.PathOf(m); ok {
				return keySet{{path, false}}
			}
		}
	}
	return nil
}

func equality(name, constant ast.Node) (key, bool) {
	path, ok := tree.PathOf(name)
	if !ok {
		return key{}, false
	}
	v, ok := tree.ConstantOf(constant)
	return key{path, v}, ok
}

func membership(name, list ast.Node) keySet {
	path, ok := tree.PathOf(name)
	array, isArray := list.(*ast.ArrayNode)
	if !ok || !isArray {
		return nil
	}
	set := keySet{}
	for _, item := range array.Nodes {
		v, ok := tree.ConstantOf(item)
		if !ok {
			return nil
		}
		set = append(set, key{path, v})
	}
	return set
}

// comparableValue returns a value of an event in the same form; ok is false for what no literal can
// equal.
func comparableValue(v any) (value any, ok bool) {
	switch v := v.(type) {
	case nil, string, bool, float64:
		return v, true
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return nil, false
}

// A typeIndex finds the rules for one event type.
type typeIndex struct {
	always []*Rule      // rules that no field can exclude
	fields []fieldIndex // in the order of their paths
	facts  []string     // that the fields are of
}

// A fieldIndex finds rules by the value of one field.
type fieldIndex struct {
	path    []string
	byValue map[any][]*Rule
	all     []*Rule // if the event does not have the field
	flags   bool    // it is true or false, so that nil makes an expression fail
}

// buildIndex puts each rule under the keys that the fewest other rules share.
func buildIndex(rules []*Rule) map[string]*typeIndex {
	index := make(map[string]*typeIndex, len(eventNames))
	for _, typ := range eventNames {
		var live []*Rule
		shared := make(map[key]int)
		for _, r := range rules {
			if r.Stage == Draft || !slices.Contains(r.When.Events, typ) {
				continue
			}
			live = append(live, r)
			for _, x := range r.If {
				for _, k := range x.keys {
					shared[k]++
				}
			}
		}
		if len(live) > 0 {
			index[typ] = newTypeIndex(live, shared)
		}
	}
	return index
}

func newTypeIndex(rules []*Rule, shared map[key]int) *typeIndex {
	t := &typeIndex{}
	fields := make(map[string]*fieldIndex)
	for _, r := range rules {
		keys := bestKeys(r, shared)
		if keys == nil {
			t.always = append(t.always, r)
			continue
		}
		for _, k := range keys {
			f := fields[k.path]
			if f == nil {
				f = &fieldIndex{path: strings.Split(k.path, "."), byValue: make(map[any][]*Rule)}
				fields[k.path] = f
			}
			_, flag := k.value.(bool)
			f.flags = f.flags || flag
			f.byValue[k.value] = append(f.byValue[k.value], r)
			if n := len(f.all); n == 0 || f.all[n-1] != r {
				f.all = append(f.all, r)
			}
		}
	}
	for _, f := range fields {
		t.fields = append(t.fields, *f)
	}
	slices.SortFunc(t.fields, func(a, b fieldIndex) int { return slices.Compare(a.path, b.path) })
	for _, f := range t.fields {
		t.facts = append(t.facts, f.path[0])
	}
	t.facts = slices.Compact(t.facts)
	return t
}

// bestKeys returns the keys of the rule's clause that excludes most, or nil. A rule that gathers
// decides on the last event of all that it collects, so no event is excluded before.
func bestKeys(r *Rule, shared map[key]int) keySet {
	if r.Gather != nil {
		return nil
	}
	var best keySet
	bestShared := 0
	for _, x := range r.If {
		if x.keys == nil {
			continue
		}
		n := 0
		for _, k := range x.keys {
			n += shared[k]
		}
		if best == nil || n < bestShared {
			best, bestShared = x.keys, n
		}
	}
	return best
}

// Starts reports whether an event of the type can start a rule.
func (s *Set) Starts(typ string) bool { return s.index[typ] != nil }

// Looks returns the names of the facts that Candidates reads for an event of the type.
func (s *Set) Looks(typ string) []string {
	if t := s.index[typ]; t != nil {
		return t.facts
	}
	return nil
}

// Candidates appends the rules that may match an event of the type to dst, in the order of their
// ids, and returns it. Known holds the facts that the event itself carries; a rule that depends on
// another stays a candidate. The cost does not grow with the number of rules that are left out.
func (s *Set) Candidates(dst []*Rule, typ string, known map[string]any) []*Rule {
	t := s.index[typ]
	if t == nil {
		return dst
	}
	start := len(dst)
	dst = append(dst, t.always...)
	sorted := true
	for i := range t.fields {
		f := &t.fields[i]
		v, ok := lookup(known, f.path)
		found := f.all
		if ok && !(v == nil && f.flags) {
			found = nil
			if v, ok := comparableValue(v); ok {
				found = f.byValue[v]
			}
		}
		if len(found) > 0 {
			sorted = sorted && len(dst) == start
			dst = append(dst, found...)
		}
	}
	if !sorted {
		added := dst[start:]
		slices.SortFunc(added, func(a, b *Rule) int { return a.ordinal - b.ordinal })
		dst = append(dst[:start], slices.Compact(added)...)
	}
	return dst
}

// lookup follows a path through the known facts. It is not ok if the value is unknown or the
// expression would fail, so that the failure is reported and not taken for a plain no.
func lookup(known map[string]any, path []string) (v any, ok bool) {
	if v, ok = known[path[0]]; !ok {
		return nil, false
	}
	for _, name := range path[1:] {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		v = m[name]
	}
	return v, true
}
