package rules

import (
	"slices"

	"github.com/quandohq/quando/rules/calendar"
)

// A Set is a compiled rule set.
type Set struct {
	Rules     []*Rule // those that can be used, in the order of their ids
	Broken    []Broken
	Tests     []*Test
	Calendars map[string]*calendar.Calendar

	byID   map[string]*Rule
	index  map[string]*typeIndex
	cycles []Cycle
	claims bool
}

// Broken is a rule that could not be compiled. It stays visible with its reasons.
type Broken struct {
	ID       string
	File     string
	Line     int
	Problems Problems
}

// Rule returns a rule by its id, or nil.
func (s *Set) Rule(id string) *Rule { return s.byID[id] }

// Claims reports whether a rule may claim an event: it has a wait_for that takes it from others.
func (s *Set) Claims() bool { return s.claims }

// Names returns what the rules name of the service, for checking it online.
func (s *Set) Names() []NameUse {
	var names []NameUse
	for _, r := range s.Rules {
		names = append(names, r.names...)
	}
	return names
}

// Addresses returns where http_request calls go, as far as the rules write it out: the scheme and
// the host of each.
func (s *Set) Addresses() []NameUse {
	var addresses []NameUse
	for _, r := range s.Rules {
		addresses = append(addresses, r.addresses...)
	}
	return addresses
}

// People returns the names of the persons that the rules write to.
func (s *Set) People() (names []string) {
	for _, r := range s.Rules {
		names = union(names, r.people)
	}
	return names
}

// With returns the set with more rules; each replaces one of the same id. It is for the last good
// version of a rule whose text is broken now: Broken still lists it. A rule that would form an
// endless cycle with those of the set is left out.
func (s *Set) With(list ...*Rule) *Set {
	for {
		out := s.with(list)
		cycles := findCycles(out.Edges())
		if len(cycles) == 0 {
			out.index, out.claims = buildIndex(out.Rules), slices.ContainsFunc(out.Rules, (*Rule).claims)
			return out
		}
		// The set itself has no cycle, so each goes through a rule of the list.
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

// with combines the rules. It copies them, because a rule knows its position in its set and others
// may be reading it.
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
	layOut(out.Rules)
	for i, r := range out.Rules {
		r.ordinal = i
	}
	return out
}

// Listens returns the service's events that the rule needs: those that start it, end its runs or
// are awaited by them, and those that its expressions count. They are in the order of the service's
// reference. A draft needs none.
func (r *Rule) Listens() []string {
	if r.Stage == Draft {
		return nil
	}
	return inOrder(append(r.Awaits(), r.When.Events...))
}

// Awaits returns the service's events that a run of the rule must hear of once it has begun.
func (r *Rule) Awaits() []string {
	all := slices.Clone(r.counts)
	for _, m := range r.CancelOn {
		all = append(all, m.Event)
	}
	for s := range r.Steps() {
		all = append(all, s.Events...)
	}
	return inOrder(all)
}

// Listens returns the service's events that the rules of the set must hear of.
func (s *Set) Listens() []string {
	var all []string
	for _, r := range s.Rules {
		all = append(all, r.Listens()...)
	}
	return inOrder(all)
}

// inOrder returns each event once, in the order of the service's reference.
func inOrder(events []string) (names []string) {
	for _, name := range eventNames {
		if slices.Contains(events, name) {
			names = append(names, name)
		}
	}
	return names
}
