package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// maxCycles bounds how many cycles are reported: a rule set with more has one problem, not a
// thousand.
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

// Edges returns the graph of what rules emit and consume. Only rules that say from: any are started
// by what the engine itself does.
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

// Cycles returns every way, up to a bound, in which rules can start each other endlessly.
func (s *Set) Cycles() []Cycle { return s.cycles }

// findCycles returns a cycle through every pair of rules that start each other endlessly, shortest
// first, up to a bound. The bound never hides that there is one.
func findCycles(edges []Edge) []Cycle {
	next := make(map[*Rule][]Edge)
	var starts []*Rule
	for _, e := range edges {
		// Only rules that others can start are on a cycle, and two events between the same rules are one
		// way, not two.
		if !e.From.FromAny || slices.ContainsFunc(next[e.From], func(o Edge) bool { return o.To == e.To }) {
			continue
		}
		if next[e.From] == nil {
			starts = append(starts, e.From)
		}
		next[e.From] = append(next[e.From], e)
	}
	var cycles []Cycle
	seen := make(map[string]bool)
	for _, start := range starts {
		for _, first := range next[start] {
			cycle := shortestWay(first, start, next)
			if cycle == nil || seen[cycle.members()] {
				continue
			}
			seen[cycle.members()] = true
			if cycles = append(cycles, cycle.fromFirst()); len(cycles) >= maxCycles {
				return cycles
			}
		}
	}
	slices.SortStableFunc(cycles, func(a, b Cycle) int { return len(a) - len(b) })
	return cycles
}

// shortestWay returns the shortest path that begins with an edge and ends at a rule, or nil.
func shortestWay(first Edge, to *Rule, next map[*Rule][]Edge) Cycle {
	cameBy := map[*Rule]Edge{first.To: first}
	for queue := []*Rule{first.To}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			var way Cycle
			for e := cameBy[at]; ; e = cameBy[e.From] {
				way = append(Cycle{e}, way...)
				if e == first {
					return way
				}
			}
		}
		for _, e := range next[at] {
			if _, seen := cameBy[e.To]; !seen {
				cameBy[e.To] = e
				queue = append(queue, e.To)
			}
		}
	}
	return nil
}

// members names the rules of a cycle, wherever it begins.
func (c Cycle) members() string {
	ids := make([]string, len(c))
	for i, e := range c {
		ids[i] = e.From.ID
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// fromFirst begins the cycle with the first of its rules.
func (c Cycle) fromFirst() Cycle {
	first := 0
	for i, e := range c {
		if e.From.ordinal < c[first].From.ordinal {
			first = i
		}
	}
	return append(slices.Clone(c[first:]), c[:first]...)
}

// reportCycles makes every cycle a problem of the rule that it begins with. None of its rules can
// be used.
func (c *compiler) reportCycles() {
	c.set.cycles = findCycles(c.set.Edges())
	caught := make(map[*Rule]Problems)
	for _, cycle := range c.set.cycles {
		first := cycle[0].From
		message, hint := say("the rules start each other for ever: %s", cycle), say("take from: any away from one of them")
		if len(cycle) == 1 {
			message, hint = say("the rule starts itself for ever: %s", cycle), say("take from: any away from it")
		}
		p := first.Problem(source.Error, message, hint)
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
