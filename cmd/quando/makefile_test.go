package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestFuzzTargets: make fuzz runs every fuzz target that the sources have.
func TestFuzzTargets(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", root, "--no-print-directory", "fuzz-targets").Output()
	if err != nil {
		t.Fatal(err)
	}
	run, targets := strings.Fields(string(out)), fuzzTargets(t)
	slices.Sort(run)
	if diff := cmp.Diff(targets, run); diff != "" || len(targets) < 14 {
		t.Errorf("%d targets (-there are +are run):\n%s", len(targets), diff)
	}
}

// fuzzTargets returns the fuzz targets of all packages, as package:name.
func fuzzTargets(t *testing.T) (targets []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, one := range parsed.Decls {
			if f, ok := one.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets = append(targets, path.Dir(file)+":"+f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(targets)
	return targets
}

// TestFirstBuild: go run shares what it compiles with go test. The go command takes a default.pgo
// beside a program for every build of it, and no other command can use what it compiles so.
func TestFirstBuild(t *testing.T) {
	if found, err := filepath.Glob(filepath.Join(root, "cmd", "*", "default.pgo")); err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	for _, file := range []string{"Makefile", ".goreleaser.yaml", "cmd/bench/profile.go"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "cmd/quando/quando.pgo") || !strings.Contains(string(text), "-pgo=") {
			t.Errorf("%s does not build with what the compiler has learnt", file)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", "quando", "quando.pgo")); err != nil {
		t.Error(err)
	}
}
