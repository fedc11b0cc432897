//go:build unix

package costtest

import (
	"slices"
	"testing"
)

// A reporter notes whether a test failed.
type reporter struct {
	testing.TB
	failed bool
}

func (r *reporter) Errorf(string, ...any) { r.failed = true }

// TestWithin shows that five units exceed a bound of a tenth and not one of fifty, and that
// allocations are bounded for themselves.
func TestWithin(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	five := func() {
		for range 20 { // a quarter of a unit each
			decodeJSON()
		}
	}
	for name, tt := range map[string]struct {
		most   Bound
		failed bool
	}{
		"within":         {Bound{JSON: 50}, false},
		"too slow":       {Bound{JSON: 0.1}, true},
		"too much space": {Bound{JSON: 50, Bytes: 1 << 20}, true},
		"within both":    {Bound{JSON: 50, Bytes: 1 << 30}, false},
	} {
		r := &reporter{TB: t}
		Within(r, name, tt.most, five)
		if r.failed != tt.failed {
			t.Errorf("%s: failed %v", name, r.failed)
		}
	}
}

// TestRatio shows that linear and quadratic work are told apart.
func TestRatio(t *testing.T) {
	list := make([]int, 10_000)
	for i := range list {
		list[i] = i
	}
	quadratic := func(n int) func() {
		return func() {
			for i := range n {
				_ = slices.Contains(list[:n], i+n)
			}
		}
	}
	linear := func(n int) func() {
		return func() {
			for range 200 {
				_ = slices.Contains(list[:n], n)
			}
		}
	}
	if got := Ratio(linear(500), linear(10_000)); got > 100 {
		t.Errorf("linear work of twenty times the size takes %.0f times as long", got)
	}
	if got := Ratio(quadratic(500), quadratic(10_000)); got < 150 {
		t.Errorf("quadratic work of twenty times the size takes %.0f times as long", got)
	}
}
