package rules

import (
	"regexp"
	"slices"
)

// counted finds the types of events that expressions count.
var counted = regexp.MustCompile(`count_events\(\s*["'\\]*([a-z_.]+)`)

// Needs returns the types of events that the rules of the set need to hear of, in order: what starts them, what cancels them, what they wait for, and what
// they count. Drafts need none.
func (s *Set) Needs() []string {
	var all []string
	for _, r := range s.Rules {
		if r.Stage == Draft {
			continue
		}
		all = append(all, r.When.Events...)
		for _, c := range r.CancelOn {
			all = append(all, c.Event)
		}
		for step := range r.Steps() {
			all = append(all, step.Events...)
		}
		for _, m := range counted.FindAllStringSubmatch(r.Source(), -1) {
			all = append(all, m[1])
		}
	}
	all = slices.DeleteFunc(all, func(typ string) bool { return !slices.Contains(eventNames, typ) })
	slices.Sort(all)
	return slices.Compact(all)
}
