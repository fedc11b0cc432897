package rules

import "slices"

// With returns the set with more rules; one whose id is there already takes its place. It is for the last good version of a rule
// whose text is broken now: what is Broken stays so, for people to see. A rule that would start others for ever together
// with those of the set is left out.
func (s *Set) With(list ...*Rule) *Set {
	for {
		out := s.with(list)
		cycles := findCycles(out.Edges())
		if len(cycles) == 0 {
			out.index = buildIndex(out.Rules)
			return out
		}
		// The set has no cycle of its own, so each leads through one of the list.
		n := len(list)
		list = slices.DeleteFunc(slices.Clone(list), func(r *Rule) bool {
			return slices.ContainsFunc(cycles, func(c Cycle) bool {
				return slices.ContainsFunc(c, func(e Edge) bool { return e.From.ID == r.ID })
			})
		})
		if len(list) == n {
			return s
		}
	}
}

// with puts the rules together. They are copies, because a rule knows its place in its set and others may be looking at it.
func (s *Set) with(list []*Rule) *Set {
	out := &Set{Broken: s.Broken, Tests: s.Tests, Calendars: s.Calendars, cycles: s.cycles, byID: make(map[string]*Rule, len(s.Rules)+len(list))}
	for _, r := range slices.Concat(s.Rules, list) {
		twin := *r
		out.byID[r.ID] = &twin
	}
	for _, r := range out.byID {
		out.Rules = append(out.Rules, r)
	}
	slices.SortFunc(out.Rules, func(a, b *Rule) int { return compareText(a.ID, b.ID) })
	for i, r := range out.Rules {
		r.ordinal = i
	}
	return out
}
