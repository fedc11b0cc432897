package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// isControl reports whether an argument is part of the language rather than data for an action.
func isControl(k Kind) bool {
	switch k {
	case KindExpression, KindEvent, KindSpan, KindSteps, KindBranches, KindSettings:
		return true
	}
	return false
}

// control compiles the language's own arguments of a step.
func (c *compiler) control(s *Step, given map[string]*source.Node, env *environment) *environment {
	switch s.Verb {
	case "wait":
		c.wait(s, given, env)
	case "wait_for":
		c.waitFor(s, given, env)
	case "stop_if":
		if v := given["if"]; v != nil {
			s.Condition = c.expression(v, env, Flag)
			c.sound(condition{x: s.Condition, node: v}, "so the run never ends here", "so the run always ends here")
		}
	case "choose":
		if v := given["branches"]; v != nil {
			return c.choose(v, s, env)
		}
	case "for_each":
		c.forEach(s, given, env)
		delete(given, "as")
		delete(given, "max")
	case "set":
		if v := given["values"]; v != nil {
			return c.assign(v, s, env)
		}
	}
	return env
}

func (c *compiler) wait(s *Step, given map[string]*source.Node, env *environment) {
	if v := given["for"]; v != nil {
		s.Span = c.span(v, "wait")
	}
	v := given["until"]
	if v == nil {
		return
	}
	delete(given, "until")
	text, ok := c.text(v, "until")
	if !ok {
		return
	}
	offset := 0
	if segments, unclosed := template.Split(text); unclosed < 0 && len(segments) == 1 && segments[0].Expression {
		text, offset = segments[0].Text, segments[0].Offset
	}
	s.Condition = c.expressionAt(v, offset, text, env, Time)
}

func (c *compiler) waitFor(s *Step, given map[string]*source.Node, env *environment) {
	if v := given["event"]; v != nil {
		s.Events = c.eventList(v)
		if r := c.rule; r.hearsNothing() {
			c.warn(v, hearsNothingHint(), "wait_for always waits until the time is over: what customers do does not reach the runs of %s", r.started())
		}
	}
	if v := given["timeout"]; v != nil {
		s.Span = c.span(v, "timeout")
	}
	s.Claims = true
	if v := given["claim"]; v != nil {
		delete(given, "claim")
		claim, _ := c.choice(v, "claim", []string{"true", "false"})
		s.Claims = claim != "false"
	}
	if v := given["if"]; v != nil {
		// The facts are those of the arriving event; everything else is as it is for any other step.
		arriving := c.environment(orAnything(s.Events), false).having()
		arriving.names = env.names
		s.Condition = c.expression(v, arriving, Flag)
		c.sound(condition{s.Condition, v, only(s.Events, true)}, "so it waits until the time is over", "so every such event counts")
	}
}

// span reads a duration that may be of a calendar.
func (c *compiler) span(n *source.Node, what phrases.Word) duration.Span {
	text, ok := c.static(n, what)
	if !ok {
		return duration.Span{}
	}
	span, err := duration.ParseSpan(text)
	switch {
	case err != nil:
		c.report(n, nil, "%v", err)
	case span.Length <= 0:
		c.report(n, nil, "%s must be longer than nothing", what)
	case span.Calendar != "":
		if _, known := c.set.Calendars[span.Calendar]; !known {
			at := max(0, strings.LastIndex(n.Value, span.Calendar))
			c.add(n.AtOffset(at, source.Error, say("unknown calendar %q", span.Calendar), calendarHint(span.Calendar, c.environment(nil, false).calendars)))
		}
		c.used[span.Calendar] = true
		c.daysOfCalendar(n, text, span)
	}
	return span
}

// daysOfCalendar warns of days that are counted as 24 opening hours each: 2d of a calendar that
// opens for eight hours takes six days.
func (c *compiler) daysOfCalendar(n *source.Node, text string, span duration.Span) {
	length, _, _ := strings.Cut(text, " of ")
	office := c.set.Calendars[span.Calendar]
	if office == nil || !strings.ContainsAny(length, "dw") {
		return
	}
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, office.Location())
	if end, err := office.Add(monday, span.Length); err == nil && end.Sub(monday) > span.Length+24*time.Hour {
		c.warn(n, say("write the hours that you mean, as in 8h of %s", span.Calendar), "%s of %s is %d opening hours, which takes %d days", strings.TrimSpace(length), span.Calendar, int(span.Length.Hours()), int(end.Sub(monday).Hours()/24)+1)
	}
}

func (c *compiler) choose(n *source.Node, s *Step, env *environment) *environment {
	if n.Kind != source.List {
		c.report(n, say("a list of { if, do }, and at last { else: [steps] }"), "choose needs a list, not %s", n.Kind)
		return env
	}
	after := env
	for i, item := range n.Items {
		last := i == len(n.Items)-1
		if item.Kind == source.Mapping && item.Get("else") != nil {
			if c.mapping(item, "the last branch", "else"); !last {
				c.report(item, say("put it last"), "else must be the last branch")
			}
			do, e := c.steps(item.Get("else"), s.Path+".else.", env)
			s.Branches = append(s.Branches, Branch{Do: do})
			after = merge(after, e)
			continue
		}
		if !c.mapping(item, "a branch", "if", "do", "else") || misspelt(item, "else") {
			continue
		}
		b := Branch{}
		if v := c.required(item, "a branch", "if"); v != nil {
			b.If = c.expression(v, env, Flag)
			c.sound(condition{x: b.If, node: v}, "so the branch is never taken", "so no branch behind it is taken")
		}
		if v := c.required(item, "a branch", "do"); v != nil {
			var e *environment
			b.Do, e = c.steps(v, fmt.Sprintf("%s.%d.", s.Path, i+1), env)
			after = merge(after, e)
		}
		s.Branches = append(s.Branches, b)
	}
	if len(n.Items) == 0 {
		c.report(n, nil, "choose has no branches")
	}
	return after
}

// merge returns what can be seen behind several branches: everything that any of them named, since
// what was not reached is nil.
func merge(a, b *environment) *environment {
	for name, t := range b.names {
		if name == "steps" {
			a = a.with("steps", a.names["steps"].with(t.fields...))
		} else if a.names[name] == nil {
			a = a.with(name, t)
		} else if a.names[name].name != t.name {
			a = a.with(name, Anything) // it depends on the way taken
		}
	}
	for fact := range b.available {
		if !a.available[fact] {
			a = a.having(fact)
		}
	}
	return a
}

func (c *compiler) forEach(s *Step, given map[string]*source.Node, env *environment) {
	s.As, s.MaxItems = "item", 100
	if v := given["as"]; v != nil {
		if name, ok := c.text(v, "as"); ok && c.freeName(v, name, env) {
			s.As = name
		}
	} else if env.names["item"] != nil && given["in"] != nil {
		c.report(given["in"], say("name this one with as:"), "the name \"item\" is taken")
	}
	if v := given["max"]; v != nil {
		s.MaxItems, _ = c.number(v, "max", 10000)
	}
	item := Anything
	if v := given["in"]; v != nil {
		if s.In = c.expression(v, env, ListOf(Anything)); s.In != nil && s.In.result.elem != nil {
			item = s.In.result.elem
		}
	}
	if v := given["do"]; v != nil {
		s.Do, _ = c.steps(v, s.Path+"[].", env.with(s.As, item))
	}
}

// assign compiles the values of a set, each of which can use those before it.
func (c *compiler) assign(n *source.Node, s *Step, env *environment) *environment {
	if n.Kind != source.Mapping || len(n.Pairs) == 0 {
		c.report(n, say("as in %s", "{ greeting: \"Hello {{ contact.name }}\" }"), "set needs names and values, not %s", n.Kind)
		return env
	}
	for _, p := range n.Pairs {
		name := p.Key.Value
		// The same name may be set again: in another branch, or to another value later.
		if c.stepIDs[name] != nil || env.names[name] == nil || factType(name) != nil {
			if !c.freeName(p.Key, name, env) {
				continue
			}
		}
		v := c.data(p.Value, env)
		if segments, _ := template.Split(p.Value.Value); p.Value.Kind == source.Scalar {
			c.singleBraces(p.Value, segments)
		}
		if v == nil {
			env = env.with(name, Anything) // its problem is reported; steps that use it are not
			continue
		}
		s.Assignment = append(s.Assignment, Setting{name, v})
		env = env.with(name, valueType(v))
	}
	return env
}

// valueType returns the type of what a value will be.
func valueType(v *Value) *Type {
	switch {
	case v.whole != nil:
		return v.whole.result
	case v.pieces != nil:
		return Text
	case v.list != nil:
		return ListOf(Anything)
	case v.fields != nil:
		return Anything
	}
	return typeOf(v.constant)
}
