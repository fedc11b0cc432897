package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// maxCycles bounds how many cycles are reported: a rule set with more has one problem, not a thousand.
const maxCycles = 20

// An Edge says that one rule's effects raise an event that starts another.
type Edge struct {
	From, To *Rule
	Event    string
}

// A Cycle is a way from a rule back to itself.
type Cycle []Edge

// String draws the cycle.
func (c Cycle) String() string {
	var b strings.Builder
	b.WriteString(c[0].From.ID)
	for _, e := range c {
		fmt.Fprintf(&b, " → %s → %s", e.Event, e.To.ID)
	}
	return b.String()
}

// Edges returns the graph of what rules emit and consume. Only rules that say from: any are started by what the
// engine itself does.
func (s *Set) Edges() []Edge {
	consumers := make(map[string][]*Rule)
	for _, r := range s.Rules {
		if r.FromAny && r.Stage != Draft {
			for _, event := range r.When.Events {
				consumers[event] = append(consumers[event], r)
			}
		}
	}
	var edges []Edge
	for _, from := range s.Rules {
		if from.Stage == Draft {
			continue
		}
		for _, event := range from.emits {
			for _, to := range consumers[event] {
				edges = append(edges, Edge{from, to, event})
			}
		}
	}
	return edges
}

// Cycles returns every way, up to a bound, in which rules can start each other for ever.
func (s *Set) Cycles() []Cycle { return s.cycles }

// findCycles returns the elementary cycles of a graph, each from its first rule on, shortest first.
func findCycles(edges []Edge) []Cycle {
	next := make(map[*Rule][]Edge)
	var starts []*Rule
	for _, e := range edges {
		// Only rules that others can start are on a cycle, and two events between the same rules are one way, not two.
		if !e.From.FromAny || slices.ContainsFunc(next[e.From], func(o Edge) bool { return o.To == e.To }) {
			continue
		}
		if next[e.From] == nil {
			starts = append(starts, e.From)
		}
		next[e.From] = append(next[e.From], e)
	}
	var cycles []Cycle
	visits := 0
	var walk func(start *Rule, path Cycle, on map[*Rule]bool)
	walk = func(start *Rule, path Cycle, on map[*Rule]bool) {
		at := start
		if len(path) > 0 {
			at = path[len(path)-1].To
		}
		for _, e := range next[at] {
			if visits++; visits > 100000 || len(cycles) >= maxCycles {
				return
			}
			switch {
			case e.To == start:
				cycles = append(cycles, append(slices.Clone(path), e))
			case e.To.ordinal > start.ordinal && !on[e.To]:
				on[e.To] = true
				walk(start, append(path, e), on)
				delete(on, e.To)
			}
		}
	}
	for _, start := range starts {
		walk(start, nil, make(map[*Rule]bool))
	}
	slices.SortStableFunc(cycles, func(a, b Cycle) int { return len(a) - len(b) })
	return cycles
}

// reportCycles makes every cycle a problem of the rule that it begins with. None of its rules can be used.
func (c *compiler) reportCycles() {
	c.set.cycles = findCycles(c.set.Edges())
	caught := make(map[*Rule]Problems)
	for _, cycle := range c.set.cycles {
		first := cycle[0].From
		message, hint := "the rules start each other for ever: ", "take from: any away from one of them"
		if len(cycle) == 1 {
			message, hint = "the rule starts itself for ever: ", "take from: any away from it"
		}
		p := first.Problem(source.Error, message+cycle.String(), hint)
		c.problems = append(c.problems, p)
		for _, e := range cycle {
			caught[e.From] = append(caught[e.From], p)
		}
	}
	for _, r := range c.set.Rules {
		if problems := caught[r]; problems != nil {
			c.set.Broken = append(c.set.Broken, Broken{ID: r.ID, File: r.File, Line: r.Line, Problems: problems})
		}
	}
	c.set.Rules = slices.DeleteFunc(c.set.Rules, func(r *Rule) bool { return caught[r] != nil })
}
