package phrases

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources returns the program's Go files, but for tests and this package.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || path == "../../rules/phrases") {
			return cmpSkip(err)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func cmpSkip(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}

// constants returns the names of the codes that have one.
func constants(t *testing.T) map[Code]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[Code]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			value, _ := spec.Values[0].(*ast.BasicLit)
			if kind != nil && kind.Name == "Code" && value != nil {
				code, _ := strconv.Unquote(value.Value)
				names[Code(code)] = spec.Names[0].Name
			}
			return true
		})
	}
	return names
}

// TestCodesAreUsed shows that every code is used, and that every code that is named is there. Codes
// that are recorded are constants; the others stand in the program as they are, or are put together
// behind a beginning that ends with a dot.
func TestCodesAreUsed(t *testing.T) {
	program, names := sources(t), constants(t)
	for code := range names {
		if !Knows(code) {
			t.Errorf("there is no text for %s", code)
		}
	}
	var begun []string
	for _, m := range regexp.MustCompile(`"((?:condition|explain)\.(?:[a-z]+\.)?)"`).FindAllStringSubmatch(program, -1) {
		begun = append(begun, m[1])
	}
	for _, part := range catalogue {
		for code := range part {
			name, constant := names[code]
			whole := strings.TrimSuffix(string(code), ".not")
			switch {
			case constant && regexp.MustCompile(`\bphrases\.`+name+`\b`).MatchString(program):
			case !constant && strings.Contains(program, `"`+whole+`"`):
			case !constant && slices.ContainsFunc(begun, func(b string) bool { return strings.HasPrefix(string(code), b) }):
			default:
				t.Errorf("nobody uses %s", code)
			}
		}
	}
	for _, m := range regexp.MustCompile(`"((?:condition|explain)\.[a-zA-Z_.]*[a-zA-Z_])"`).FindAllStringSubmatch(program, -1) {
		if !Knows(Code(m[1])) {
			t.Errorf("there is no text for %s", m[1])
		}
	}
}
