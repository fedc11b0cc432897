//go:build !race

package engine_test

import "testing"

// TestAllocationsOfAVisit bounds what a visit allocates, a little above the present amount: garbage
// collection costs about as much again as the allocations. The race detector allocates in addition,
// so there is no bound with it.
func TestAllocationsOfAVisit(t *testing.T) {
	for _, tc := range []struct {
		name, rules string
		most        float64
	}{
		{"an event that no rule wants", nothingWants, 25}, {"a condition that is not true", nothingFires, 36},
		{"a run with one call", sendsOnce, 150}, {"a run with two calls", sendsTwice, 252},
	} {
		const visits = 200 // in a single claim, so that the cost of a claim does not count
		c, e := newConveyor(t, tc.rules)
		c.work(t, e, 1)
		if got := testing.AllocsPerRun(5, func() { c.work(t, e, visits) }) / visits; got > tc.most {
			t.Errorf("%s: %.0f allocations, at most %.0f are allowed: compare with BenchmarkVisit and -memprofile before raising that", tc.name, got, tc.most)
		}
	}
}
