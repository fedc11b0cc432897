package ruletest_test

import (
	"context"
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/internal/planted"
)

var allMutants = flag.String("mutants", "", "all, or a part of a name: plant these bugs, instead of the few that are always planted")

// TestMutants plants one bug after another into the engine and has the tests of the examples find
// it.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the tests of the examples for each bug")
	}
	for _, m := range planted.ByExamples() {
		switch {
		case *allMutants == "" && m.Examples == "", *allMutants != "all" && !strings.Contains(m.Name, *allMutants):
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			binary := build(t, &m)
			run := "^(TestStories|TestTogether)$"
			if *allMutants == "" {
				run = "^TestStories$/^" + m.Examples + "$"
			}
			t.Log(caught(t, binary, run))
		})
	}
}

const root = "../.."

// build builds the tests of the examples with the bug. They need fewer packages than quando test,
// and tell the same stories in the same way.
func build(t *testing.T, b *planted.Bug) string {
	t.Helper()
	dir := t.TempDir()
	overlay, err := b.Overlay(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "examples.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./examples")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// failedStory is what a story prints that does not hold: its name, where it ceased to, and how.
var failedStory = regexp.MustCompile(`(?s)--- FAIL: (?:TestStories|TestTogether)/\S+ \([^)]*\)\n\s+stories_test\.go:\d+: .*`)

// caught returns which test of the examples found the bug, and how.
func caught(t *testing.T, binary, run string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	test := exec.CommandContext(ctx, binary, "-test.run", run, "-test.failfast", "-faults")
	test.Dir = filepath.Join(root, "examples")
	out, err := test.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 {
		t.Fatalf("nobody noticed: %v\n%s", err, out)
	}
	found := failedStory.Find(out)
	if found == nil {
		t.Fatalf("it exits with 1 and no story failed:\n%s", out)
	}
	lines := strings.SplitN(string(found), "\n", 4)
	return strings.Join(lines[:min(3, len(lines))], "\n")
}
