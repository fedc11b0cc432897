package examples_test

import (
	"flag"
	"os"
	"path"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
)

var everyFault = flag.Bool("faults", false, "tell all stories under every fault that they name, instead of the first of every second example")

// TestStories runs the tests of every example, the first of every second one under every fault that
// it names.
func TestStories(t *testing.T) {
	for i, name := range examples.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, _ := compile(t, name)
			tell(t, set, i%2 == 0)
		})
	}
}

// TestTogether runs all examples as the rules of one desk: each does its work, and none disturbs
// another's customer.
func TestTogether(t *testing.T) {
	t.Parallel()
	const file = "together_test.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := []*rules.File{rules.Parse(file, text)}
	for _, name := range examples.Names() {
		files = append(files, rules.Parse(path.Join(name, examples.RulesFile), read(t, name, examples.RulesFile)))
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	tell(t, set, true)
}

// tell runs the tests of a rule set, the first under faults if they are wanted; in the short form
// only that, and without faults.
func tell(t *testing.T, set *rules.Set, wanted bool) {
	tests := set.Tests
	if testing.Short() {
		tests = tests[:1]
	}
	for n, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			faults := *everyFault || wanted && n == 0 && !testing.Short()
			result, err := ruletest.Run(t.Context(), ruletest.Options{Set: set, NoFaults: !faults}, test)
			if err != nil {
				t.Fatal(err)
			}
			if !result.OK {
				t.Error(result.Report())
			}
		})
	}
}
