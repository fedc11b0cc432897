//go:build !race

package webhook

import "testing"

// TestAllocationsOfADelivery bounds what a delivery allocates, a little above the present amount:
// most of it are the objects and texts of the event. The race detector allocates in addition, so
// there is no bound with it.
func TestAllocationsOfADelivery(t *testing.T) {
	const most = 58
	p := newPouch(t)
	if got := testing.AllocsPerRun(200, func() { p.deliver(t) }); got > most {
		t.Errorf("%.0f allocations, at most %d are allowed: compare with BenchmarkReceive and -memprofile before raising that", got, most)
	}
}
