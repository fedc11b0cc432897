package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
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
