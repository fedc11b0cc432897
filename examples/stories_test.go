package examples_test

import (
	"testing"

	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/examples"
)

// TestStories runs the tests of every example, under every fault that they name.
func TestStories(t *testing.T) {
	for _, name := range examples.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, _ := compile(t, name)
			for _, test := range set.Tests {
				t.Run(test.Name, func(t *testing.T) {
					t.Parallel()
					result, err := ruletest.Run(t.Context(), ruletest.Options{Set: set, NoFaults: testing.Short()}, test)
					if err != nil {
						t.Fatal(err)
					}
					if !result.OK {
						t.Error(result.Report())
					}
				})
			}
		})
	}
}
