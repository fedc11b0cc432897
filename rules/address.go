package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/source"
)

// An addressPart is where an expression stands in a URL.
type addressPart int

const (
	notEscaped addressPart = iota // in no URL, or in front of its path
	inAddressPath
	inAddressQuery
)

// address finds the part of a URL that each expression stands in. A customer's text stays within
// one segment of the path, or one value of the query. It never decides which system is called: in
// front of the path only constants are allowed, or the answer of another system, which may give the
// whole URL.
func (c *compiler) address(n *source.Node, v *Value) {
	segments, _ := template.Split(n.Value)
	before := "" // the URL so far, as far as it is known
	for i, s := range segments {
		switch part := partBehind(before); {
		case !s.Expression:
			before += s.Text
		case part != notEscaped:
			v.pieces[i].address = part
		default:
			x := v.whole
			if x == nil {
				x = v.pieces[i].expression
			}
			text, err := c.constantText(x)
			switch {
			case err == nil:
				before += text
			case i == 0 && c.onlyAnswers(x):
				before = "https://" // which host is not known
			default:
				c.add(n.AtOffset(s.Offset, source.Error, say("what stands in {{ }} cannot decide which system is called"), say("write the host out, or keep it in `vars`: {{ vars.shop }}/orders")))
				return
			}
		}
	}
	if !strings.HasPrefix(before, "https://") && !strings.HasPrefix(before, "http://") {
		c.report(n, say("as in %s", "https://hooks.example.com/new"), "%q is not an address", before)
		return
	}
	scheme, rest, _ := strings.Cut(before, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if rest != "" {
		c.rule.addresses = append(c.rule.addresses, NameUse{Kind: "address", Name: scheme + "://" + rest, place: c.place(n, 0)})
	}
}

// partBehind returns the part of a URL that what follows its beginning belongs to.
func partBehind(beginning string) addressPart {
	_, rest, found := strings.Cut(beginning, "://")
	switch {
	case !found || !strings.ContainsAny(rest, "/?#"):
		return notEscaped
	case strings.ContainsAny(rest, "?#"):
		return inAddressQuery
	}
	return inAddressPath
}

// constantText returns the text of an expression that reads constants of the file alone.
func (c *compiler) constantText(x *Expression) (string, error) {
	if len(x.calls) > 0 || !c.readsOnly(x, func(name string) bool { return name == "vars" }) {
		return "", fmt.Errorf("%s is not a constant", x.Text)
	}
	v, err := NewEvaluation(context.Background(), &Rule{vars: c.vars}, nil).Value(x)
	return TextOf(v), err
}

// onlyAnswers reports whether an expression reads nothing but answers of other systems, and
// constants.
func (c *compiler) onlyAnswers(x *Expression) bool {
	return len(x.calls) == 0 && c.readsOnly(x, func(name string) bool { return name == "vars" || c.answers[name] })
}

// readsOnly reports whether all names that an expression reads are allowed.
func (c *compiler) readsOnly(x *Expression, allowed func(name string) bool) bool {
	node, err := x.env.parse(x.Text)
	if err != nil {
		return false
	}
	names := &identifiers{}
	ast.Walk(&node, names)
	for _, name := range names.found {
		if !allowed(name) {
			return false
		}
	}
	return true
}

// identifiers collects the names that an expression reads.
type identifiers struct {
	found   []string
	results []string // of steps, as in steps.answer
}

// Visit collects a name.
func (i *identifiers) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		i.found = append(i.found, n.Value)
	case *ast.MemberNode:
		if name, ok := n.Property.(*ast.StringNode); ok && isSteps(n.Node) {
			i.results = append(i.results, name.Value)
		}
	}
}

// queryValue compiles the names and values of a query. A null is left out when it is sent, and a
// list repeats its name.
func (c *compiler) queryValue(n *source.Node, a *Arg, env *environment) *Value {
	if n.Kind != source.Mapping {
		c.report(n, say("as in %s", "{ phone: \"{{ contact.phone }}\" }"), "%s must be a mapping of names to values, not %s", a.Name, n.Kind)
		return nil
	}
	v := &Value{fields: []Setting{}}
	for _, p := range n.Pairs {
		var value *Value
		if p.Value.Kind == source.List {
			value = &Value{list: []*Value{}}
			for _, item := range p.Value.Items {
				value.list = append(value.list, c.queryItem(item, p.Key.Value, env))
			}
		} else {
			value = c.queryItem(p.Value, p.Key.Value, env)
		}
		if value == nil || slices.Contains(value.list, nil) {
			return nil
		}
		v.fields = append(v.fields, Setting{p.Key.Value, value})
	}
	return v
}

func (c *compiler) queryItem(n *source.Node, name string, env *environment) *Value {
	if n.Kind == source.Null {
		return &Value{}
	}
	return c.scalar(n, &Arg{Name: name}, env, Text)
}

var escapedDot = strings.NewReplacer("%2e", ".", "%2E", ".")

// checkSegment refuses a segment of a URL's path that would lead elsewhere, by an offset in it.
func checkSegment(address string, at int) error {
	start := strings.LastIndexByte(address[:at], '/') + 1
	segment := address[start:]
	if end := strings.IndexAny(segment, "/?#"); end >= 0 {
		segment = segment[:end]
	}
	if segment == "" {
		return &ExpressionError{Message: "this part of the address is empty, which leads elsewhere"}
	}
	if dots := escapedDot.Replace(segment); dots == "." || dots == ".." {
		return &ExpressionError{Message: "this part of the address is only dots, which leads elsewhere"}
	}
	return nil
}

// escapeValue escapes everything but ASCII letters, digits and -_.~, for path and query.
func escapeValue(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
