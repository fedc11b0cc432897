package rules

import (
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// expected reads the effects that must have happened, of the key expect or expect_would.
func (c *compiler) expected(n *source.Node, key string) []ExpectedEffect {
	if n.Kind != source.List {
		c.report(n, say("%s: [] where nothing may happen", key), "%s must be a list, not %s", key, n.Kind)
		return nil
	}
	var out []ExpectedEffect
	for _, item := range n.Items {
		if item.Kind == source.Scalar {
			item = &source.Node{Kind: source.Mapping, Line: item.Line, Column: item.Column, Pairs: []source.Pair{{Key: item, Value: nil}}}
		}
		if item.Kind != source.Mapping || len(item.Pairs) != 1 {
			c.report(item, say("as in %s", "send_message: \"text\""), "an expected effect is one verb with the arguments that matter")
			continue
		}
		verb, args := item.Pairs[0].Key, item.Pairs[0].Value
		schema := c.catalog.Verb(verb.Value)
		if schema == nil || !hasEffect(schema) && !(isMuting(schema) && key == "expect_would") {
			hint := source.DidYouMean(verb.Value, c.effects())
			if schema != nil && isMuting(schema) {
				hint = say("let the customer write again, and expect what is sent then")
			}
			c.report(verb, hint, "no effect is called %q", verb.Value)
			continue
		}
		e := ExpectedEffect{Verb: verb.Value, Args: make(map[string]any), Line: item.Line}
		if bareMatcher(args, schema) {
			c.report(args, say("write %s: { %s: … }", schema.Main, args.Pairs[0].Key.Value), "%s has several arguments; say which of them is described", schema.Verb)
			continue
		}
		for name, v := range c.given(args, schema) {
			if schema.Outside && !slices.Contains(outsideArgs, name) {
				c.report(v, say("leave it out"), "a test sees of %s only its %s", schema.Verb, strings.Join(outsideArgs, ", "))
				continue
			}
			c.matcher(v, schema.arg(name))
			e.Args[name] = v.Any()
		}
		out = append(out, e)
	}
	return out
}

// matchers are what an expected text may be instead of a text.
var matchers = []string{"contains", "matches"}

// bareMatcher reports whether a description stands where the argument that it describes should be
// named.
func bareMatcher(args *source.Node, schema *Schema) bool {
	return args != nil && schema.Main != "" && len(args.Pairs) > 0 && !slices.ContainsFunc(args.Pairs, func(p source.Pair) bool {
		return !slices.Contains(matchers, p.Key.Value)
	})
}

// matcher checks the value that an argument is expected to have.
func (c *compiler) matcher(n *source.Node, a *Arg) {
	switch {
	case n.Kind == source.Mapping && a.Kind != KindTarget && a.Kind != KindData && a.Kind != KindHeaders && a.Kind != KindQuery:
		c.mapping(n, phrases.Word(a.Name), matchers...)
	case n.Kind == source.Scalar && a.Kind == KindChoice:
		c.choice(n, phrases.Word(a.Name), a.Values)
	case n.Kind == source.Scalar && a.Kind == KindFlag:
		if _, ok := n.Bool(); !ok {
			c.report(n, nil, "%s must be true or false, not %q", a.Name, n.Value)
		}
	}
}

// outsideArgs are what a test may expect of a call to another system. Headers are not among them:
// they hold secrets.
var outsideArgs = []string{"method", "url", "query", "json"}

// hasEffect reports whether a verb changes something: a read has no effect, and the effect of a
// call to another system is unknown.
func hasEffect(s *Schema) bool {
	return s.Outside || slices.ContainsFunc(s.Scopes, func(scope string) bool { return scope != "read" && !strings.HasSuffix(scope, ":read") })
}

// isMuting reports whether a verb changes whom rules write to: the engine records that, and the
// service has no part in it.
func isMuting(s *Schema) bool { return s.Verb == vocabulary.Mute || s.Verb == vocabulary.Unmute }

// effects returns the verbs that a test can expect.
func (c *compiler) effects() []string {
	var verbs []string
	for _, s := range c.catalog.Schemas() {
		if hasEffect(s) {
			verbs = append(verbs, s.Verb)
		}
	}
	return verbs
}

// TestKeys returns the keys of a mapping in a test, for completing them. Its path begins behind
// tests, with [] for an item of a list.
func TestKeys(path []string) []string {
	at := strings.Join(path, ".")
	switch at {
	case "[]":
		return slices.Clone(testKeys)
	case "[].steps.[]":
		return slices.Clone(testStepKeys)
	case "[].given":
		return slices.Clone(givenNames)
	case "[].safety":
		return []string{"messages_per_conversation", "messages", "internal"}
	case "[].faults":
		return slices.Clone(faultNames)
	case "[].steps.[].fault":
		return slices.Clone(faultKeys)
	case "[].steps.[].answer":
		return slices.Clone(answerKeys)
	}
	if name, ok := strings.CutPrefix(at, "[].given."); ok {
		return slices.Clone(givenKeys[strings.TrimSuffix(name, ".[]")])
	}
	return nil
}

// TestFaults returns the kinds of a fault that a test can be told under.
func TestFaults(name string) []string { return slices.Clone(faultKinds[name]) }
