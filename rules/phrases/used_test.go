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

// sources returns the program's Go files, but for tests and this package, and those files of the
// console and its templates that name texts of its pages.
func sources(t *testing.T) (program, pages string) {
	t.Helper()
	var all, console strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || path == "../../rules/phrases") {
			return filepath.SkipDir
		}
		template := strings.HasPrefix(path, "../../engine/console/templates/")
		if d.IsDir() || !template && !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		if strings.HasPrefix(path, "../../engine/console/") {
			console.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String(), console.String()
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

var (
	quoted   = regexp.MustCompile(`"([a-z_]+(?:\.[a-zA-Z_]+)+)"`)
	constant = regexp.MustCompile(`\bphrases\.([A-Z]\w*)`)
	// A code can be put together behind a beginning that ends with a dot.
	begun = regexp.MustCompile(`"([a-z]+(?:\.[a-z_]+)*\.)"`)
	// Texts that must be there: of conditions and explanations, and those that a page says.
	ofRules = regexp.MustCompile(`^(condition|explain)\.`)
	said    = regexp.MustCompile(`(?:\b[tTnN]|problem\([^,]+,)[ (]\s*"([a-z_]+(?:\.[a-z_A-Z]+)+)"`)
	chosen  = regexp.MustCompile(`"((?:standing|button|error|unasked|need|said)\.[a-z_.]*[a-z_])"`)
)

// TestCodesAreUsed shows that every code is used, and that every code that is named is there. Codes
// that are recorded are constants; the others stand in the program as they are.
func TestCodesAreUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all sources")
	}
	program, pages := sources(t)
	names := constants(t)
	for code := range names {
		if !Knows(code) {
			t.Errorf("there is no text for %s", code)
		}
	}
	named, beginnings, constants := first(quoted, program), first(begun, program), first(constant, program)
	for _, part := range catalogue {
		for code := range part {
			name, ok := names[code]
			whole := string(code)
			for _, form := range []string{".not", ".one", ".many"} {
				whole = strings.TrimSuffix(whole, form)
			}
			switch {
			case code == Within: // which Of puts together
			case ok && slices.Contains(constants, name):
			case !ok && (slices.Contains(named, whole) || slices.Contains(named, string(code))):
			case !ok && slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(string(code), b) }):
			default:
				t.Errorf("nobody uses %s", code)
			}
		}
	}
	named = slices.DeleteFunc(named, func(code string) bool { return !ofRules.MatchString(code) })
	for _, code := range slices.Concat(named, first(said, pages), first(chosen, pages)) {
		if !Knows(Code(code)) && !Knows(Code(code+".one")) {
			t.Errorf("there is no text for %s", code)
		}
	}
}

// first returns what the first group of an expression finds in a text, each once.
func first(x *regexp.Regexp, text string) (list []string) {
	for _, m := range x.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}
