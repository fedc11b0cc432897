package rules

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// maxSteps bounds the steps of one rule.
const maxSteps = 200

// stepKeys are the keys of a step beside its verb.
var stepKeys = []string{"id", "if", "retry", "on_error", "even_if_muted", "enabled"}

// reserved are words that cannot name a step, a value of `set` or an item of `for_each`.
var reserved = []string{
	"and", "or", "not", "in", "let", "if", "else", "nil", "true", "false", "matches", "contains", "startsWith", "endsWith", "vars", "steps", "error",
}

func (c *compiler) ruleSteps(n *source.Node, env *environment) {
	r := c.rule
	do := c.required(n, "a rule", "do")
	if do != nil {
		env = env.having() // of this rule alone
		env.later = make(map[string]int)
		stepIDs(do, env.later)
		r.Do, env = c.steps(do, "", env)
	}
	if v := n.Get("on_error"); v != nil {
		env = env.with("error", Text)
		r.OnError, _ = c.steps(v, "on_error.", env)
	}
	total := 0
	for s := range r.Steps() {
		total++
		r.emits = union(r.emits, s.Schema.Emits)
		for _, a := range s.Schema.Args {
			if v := s.Args[a.Name]; v != nil && (a.Kind != KindTarget || v.fields != nil) {
				r.emits = union(r.emits, a.Emits)
			}
		}
	}
	if total > maxSteps {
		c.report(n, say("split the rule"), "the rule has %d steps; at most %d are allowed", total, maxSteps)
	}
}

// stepIDs collects the ids of all steps with their lines.
func stepIDs(n *source.Node, ids map[string]int) {
	for _, item := range n.Items {
		stepIDs(item, ids)
	}
	for _, p := range n.Pairs {
		if p.Key.Value == "id" && p.Value.Kind == source.Scalar {
			ids[p.Value.Value] = p.Value.Line
		}
		stepIDs(p.Value, ids)
	}
}

// steps compiles a list of steps and returns what the steps behind it can see.
func (c *compiler) steps(n *source.Node, prefix string, env *environment) ([]*Step, *environment) {
	if n.Kind != source.List {
		c.report(n, say("put a dash in front of each step"), "steps must be a list, not %s", n.Kind)
		return nil, env
	}
	if len(n.Items) == 0 {
		c.report(n, nil, "there are no steps")
	}
	var steps []*Step
	for i, item := range n.Items {
		var s *Step
		if s, env = c.step(item, prefix+strconv.Itoa(i+1), env); s != nil {
			steps = append(steps, s)
		}
	}
	return steps, env
}

func (c *compiler) step(n *source.Node, path string, env *environment) (*Step, *environment) {
	s := &Step{Path: path, OnError: "stop", Args: make(map[string]*Value), Line: n.Line}
	var args *source.Node
	var verb *source.Node
	switch n.Kind {
	case source.Scalar:
		verb = n
	case source.Mapping:
		if verb, args = c.verb(n); verb == nil {
			return nil, c.unknownResult(n, env)
		}
	default:
		c.report(n, say("as in %s", "send_message: \"Hello\""), "a step must be a verb with its arguments, not %s", n.Kind)
		return nil, env
	}
	s.Verb = verb.Value
	if s.Schema = c.catalog.Verb(s.Verb); s.Schema == nil {
		c.report(verb, c.verbHint(s.Verb), "unknown verb %q", s.Verb)
		return nil, c.unknownResult(n, env)
	}
	if n.Kind == source.Mapping {
		c.stepOptions(n, s, env)
	}
	if s.Off {
		c.offSteps++
		defer func() { c.offSteps-- }()
	}
	after := c.arguments(verb, args, s, env)
	if s.ID != "" {
		after = c.name(n.Get("id"), s, after)
	}
	return s, after
}

// unknownResult defines the result of a step with problems, so that steps that use it are not
// reported too.
func (c *compiler) unknownResult(n *source.Node, env *environment) *environment {
	env = env.having("card")
	if id := n.Get("id"); id != nil && id.Kind == source.Scalar && identifier.MatchString(id.Value) && env.names[id.Value] == nil {
		env = env.with(id.Value, Anything).with("steps", env.names["steps"].with(Field{Name: id.Value, Type: Anything}))
	}
	return env
}

// verb finds the one key of a step that is its verb.
func (c *compiler) verb(n *source.Node) (verb, args *source.Node) {
	var unknown *source.Node
	for _, p := range n.Pairs {
		switch {
		case slices.Contains(stepKeys, p.Key.Value):
		case c.catalog.Verb(p.Key.Value) == nil:
			// What stands beside a wrong verb is told with it: - action: x, data: {…}.
			if unknown == nil || otherVerbs[unknown.Value] != verbIsKey {
				c.report(p.Key, c.verbHint(p.Key.Value, stepKeys...), "unknown verb %q", p.Key.Value)
			}
			unknown = cmp.Or(unknown, p.Key)
		case verb != nil:
			c.report(p.Key, say("put a dash in front of it"), "a step has one verb; this one has %s and %s", verb.Value, p.Key.Value)
		default:
			verb, args = p.Key, p.Value
		}
	}
	if verb == nil && unknown == nil {
		c.report(n, say("as in %s", "send_message: \"Hello\""), "the step has no verb")
	}
	return verb, args
}

func (c *compiler) stepOptions(n *source.Node, s *Step, env *environment) {
	if v := n.Get("id"); v != nil {
		s.ID, _ = c.text(v, "id")
	}
	if v := n.Get("if"); v != nil {
		s.If = c.expression(v, env, Flag)
		c.sound(condition{x: s.If, node: v}, "so the step is never taken", "so the step is always taken")
	}
	if v := n.Get("on_error"); v != nil {
		if choice, ok := c.choice(v, "on_error of a step", []string{"stop", "continue"}); ok {
			s.OnError = choice
		}
	}
	if v := n.Get("even_if_muted"); v != nil {
		c.evenIfMuted(v, s)
	}
	if v := n.Get("enabled"); v != nil {
		c.enabled(v, s)
	}
	if v := n.Get("retry"); v != nil && c.mapping(v, "retry", "times", "for") {
		if t := v.Get("times"); t != nil {
			s.Retry.Times, _ = c.number(t, "times", 1000)
		}
		if f := v.Get("for"); f != nil {
			s.Retry.For, _ = c.duration(f, "for")
		}
		if len(v.Pairs) == 0 {
			c.report(v, say("as in %s", "{ times: 3, for: 10m }"), "retry needs times or for")
		}
	}
}

// evenIfMuted reads whether a step sends to muted conversations too.
func (c *compiler) evenIfMuted(n *source.Node, s *Step) {
	choice, ok := c.choice(n, "even_if_muted", []string{"true", "false"})
	if ok && !slices.Contains(s.Schema.Emits, vocabulary.MessageSent) {
		c.report(n, say("leave it out"), "%s sends nothing, so it is taken in a muted conversation too", s.Verb)
	}
	s.EvenIfMuted = choice == "true"
}

// enabled reads whether a step is switched off.
func (c *compiler) enabled(n *source.Node, s *Step) {
	switch choice, ok := c.choice(n, "enabled", []string{"true", "false"}); {
	case !ok:
	case choice == "true":
		c.report(n, say("leave it out"), "a step is taken unless it has enabled: false")
	default:
		s.Off = true
	}
}

// noteOff warns where an expression uses the result of a step that is switched off.
func (c *compiler) noteOff(x *Expression, n *source.Node) {
	if len(c.off) == 0 || c.offSteps > 0 {
		return
	}
	node, err := x.env.parse(x.Text)
	if err != nil {
		return
	}
	names := &identifiers{}
	ast.Walk(&node, names)
	for _, name := range slices.Concat(names.found, names.results) {
		if line := c.off[name]; line > 0 {
			c.warn(n, say("switch the step in line %d on, or take this out", line), "%s is the result of a step that is switched off, so there is none", name)
			return
		}
	}
}

// name defines a step's result under its id.
func (c *compiler) name(id *source.Node, s *Step, env *environment) *environment {
	if s.Schema.Result == nil {
		c.report(id, say("leave the id out"), "%s has no result that could be named", s.Verb)
		return env
	}
	if !c.freeName(id, s.ID, env) {
		return env
	}
	c.stepIDs[s.ID] = id
	if c.offSteps > 0 {
		c.off[s.ID] = id.Line
	}
	c.answers[s.ID] = s.Schema.Outside
	steps := env.names["steps"].with(Field{Name: s.ID, Type: s.Schema.Result})
	return env.with(s.ID, s.Schema.Result).with("steps", steps)
}

// freeName reports a name that cannot be given to a value.
func (c *compiler) freeName(n *source.Node, name string, env *environment) bool {
	switch {
	case !identifier.MatchString(name):
		c.report(n, say("use letters, digits and _"), "%q is not a name that expressions can use", name)
	case factType(name) != nil:
		c.report(n, say("choose another"), "the name %q hides a fact", name)
	case functionByName[name] != nil || exprBuiltins[name] != nil || slices.Contains(reserved, name):
		c.report(n, say("choose another"), "the name %q has a meaning of its own", name)
	case c.stepIDs[name] != nil:
		c.report(n, say("the first is in line %d", c.stepIDs[name].Line), "there are two steps with the id %q", name)
	case env.names[name] != nil:
		c.report(n, say("choose another"), "the name %q is taken", name)
	default:
		return true
	}
	return false
}

// arguments compiles the arguments of the verb and returns what later steps can see.
func (c *compiler) arguments(verb, n *source.Node, s *Step, env *environment) *environment {
	schema := s.Schema
	given := c.given(n, schema)
	if given == nil {
		return env
	}
	c.rule.Scopes = union(c.rule.Scopes, schema.Scopes)
	c.reads(schema.Reads...)
	c.present(verb, n, schema, given)
	atHand := !slices.ContainsFunc(schema.Unless, func(arg string) bool { return given[arg] != nil })
	if need := schema.Needs; need != "" && !env.available[need] && atHand {
		var hint *phrases.Message
		if len(schema.Unless) > 0 {
			if hint = say("say which with %s", backticked(schema.Unless)); need == "card" {
				hint = say("%s, or find it first with `find_card`", hint)
			}
		}
		c.report(verb, hint, "%s works on %s, and %s has none", s.Verb, phrases.Word("a "+need), env.starts)
	}
	if schema.Needs == vocabulary.Conversation && atHand {
		c.needsConversation(verb, schema)
	}
	if atHand {
		c.rule.Facts = union(c.rule.Facts, []string{schema.Needs, schema.Pins})
	}
	if s.Verb == vocabulary.SendMessage && given["to"] == nil && c.sends == nil && c.offSteps == 0 {
		c.sends = verb
	}
	env = c.control(s, given, env)
	mentioned := len(c.rule.names)
	for i := range schema.Args {
		a := &schema.Args[i]
		v := given[a.Name]
		if v == nil || isControl(a.Kind) {
			continue
		}
		if value := c.argument(v, a, env); value != nil {
			s.Args[a.Name] = value
			c.argumentScopes(a, value)
		}
	}
	c.mentionedBeside(mentioned, schema.Args)
	if board := s.Args["board"]; board != nil {
		for i := range c.rule.names[mentioned:] {
			c.rule.names[mentioned+i].Board, _ = board.constant.(string)
		}
	}
	if schema.Gives == vocabulary.Conversation {
		c.known = true
	}
	return env.having(schema.AtHand(given["conversation"] != nil || given["attendance"] != nil)...)
}

// backticked lists names of which one is meant.
func backticked(names []string) phrases.List {
	marked := make([]string, len(names))
	for i, name := range names {
		marked[i] = "`" + name + "`"
	}
	return phrases.Or(marked)
}

// given returns the arguments by name: a plain value is the verb's main argument.
func (c *compiler) given(n *source.Node, schema *Schema) map[string]*source.Node {
	given := make(map[string]*source.Node)
	main := schema.arg(schema.Main)
	switch {
	case n == nil:
	case n.Kind == source.Null:
		if main != nil && main.Null {
			given[main.Name] = n
		}
	case main != nil && (n.Kind != source.Mapping || main.Kind == KindSettings || main.Kind == KindBranches):
		given[main.Name] = n
	case len(schema.Args) == 0 && n.Kind == source.Mapping && len(n.Pairs) == 0:
	case len(schema.Args) == 0:
		c.report(n, say("leave it out"), "%s takes no arguments", schema.Verb)
		return nil
	case n.Kind != source.Mapping:
		hint := say("its arguments: %s", phrases.And(argNames(schema.Args)))
		if len(schema.OneOf) == 0 && !slices.ContainsFunc(schema.Args, func(a Arg) bool { return a.Required }) {
			hint = say("leave it out, or write %s", hint)
		}
		c.report(n, hint, "%s needs a mapping of arguments, not %s", schema.Verb, n.Kind)
		return nil
	case n.Broken:
		return nil
	default:
		names := argNames(schema.Args)
		for i, p := range n.Pairs {
			if !slices.Contains(names, p.Key.Value) {
				if c.cutOff(n, i) {
					continue
				}
				_, hint := otherKey(schema.Verb, p.Key.Value)
				if hint == nil {
					hint = source.OneOf(p.Key.Value, names)
				}
				if slices.Contains(stepKeys, p.Key.Value) {
					hint = say("put it beside %s, in a line of its own as far to the left", schema.Verb)
				}
				c.report(p.Key, hint, "%s has no argument %q", schema.Verb, p.Key.Value)
				continue
			}
			given[p.Key.Value] = p.Value
		}
	}
	return given
}

// present reports arguments that are missing or exclude each other. A misspelt one has been
// reported already.
func (c *compiler) present(verb, n *source.Node, schema *Schema, given map[string]*source.Node) {
	unknown := n != nil && slices.ContainsFunc(n.Pairs, func(p source.Pair) bool { return given[p.Key.Value] != p.Value })
	has := func(name string) bool {
		v := given[name]
		return v != nil && (v.Kind != source.Null || schema.arg(name).Null)
	}
	for _, a := range schema.Args {
		if a.Required && !has(a.Name) && (!unknown || !misspelt(n, a.Name)) {
			c.report(verb, nil, "%s needs %q", schema.Verb, a.Name)
		}
	}
	if len(schema.OneOf) > 0 && !slices.ContainsFunc(schema.OneOf, has) && !unknown {
		c.report(verb, nil, "%s needs at least one of %s", schema.Verb, phrases.And(schema.OneOf))
	}
	for _, pair := range schema.Not {
		if has(pair[0]) && has(pair[1]) {
			c.report(given[pair[1]], nil, "%s takes %q or %q, not both", schema.Verb, pair[0], pair[1])
		}
	}
	for _, pair := range schema.Together {
		if has(pair[0]) && !has(pair[1]) {
			c.report(given[pair[0]], nil, "%q needs %q beside it", pair[0], pair[1])
		}
	}
}
