package rules

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestExprIsUsedInOnePlace keeps expr's parser, checker and compiler, which are not made for many
// goroutines, behind the lock of expr.go.
func TestExprIsUsedInOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	locked := []string{"github.com/expr-lang/expr", "github.com/expr-lang/expr/parser", "github.com/expr-lang/expr/checker", "github.com/expr-lang/expr/compiler"}
	for _, name := range files {
		if name == "expr.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); slices.Contains(locked, path) {
				t.Errorf("%s imports %s: use the functions of expr.go, which take the lock", name, path)
			}
		}
	}
}
