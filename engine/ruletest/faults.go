package ruletest

import (
	"iter"
	"slices"
)

// A plan says what goes wrong in a telling.
type plan struct {
	fault string // as the test names it; empty is none

	crash   int           // the engine is stopped at this point of every burst of activity; 0 is never
	service serviceFault  // what the service answers
	deliver deliveryFault // what happens to deliveries
}

// plans goes through the tellings of a story: without a fault, then under each that it names.
// Crashes take as many tellings as the longest burst of activity has points: in each of them the
// engine is stopped once in every burst.
func (s *story) plans() iter.Seq[plan] {
	return func(yield func(plan) bool) {
		if !yield(plan{}) || s.options.NoFaults {
			return
		}
		faults := slices.Compact(slices.Sorted(slices.Values(s.test.Faults)))
		for _, fault := range faults {
			for _, p := range plansOf(fault) {
				p.fault = fault
				if !yield(p) {
					return
				}
			}
		}
		// They take the longest.
		if !slices.Contains(faults, "crash every_step") {
			return
		}
		for n := 1; n == 1 || s.crashed; n += max(s.options.CrashEvery, 1) {
			if !yield(plan{fault: "crash every_step", crash: n}) {
				return
			}
		}
	}
}

// plansOf lists the plans of a fault that is not a crash.
func plansOf(fault string) []plan {
	switch fault {
	case "deliver twice":
		return []plan{{deliver: deliveryFault{twice: true}}}
	case "deliver late":
		return []plan{{deliver: deliveryFault{refuse: 2}}}
	case "deliver reordered":
		// So that of most pairs of deliveries each overtakes the other once.
		var list []plan
		for _, every := range []int{2, 3} {
			for first := range every {
				list = append(list, plan{deliver: deliveryFault{refuse: 1, every: every, first: first}})
			}
		}
		for first := range 2 {
			list = append(list, plan{deliver: deliveryFault{refuse: 1, every: 2, first: first, meanwhile: true}})
		}
		return list
	case "service 503_before":
		return []plan{{service: serviceFault{status: 503, writes: true}}, {service: serviceFault{status: 503, reads: true}}}
	case "service 503_after":
		return []plan{{service: serviceFault{status: 503, writes: true, after: true}}, {service: serviceFault{status: 503, writes: true, after: true, slow: slowness}}}
	case "service 429":
		return []plan{{service: serviceFault{status: 429, writes: true, reads: true}}}
	case "service conflict":
		return []plan{{service: serviceFault{status: 409, writes: true}}}
	}
	return nil
}
