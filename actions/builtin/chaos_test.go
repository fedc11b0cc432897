package builtin_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestEverythingAtOnce makes a third of all requests fail in any way, and crashes now and then,
// several times within one step: still each effect exists once, and the result is the same.
func TestEverythingAtOnce(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 2
	}
	for _, c := range verbCases {
		t.Run(c.verb+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			want := c.finish(t, c.start(t))
			for seed := range seeds {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					random, crashes := rand.New(rand.NewPCG(uint64(seed), 7)), rand.New(rand.NewPCG(uint64(seed), 8)) // each has its own goroutine
					d := c.start(t)
					d.faults.mishap = func() (string, int) {
						kinds := []string{"status_before", "status_after", "drop_before", "drop_after"}
						if random.IntN(3) > 0 {
							return "", 0
						}
						return kinds[random.IntN(len(kinds))], 503
					}
					d.crash = func(string, int) bool { return crashes.IntN(6) == 0 }
					same(t, d, want, c.finish(t, d))
				})
			}
		})
	}
}
