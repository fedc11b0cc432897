package rules

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/internal/tree"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/rules/source"
)

func (r *resolver) builtin(n *ast.BuiltinNode) *Type {
	if hint, refused := refusedBuiltins[n.Name]; refused {
		return r.report(n, hint.Message(), "%s is not allowed", n.Name)
	}
	if f := exprBuiltins[n.Name]; f == nil || !f.Predicate {
		r.all(n.Arguments)
		return nil
	}
	if len(r.items) > 0 {
		return r.report(n, say("give the inner list a name with `set` in an earlier step"), "%s inside another list's condition is not allowed", n.Name)
	}
	list := r.resolve(n.Arguments[0])
	item := Anything
	if list != nil && list.elem != nil {
		item = list.elem
	}
	r.items = append(r.items, item)
	r.all(n.Arguments[1:])
	r.items = r.items[:len(r.items)-1]
	switch n.Name {
	case "filter", "sortBy":
		return list
	case "find", "findLast":
		return item
	}
	return nil
}

// refusedBuiltins are expr's functions that no budget stops.
var refusedBuiltins = map[string]phrases.Word{
	"reduce": "use sum, count, any, all, filter or map",
	"repeat": "write the text out",
}

func (r *resolver) call(n *ast.CallNode) *Type {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		r.method(n)
		return nil
	}
	if hint, refused := refusedBuiltins[callee.Value]; refused {
		return r.report(n, hint.Message(), "%s is not allowed", callee.Value)
	}
	f := functionByName[callee.Value]
	if f == nil {
		r.all(n.Arguments)
		if _, metered := exprFunctions[callee.Value]; metered {
			r.constant(n, callee.Value)
			return nil
		}
		if r.env.names[callee.Value] != nil {
			return r.report(n, nil, "%s is a value, not a function", callee.Value)
		}
		return r.report(n, functionHint(callee.Value), "unknown function %q", callee.Value)
	}
	if !slices.Contains(r.calls, f.Name) {
		r.calls = append(r.calls, f.Name)
	}
	if f.needs != "" {
		r.has(n, f.needs)
	}
	if (f.Name == "says" || f.Name == "says_like") && len(n.Arguments) == 0 {
		return r.report(n, say("write %s(\"word\", \"another\")", f.Name), "%s names no words, so it is never true", f.Name)
	}
	r.all(n.Arguments)
	for i, argument := range n.Arguments {
		r.literal(f, i, argument)
	}
	return f.result
}

// constant checks a literal date or time zone: it either always works or never does.
func (r *resolver) constant(n *ast.CallNode, name string) {
	if name != "date" && name != "timezone" {
		return
	}
	var args []any
	for _, a := range n.Arguments {
		s, ok := a.(*ast.StringNode)
		if !ok {
			return
		}
		args = append(args, s.Value)
	}
	if f := exprBuiltins[name]; f != nil && f.Func != nil && len(args) > 0 {
		_, err := f.Func(args...)
		switch {
		case err != nil && name == "date":
			r.report(n.Arguments[0], example("date(\"2026-12-24\")"), "%q is not a date", args[0])
		case err != nil:
			r.report(n.Arguments[0], say("an IANA name such as America/Sao_Paulo or Europe/Lisbon"), "unknown time zone %q", args[0])
		}
	}
}

// methods are Go's methods of times and durations that expressions may call: the cheap ones.
var methods = []string{
	"Year", "Month", "Day", "Hour", "Minute", "Second", "Weekday", "YearDay", "Unix", "UnixMilli", "Add", "Sub", "AddDate", "Before", "After", "Equal", "IsZero", "In",
	"UTC", "Truncate", "Round", "String", "Format", "Hours", "Minutes", "Seconds", "Milliseconds", "Abs",
}

// method checks a method call: now().Hour().
func (r *resolver) method(n *ast.CallNode) {
	member, ok := n.Callee.(*ast.MemberNode)
	name := ""
	if ok {
		if property, fixed := member.Property.(*ast.StringNode); fixed {
			name = property.Value
		}
	}
	base := Anything
	if ok {
		if base = r.resolve(member.Node); base == nil {
			base = Anything
		}
	}
	r.all(n.Arguments)
	switch {
	case base == Text && slices.Contains([]string{"contains", "startsWith", "endsWith", "matches"}, name):
		r.report(member.Property, say("write %s %s …", tree.Describe(member.Node), name), "%s is an operator, not a method", name)
	case name == "" || !slices.Contains(methods, name) || (base != Anything && base != Time && base != Duration):
		hint := source.DidYouMean(name, methods)
		if ok {
			hint = methodHint(tree.Describe(member.Node), name)
		}
		r.report(n, hint, "unknown method %q", name)
	case name == "Format":
		if len(n.Arguments) != 1 || !tree.IsLiteral(n.Arguments[0]) {
			r.report(n, say("as in %s", "Format(\"02/01 15:04\")"), "the layout of Format must be written out")
		}
	}
}

// literal checks an argument that must be, or happens to be, written out.
func (r *resolver) literal(f *function, i int, n ast.Node) {
	s, written := n.(*ast.StringNode)
	switch f.argument(i) {
	case calendarArgument:
		if !written {
			r.report(n, say("put its name in quotes"), "the calendar must be written out")
		} else if !slices.Contains(r.env.calendars, s.Value) {
			r.report(n, calendarHint(s.Value, r.env.calendars), "unknown calendar %q", s.Value)
		} else {
			r.calendars = append(r.calendars, s.Value)
		}
	case durationArgument:
		if written {
			if _, err := duration.Parse(s.Value); err != nil {
				r.report(n, nil, "%v", err)
			}
		}
	case labelArgument:
		r.lookups = append(r.lookups, lookups["label"])
		if written && !plain.IsUUID(s.Value) {
			r.mention("label", "", s)
		}
	case patternArgument:
		r.pattern(n, f.Name)
	case languageArgument:
		if !written {
			r.report(n, say("as in %s", f.Name+`(…, "pt")`), "the language must be written out")
		} else if _, known := timeWords[s.Value]; !known {
			r.report(n, say("write \"pt\" for Portuguese or \"en\" for English"), "unknown language %q", s.Value)
		}
	case eventArgument:
		if written && !slices.Contains(eventNames, s.Value) {
			r.report(n, eventHint(s.Value, eventNames), "unknown event %q", s.Value)
		}
		if written {
			r.counts = append(r.counts, s.Value)
		} else {
			r.counts = append(r.counts, eventNames...)
		}
	}
}
