package sandbox_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// row is a row of the table in docs/reference.md.
type row struct {
	number                     int
	part, says, proof, clients string
}

func readReference(t *testing.T) []row {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(src)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if number, err := strconv.Atoi(cells[1]); err == nil {
			rows = append(rows, row{number, cells[2], cells[3], strings.Trim(cells[4], "`"), strings.Trim(cells[5], "`")})
		}
	}
	return rows
}

// readTests returns the tests of this package, each with the texts that its
// source, or a table beside it, has for names of subtests.
func readTests(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	var tables []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") {
					tests[d.Name.Name] = texts(d)
				}
			case *ast.GenDecl:
				tables = append(tables, texts(d)...)
			}
		}
	}
	for name := range tests {
		tests[name] = append(tests[name], tables...)
	}
	return tests
}

func texts(n ast.Node) []string {
	var out []string
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			out = append(out, text)
		}
		return true
	})
	return out
}

// TestReference holds the table of the reference's sentences to the tests.
func TestReference(t *testing.T) {
	rows, tests := readReference(t), readTests(t)
	if len(rows) < 150 {
		t.Fatalf("%d rows", len(rows))
	}
	clients := map[string]bool{}
	for i, r := range rows {
		if r.number != i+1 {
			t.Errorf("row %d has the number %d", i+1, r.number)
		}
		name, sub, _ := strings.Cut(r.proof, "/")
		known, ok := tests[name]
		// The name of a subtest may be put together, or go on after a colon.
		is := func(text string) bool { return strings.TrimSpace(text) == sub || strings.HasPrefix(text, sub+":") }
		if !ok || sub != "" && !slices.ContainsFunc(known, is) {
			t.Errorf("row %d (%s: %s) names %q, which does not exist", r.number, r.part, r.says, r.proof)
		}
		if r.clients == "" {
			t.Errorf("row %d has an empty client column; write — where there is none", r.number)
		}
		clients[r.clients] = true
	}
	for _, op := range scopes {
		if !clients["TestOperations/"+op.operation] {
			t.Errorf("no row names the client test of %s", op.operation)
		}
	}
}
