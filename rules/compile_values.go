package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// text returns a scalar's text.
func (c *compiler) text(n *source.Node, what phrases.Word) (string, bool) {
	if n.Kind != source.Scalar {
		c.report(n, nil, "%s must be a text, not %s", what, n.Kind)
		return "", false
	}
	return n.Value, true
}

// static returns the text of a scalar that must be known at load time: it may use vars and nothing
// else.
func (c *compiler) static(n *source.Node, what phrases.Word) (string, bool) {
	s, ok := c.text(n, what)
	if !ok {
		return "", false
	}
	segments, unclosed := template.Split(s)
	if unclosed >= 0 {
		c.add(neverClosed(n, unclosed))
		return "", false
	}
	if !slices.ContainsFunc(segments, func(s template.Segment) bool { return s.Expression }) {
		return s, true
	}
	env := &environment{names: map[string]*Type{"vars": c.varTypes}, starts: what}
	v := c.template(n, segments, env, nil)
	if v == nil {
		return "", false
	}
	e := NewEvaluation(context.Background(), &Rule{vars: c.vars}, nil)
	e.exact = true // a duration may be meant to be read again
	out, err := e.Render(v)
	if err != nil {
		c.report(n, nil, "%v", err)
		return "", false
	}
	if d, ok := out.(time.Duration); ok {
		return duration.Format(d), true
	}
	return TextOf(out), true
}

func (c *compiler) duration(n *source.Node, what phrases.Word) (time.Duration, bool) {
	s, ok := c.static(n, what)
	if !ok {
		return 0, false
	}
	d, err := duration.Parse(s)
	if err == nil && d <= 0 {
		err = say("%s must be longer than nothing", what)
	}
	if err != nil {
		c.report(n, nil, "%v", err)
		return 0, false
	}
	return d, true
}

// number reads a whole number from 1 on.
func (c *compiler) number(n *source.Node, what phrases.Word, most int) (int, bool) {
	s, ok := c.static(n, what)
	if !ok {
		return 0, false
	}
	var i int
	if _, err := fmt.Sscanf(s+"\n", "%d\n", &i); err != nil || fmt.Sprint(i) != s || i < 1 || i > most {
		c.report(n, nil, "%s must be a whole number from 1 to %d, not %q", what, most, s)
		return 0, false
	}
	return i, true
}

// numbersValue compiles one or several whole numbers that are known at load time.
func (c *compiler) numbersValue(n *source.Node, a *Arg) *Value {
	c.notEmpty(n, phrases.Word(a.Name), say("leave it out"))
	v := &Value{list: []*Value{}}
	for _, item := range oneOrMore(n) {
		s, ok := c.static(item, phrases.Word(a.Name))
		if !ok {
			return nil
		}
		i, err := strconv.Atoi(s)
		if err != nil || i < a.Min || i > a.Max {
			c.report(item, say("as in [%d]", a.Min), "%s must be whole numbers from %d to %d, not %q", a.Name, a.Min, a.Max, s)
			return nil
		}
		v.list = append(v.list, &Value{constant: i})
	}
	return v
}

func (c *compiler) choice(n *source.Node, what phrases.Word, values []string) (string, bool) {
	s, ok := c.text(n, what)
	if !ok {
		return "", false
	}
	if !slices.Contains(values, s) {
		c.report(n, source.OneOf(s, values), "%s cannot be %q", what, s)
		return "", false
	}
	return s, true
}

// oneOrMore returns the items of a list, or the node itself where there is only one.
func oneOrMore(n *source.Node) []*source.Node {
	switch n.Kind {
	case source.List:
		return n.Items
	case source.Null:
		return nil
	}
	return []*source.Node{n}
}

// notEmpty reports an empty key or list, which would not mean what it says.
func (c *compiler) notEmpty(n *source.Node, what phrases.Word, hint *phrases.Message) {
	if n.Kind == source.Null || (n.Kind == source.List && len(n.Items) == 0) {
		c.report(n, hint, "%s is empty", what)
	}
}

// mapping reports a node that is no mapping, and its keys that are none of those allowed.
func (c *compiler) mapping(n *source.Node, what phrases.Word, keys ...string) bool {
	if n.Kind != source.Mapping {
		c.report(n, example(mappingExamples[what]), "%s must be a mapping of %s, not %s", what, phrases.And(keys), n.Kind)
		return false
	}
	for i, p := range n.Pairs {
		if !slices.Contains(keys, p.Key.Value) && !c.cutOff(n, i) {
			_, hint := otherKey(string(what), p.Key.Value)
			c.report(p.Key, cmp.Or(hint, source.OneOf(p.Key.Value, keys)), "%s has no key %q", what, p.Key.Value)
		}
	}
	return true
}

// cutOff reports keys that are the rest of a value before them: in { } a comma ends a value, also
// one inside the brackets of a call.
func (c *compiler) cutOff(n *source.Node, i int) bool {
	first := i - 1
	for first >= 0 && n.Pairs[first].Value.Kind == source.Null {
		first--
	}
	if first < 0 || n.Pairs[i].Value.Kind != source.Null {
		return false
	}
	key, value := n.Pairs[first].Key.Value, n.Pairs[first].Value
	open := strings.Count(value.Value, "(") - strings.Count(value.Value, ")")
	if value.Quoted || open <= 0 {
		return false
	}
	if c.cut[value] {
		return true // reported with the first of them
	}
	whole := value.Value
	for _, p := range n.Pairs[first+1:] {
		if p.Value.Kind != source.Null || open <= 0 {
			break
		}
		whole += ", " + p.Key.Value
		open += strings.Count(p.Key.Value, "(") - strings.Count(p.Key.Value, ")")
	}
	if open > 0 {
		return false
	}
	c.cut[value] = true
	quote := "\""
	if strings.Contains(whole, "\"") {
		quote = "'"
	}
	c.report(value, say("put quotes around the whole of it, as in %s: %s%s%s", key, quote, whole, quote), "the comma ends the value %q, because it stands in { }", value.Value)
	return true
}

// mappingExamples show what to write for a key that requires a mapping.
var mappingExamples = map[phrases.Word]string{
	"gather": "{ quiet: 20s, at_most: 2m }", "limit": "{ times: 1, per: 12h }", "late": "{ skip_after: 30m }", "retry": "{ times: 3, for: 10m }",
	"sample": "{ share: 10%, of: greeting }", "faults": "faults: all",
}

// example shows what to write; nil without an example.
func example(text string) *phrases.Message {
	if text == "" {
		return nil
	}
	return say("as in %s", text)
}

// required reports a missing key of a mapping, unless a misspelt one has been reported.
func (c *compiler) required(n *source.Node, what phrases.Word, key string) *source.Node {
	v := n.Get(key)
	if v != nil && v.Kind != source.Null {
		return v
	}
	if !misspelt(n, key) {
		c.report(n, example(requiredExamples[key]), "%s needs %q", what, key)
	}
	return nil
}

// hasUnknown reports whether a mapping has an unknown key, which may be the misspelling of a
// missing one.
func hasUnknown(n *source.Node, keys []string) bool {
	return n.Broken || slices.ContainsFunc(n.Pairs, func(p source.Pair) bool { return !slices.Contains(keys, p.Key.Value) })
}

func misspelt(n *source.Node, key string) bool {
	return n.Broken || slices.ContainsFunc(n.Pairs, func(p source.Pair) bool {
		return source.Near(p.Key.Value, []string{key}) == key || standsFor(p.Key.Value, key)
	})
}

// requiredExamples show what to write for a key that is missing.
var requiredExamples = map[string]string{
	"id": "id: away-reply", "when": "when: message.received", "do": "do: [{ send_message: Hello }]", "if": "if: says(\"hello\")",
}
