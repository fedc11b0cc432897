package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

var (
	ruleID     = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
)

// compileRule compiles one rule and adds it to the set, whole or as broken. End is the first line
// behind it.
func (c *compiler) compileRule(n *source.Node, end int, seen map[string]*source.Node) {
	before := len(c.problems)
	c.rule = &Rule{File: c.file.Name, Line: n.Line, column: n.Column, text: n.At(source.Error, nil, nil).Text, Stage: Live, Sample: 1, Mode: Queued, Max: 100, vars: c.vars, calendars: c.set.Calendars}
	c.stepIDs, c.answers, c.sends, c.known = make(map[string]*source.Node), make(map[string]bool), nil, false
	c.off = make(map[string]int)
	c.used, c.usedVars = make(map[string]bool), make(map[string]bool)
	defer func() { c.rule = nil }()
	// One rule never takes the others down, not even through a bug in what checks it.
	defer func() {
		if r := recover(); r != nil {
			c.report(n, say("please report this"), "the rule cannot be checked: %v", r)
			c.set.Broken = append(c.set.Broken, Broken{ID: c.rule.ID, File: c.rule.File, Line: c.rule.Line, Problems: slices.Clone(c.problems[before:])})
		}
	}()

	r := c.rule
	if n.Kind != source.Mapping {
		c.report(n, say("begin it with id: …"), "a rule must be a mapping, not %s", n.Kind)
		return
	}
	c.ruleIdentity(n, seen)
	c.adopt(n.Line, end)
	c.mapping(n, "a rule", ruleKeyNames()...)
	c.ruleForPeople(n)
	env := c.ruleTrigger(n)
	c.ruleKeys(n, env)
	c.ruleSteps(n, env)
	c.warnings(n)

	if problems := c.problems[before:]; problems.HasErrors() || !c.calendarsWork() {
		c.set.Broken = append(c.set.Broken, Broken{ID: r.ID, File: r.File, Line: r.Line, Problems: slices.Clone(problems)})
		return
	}
	r.vars = c.vars
	c.fingerprint(n)
	c.set.Rules = append(c.set.Rules, r)
}

// adopt makes problems of the file's form that stand in the rule's lines the rule's own.
func (c *compiler) adopt(start, end int) {
	c.unread = slices.DeleteFunc(c.unread, func(p Problem) bool {
		if p.Line < start || p.Line >= end {
			return false
		}
		c.add(p)
		return true
	})
}

// calendarsWork reports whether the calendars that the rule uses could be compiled themselves.
func (c *compiler) calendarsWork() bool {
	for name := range c.used {
		if c.set.Calendars[name] == nil {
			return false
		}
	}
	return true
}

func (c *compiler) ruleIdentity(n *source.Node, seen map[string]*source.Node) {
	id := c.required(n, "a rule", "id")
	if id == nil {
		return
	}
	s, ok := c.text(id, "id")
	if !ok {
		return
	}
	c.rule.ID = s
	if !ruleID.MatchString(s) {
		c.report(id, say("use small letters, digits and dashes, as in away-reply"), "%q is not an id", s)
		return
	}
	if first := seen[s]; first != nil {
		c.report(id, say("the first is in %s", place(first)), "there are two rules with the id %q", s)
		return
	}
	seen[s] = id
}

func (c *compiler) ruleForPeople(n *source.Node) {
	r := c.rule
	if v := n.Get("name"); v != nil {
		r.Name, _ = c.text(v, "name")
	}
	if v := n.Get("description"); v != nil {
		r.Description, _ = c.text(v, "description")
	}
	if v := n.Get("tags"); v != nil {
		for _, item := range oneOrMore(v) {
			if tag, ok := c.text(item, "a tag"); ok {
				r.Tags = append(r.Tags, tag)
			}
		}
	}
	if v := n.Get("stage"); v != nil {
		if s, ok := c.choice(v, "stage", ruleValues["stage"]); ok {
			r.Stage = Stage(s)
		}
	}
	if v := n.Get("sample"); v != nil {
		c.sample(v)
	}
}

// ruleKeys compiles the keys between the trigger and the steps.
func (c *compiler) ruleKeys(n *source.Node, env *environment) {
	r := c.rule
	if v := n.Get("from"); v != nil {
		s, _ := c.choice(v, "from", ruleValues["from"])
		r.FromAny = s == "any"
	}
	if v := n.Get("claimed"); v != nil {
		s, _ := c.choice(v, "claimed", ruleValues["claimed"])
		r.TakesClaimed = s == "run"
	}
	if v := n.Get("internal"); v != nil {
		s, _ := c.choice(v, "internal", ruleValues["internal"])
		r.TakesInternal = s == "run"
	}
	if v := n.Get("if"); v != nil {
		c.notEmpty(v, "if", say("leave it out for a rule that always fires"))
		var all []condition
		var known map[string][]any
		if !r.When.Manual {
			known = only(r.When.Events, r.FromAny)
		}
		for _, item := range oneOrMore(v) {
			if x := c.expression(item, env, Flag); x != nil {
				r.If = append(r.If, x)
				all = append(all, condition{x, item, known})
			}
		}
		c.soundTogether(all, "so the rule never fires", "so it keeps no event out")
	}
	if v := n.Get("by"); v != nil {
		r.By = c.key(v, env)
	}
	if v := n.Get("mode"); v != nil {
		if s, ok := c.choice(v, "mode", ruleValues["mode"]); ok {
			r.Mode = Mode(s)
		}
	}
	if v := n.Get("limit"); v != nil {
		r.Limit = c.limit(v, env)
	}
	if v := n.Get("max"); v != nil {
		if i, ok := c.number(v, "max", 10000); ok {
			r.Max = i
		}
	}
	if v := n.Get("cancel_on"); v != nil {
		c.notEmpty(v, "cancel_on", say("leave it out"))
		for _, item := range oneOrMore(v) {
			r.CancelOn = append(r.CancelOn, c.eventMatch(item)...)
		}
	}
	c.late(n)
}

// key compiles an expression that gives what makes two events the same.
func (c *compiler) key(n *source.Node, env *environment) *Expression {
	x := c.expression(n, env, nil)
	if x != nil && (x.result.elem != nil || len(x.result.fields) > 0) {
		c.report(n, say("use one field of it, such as its id"), "a key must be a single value, not %s", x.result)
		return nil
	}
	if x != nil {
		c.nilKey(n, x)
	}
	return x
}

func (c *compiler) gather(n *source.Node) *Gather {
	if !c.mapping(n, "gather", "quiet", "at_most") {
		return nil
	}
	g := &Gather{}
	var ok, ok2 bool
	if v := c.required(n, "gather", "quiet"); v != nil {
		g.Quiet, ok = c.duration(v, "quiet")
	}
	if v := n.Get("at_most"); v != nil {
		g.AtMost, ok2 = c.duration(v, "at_most")
		if ok && ok2 && g.AtMost < g.Quiet {
			c.report(v, nil, "at_most (%s) is shorter than quiet (%s)", duration.Format(g.AtMost), duration.Format(g.Quiet))
		}
	} else {
		g.AtMost = 10 * g.Quiet
	}
	return g
}

func (c *compiler) limit(n *source.Node, env *environment) *Limit {
	if !c.mapping(n, "limit", "times", "per", "by") {
		return nil
	}
	l := &Limit{}
	if v := c.required(n, "limit", "times"); v != nil {
		l.Times, _ = c.number(v, "times", 1000000)
	}
	if v := c.required(n, "limit", "per"); v != nil {
		l.Per, _ = c.duration(v, "per")
	}
	if v := n.Get("by"); v != nil {
		l.By = c.key(v, env)
	}
	return l
}

// late reads what to do with late events and ticks; by default messages older than half an hour are
// not answered.
func (c *compiler) late(n *source.Node) {
	r := c.rule
	scheduled := r.When.Schedule != nil
	if scheduled {
		r.Late.Run = "last"
	}
	if slices.ContainsFunc(r.When.Events, func(e string) bool { return vocabulary.ObjectOf(e) == vocabulary.Message }) {
		r.Late.SkipAfter = 30 * time.Minute
	}
	v := n.Get("late")
	if v == nil || !c.mapping(v, "late", "skip_after", "run") {
		return
	}
	if s := v.Get("skip_after"); s != nil {
		switch {
		case scheduled:
			c.report(s, say("a schedule's missed ticks take run: last, all or none"), "skip_after is for events")
		case s.Value == "none":
			r.Late.SkipAfter = 0
		default:
			r.Late.SkipAfter, _ = c.duration(s, "skip_after")
		}
	}
	if s := v.Get("run"); s != nil {
		if !scheduled {
			c.report(s, say("late events take skip_after: 30m"), "run is for the missed ticks of schedules")
		} else if run, ok := c.choice(s, "run", []string{"last", "all", "none"}); ok {
			r.Late.Run = run
		}
	}
}

// eventMatch reads an event's name, or {event, if}.
func (c *compiler) eventMatch(n *source.Node) []EventMatch {
	if n.Kind == source.Scalar {
		var out []EventMatch
		for _, name := range c.eventNames(n) {
			out = append(out, EventMatch{Event: name})
		}
		return out
	}
	if !c.mapping(n, "an item of cancel_on", "event", "if") {
		return nil
	}
	event := c.required(n, "an item of cancel_on", "event")
	if event == nil {
		return nil
	}
	names := c.eventList(event)
	on := n.Get("if")
	var x *Expression
	if on != nil {
		x = c.expression(on, c.environment(orAnything(names), false), Flag)
		c.sound(condition{x, on, only(names, true)}, "so it ends no run", "so every such event ends the run")
	}
	var out []EventMatch
	for _, name := range names {
		out = append(out, EventMatch{Event: name, If: x})
	}
	return out
}

// orAnything replaces unreadable events: what depends on them is checked as if any event could have
// happened.
func orAnything(names []string) []string {
	if len(names) == 0 {
		return []string{"manual"}
	}
	return names
}

// environment returns what the expressions of a rule started by these events or items may see.
func (c *compiler) environment(sources []string, gathers bool) *environment {
	// Rules of one file with the same trigger share an environment, which is most of a rule's memory.
	key := fmt.Sprint(sources, gathers)
	if env := c.environments[key]; env != nil {
		return env
	}
	env := &environment{names: make(map[string]*Type), available: map[string]bool{"event": true}, calendars: slices.Sorted(maps.Keys(c.set.Calendars))}
	for _, f := range facts {
		env.names[f.Name] = f.Type
	}
	env.names["vars"] = c.varTypes
	env.names["steps"] = Object()
	for _, s := range sources {
		for _, f := range factsOf(s) {
			env.available[f] = true
		}
	}
	if env.gathers = gathers; gathers {
		env.available["events"] = true
		env.available["messages"] = env.available["message"]
	}
	switch {
	case len(sources) == 1 && slices.Contains(eachItems, sources[0]):
		env.starts = say("a schedule over %s", sources[0])
	case len(sources) == 0:
		env.starts = say("a schedule")
	default:
		env.starts = phrases.And(sources)
	}
	c.environments[key] = env
	return env
}

// fingerprint writes the rule as a self-contained text, and hashes what decides its behaviour.
func (c *compiler) fingerprint(n *source.Node) {
	var b strings.Builder
	var vars []string
	if c.file.vars != nil {
		for _, p := range c.file.vars.Pairs {
			if c.usedVars["*"] || c.usedVars[p.Key.Value] {
				vars = append(vars, p.Key.Flow()+": "+p.Value.Flow())
			}
		}
		slices.Sort(vars)
	}
	fmt.Fprintf(&b, "vars: {%s}\n", strings.Join(vars, ", "))
	b.WriteString("calendars:\n")
	for _, name := range slices.Sorted(maps.Keys(c.used)) {
		fmt.Fprintf(&b, "  %s: %s\n", name, c.sources[name])
	}
	head := b.String()
	if when := n.Get("when"); when != nil {
		c.rule.when = when.Flow()
	}
	c.rule.source = head + "rules: [" + n.Flow() + "]\n"
	sum := sha256.Sum256([]byte(head + ruleMeaning(n)))
	c.rule.Version = hex.EncodeToString(sum[:16])
}

// ruleMeaning writes the keys of a rule that decide its behaviour, in a fixed order.
func ruleMeaning(n *source.Node) string {
	var parts []string
	for _, p := range n.Pairs {
		switch p.Key.Value {
		case "name", "description", "tags":
		default:
			parts = append(parts, p.Key.Value+": "+p.Value.Flow())
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}
