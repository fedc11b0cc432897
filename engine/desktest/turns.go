package desktest

import (
	"hash/fnv"
	"slices"
	"strings"
	"testing"
)

// InTurn ends a test in the short form, unless its turn is now: of the tests that share one desk,
// one in some is run. They start the same goroutines, so a few show the race detector what all of
// them would. Those named are always run: they set goroutines against each other.
func InTurn(t testing.TB, some int, always ...string) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	if testing.Short() && h.Sum32()%uint32(some) != 0 && !slices.Contains(always, name) {
		t.Skipf("the short form runs one in %d of these", some)
	}
}
