package ruletest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var allMutants = flag.String("mutants", "", "all, or a part of a name: plant these bugs, instead of the few that are always planted")

// A mutant is a bug that somebody might write.
type mutant struct {
	name  string
	edits []edit
	run   string // the examples that are told in the short form
}

// An edit replaces a text that a file has exactly once.
type edit struct{ file, old, new string }

// TestMutants plants one bug after another into the engine and has quando test find it with the tests of the examples.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary for each bug")
	}
	for _, m := range mutants {
		switch {
		case *allMutants == "" && m.run == "", *allMutants != "all" && !strings.Contains(m.name, *allMutants):
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			binary := m.build(t)
			run := ""
			if *allMutants == "" {
				run = m.run
			}
			t.Log(caught(t, binary, run))
		})
	}
}

// TestMutantsApply: every bug can still be planted.
func TestMutantsApply(t *testing.T) {
	for _, m := range mutants {
		m.apply(t, func(string, []byte) {})
	}
}

const root = "../.."

// apply hands out the files that the bug is in. A file of two edits has both.
func (m mutant) apply(t *testing.T, write func(file string, text []byte)) {
	t.Helper()
	texts := make(map[string]string)
	for _, e := range m.edits {
		if _, read := texts[e.file]; !read {
			text, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				t.Fatal(err)
			}
			texts[e.file] = string(text)
		}
		if n := strings.Count(texts[e.file], e.old); n != 1 {
			t.Fatalf("%s: %s has this %d times:\n%s", m.name, e.file, n, e.old)
		}
		texts[e.file] = strings.Replace(texts[e.file], e.old, e.new, 1)
	}
	for file, text := range texts {
		write(file, []byte(text))
	}
}

// build builds the binary with the bug. The files themselves stay as they are: the compiler is shown others in their place.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	m.apply(t, func(file string, text []byte) {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][original] = changed
	})
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	replace, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "quando")
	if err := os.WriteFile(replace, list, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", replace, "-o", binary, "./cmd/quando")
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
