package ruletest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/internal/planted"
)

var allMutants = flag.String("mutants", "", "all, or a part of a name: plant these bugs, instead of the few that are always planted")

// TestMutants plants one bug after another into the engine and has quando test find it with the
// tests of the examples.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary for each bug")
	}
	for _, m := range planted.ByExamples() {
		switch {
		case *allMutants == "" && m.Examples == "", *allMutants != "all" && !strings.Contains(m.Name, *allMutants):
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			binary := build(t, &m)
			run := ""
			if *allMutants == "" {
				run = m.Examples
			}
			t.Log(caught(t, binary, run))
		})
	}
}

const root = "../.."

// build builds the binary with the bug.
func build(t *testing.T, b *planted.Bug) string {
	t.Helper()
	dir := t.TempDir()
	overlay, err := b.Overlay(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "quando")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, "./cmd/quando")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// caught returns which test of the examples found the bug, and how.
func caught(t *testing.T, binary, run string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	test := exec.CommandContext(ctx, binary, "test", "examples", "--output", "json", "--fail-fast", "--run", run)
	test.Dir = root
	out, err := test.Output()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 {
		t.Fatalf("nobody noticed: %v\n%s", err, out)
	}
	var doc struct {
		Tests []struct {
			File, Name, Fault, Message string
			OK                         bool
			Crashes                    []string
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Tests {
		if !r.OK {
			how := "without any fault"
			if r.Fault != "" {
				how = "under " + r.Fault
			}
			if n := len(r.Crashes); n > 0 {
				how += " (" + r.Crashes[n-1] + ")"
			}
			return fmt.Sprintf("%s, %q, %s: %s", filepath.Base(filepath.Dir(r.File)), r.Name, how, r.Message)
		}
	}
	t.Fatalf("it exits with 1 and no test failed:\n%s", out)
	return ""
}
