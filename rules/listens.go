package rules

import "slices"

// Listens returns the service's events that the rule must hear of: those that start it, end its runs or are waited for by them, and those that its
// expressions count. They are in the order of the service's reference. A draft hears of nothing.
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
