//go:build !race

package webhook

import "testing"

// What a delivery allocates is bounded, a little above what it is: most of it are the objects
// and texts that it tells. The race detector allocates besides.
func TestAllocationsOfADelivery(t *testing.T) {
	const most = 58
	p := newPouch(t)
	if got := testing.AllocsPerRun(200, func() { p.deliver(t) }); got > most {
		t.Errorf("%.0f allocations, at most %d are allowed: compare with BenchmarkReceive and -memprofile before raising that", got, most)
	}
}
