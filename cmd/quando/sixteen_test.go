package main

import (
	"flag"
	"strings"
	"testing"
)

var everyFault = flag.Bool("faults", false, "TestSixteen tells all its stories under every fault, instead of those about people")

// TestSixteen shows sixteen automations that desks ask for as the rules of one desk: quando check
// has nothing to say about them, each does its work in the stories, under all faults, and none
// disturbs the customer of another.
func TestSixteen(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	t.Chdir("testdata/sixteen")
	code, out, errOut := quando(t, "check")
	if code != 0 || errOut != "" || !strings.HasPrefix(out, "17 good rules in 23 files: no errors\n") || strings.Contains(out, "warning") {
		t.Errorf("check: %d %s %s", code, out, errOut)
	}
	if code, out, errOut := quando(t, "fmt", "--check"); code != 0 {
		t.Errorf("fmt: %d %s %s", code, out, errOut)
	}
	told := [][]string{{"test", "--faults=false"}, {"test", "--run", "people_test"}}
	if *everyFault {
		told = [][]string{{"test"}}
	}
	for _, args := range told {
		if code, out, errOut := quando(t, args...); code != 0 || !strings.HasSuffix(out, ": all passed\n") {
			t.Errorf("%v: %d %s %s", args, code, out, errOut)
		}
	}
}
