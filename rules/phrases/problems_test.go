package phrases

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/quandohq/quando/rules/vocabulary"
)

// verb is what a format puts an argument in the place of.
var verb = regexp.MustCompile(`%[a-zA-Z%]`)

// TestProblems shows that every message that the program can tell of a problem is there in
// Portuguese, with the same arguments in the same order, and that nothing else is there.
func TestProblems(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all sources")
	}
	said := saidOfProblems(t)
	if len(said) < 500 {
		t.Fatalf("only %d messages were found in the program", len(said))
	}
	for english, where := range said {
		portuguese, known := problem(english)
		switch {
		case !known:
			t.Errorf("%s: there is no Portuguese for %q", where, english)
		case !slices.Equal(verb.FindAllString(english, -1), verb.FindAllString(portuguese, -1)):
			t.Errorf("%q has other arguments in Portuguese: %q", english, portuguese)
		}
	}
	seen := map[string]bool{}
	for _, part := range problems {
		for english := range part {
			if seen[english] {
				t.Errorf("%q is there twice", english)
			}
			if seen[english] = true; said[english] == "" && !slices.Contains(composed, english) {
				t.Errorf("nobody says %q", english)
			}
		}
	}
	for _, english := range composed {
		if !seen[english] {
			t.Errorf("there is no Portuguese for %q", english)
		}
	}
}

// A messages collects what the program says: the constant formats of messages, and the words in
// them.
type messages struct {
	files     []*ast.File
	set       *token.FileSet
	constants map[string]string // by file and name
	takes     map[string][]int  // where functions take a format or a word, by their names
	said      map[string]string // with the place
}

// saidOfProblems returns every constant format and word of messages in the program, with its place.
func saidOfProblems(t *testing.T) map[string]string {
	t.Helper()
	m := &messages{set: token.NewFileSet(), constants: map[string]string{}, takes: map[string][]int{}, said: map[string]string{}}
	folders := map[string][]*ast.File{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(m.set, path, nil, parser.SkipObjectResolution)
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range folders {
		if slices.ContainsFunc(files, makesMessages) {
			m.files = append(m.files, files...)
		}
	}
	for _, f := range m.files {
		m.declared(f)
	}
	for _, f := range m.files {
		m.collect(f)
	}
	for _, e := range vocabulary.Events() {
		if e.Often != "" {
			m.said[e.Often] = "vocabulary"
		}
	}
	for _, f := range vocabulary.Facts() {
		if f.Hint != "" {
			m.said[f.Hint] = "vocabulary"
		}
	}
	return m.said
}

// makesMessages reports whether a file calls Sprintf of this package.
func makesMessages(f *ast.File) (makes bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sprintf" {
			of, _ := s.X.(*ast.Ident)
			makes = makes || of != nil && of.Name == "phrases"
		}
		return !makes
	})
	return makes || f.Name.Name == "phrases"
}

// declared notes the functions that take formats or words, and the constants.
func (m *messages) declared(f *ast.File) {
	signature := func(name string, typ *ast.FuncType) {
		at := 0
		for _, p := range typ.Params.List {
			for _, id := range p.Names {
				if isWord(p.Type) || id.Name == "format" {
					if !slices.Contains(m.takes[name], at) {
						m.takes[name] = append(m.takes[name], at)
					}
				}
				at++
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			signature(n.Name.Name, n.Type)
		case *ast.AssignStmt:
			lit, isFunction := n.Rhs[0].(*ast.FuncLit)
			if name, ok := n.Lhs[0].(*ast.Ident); ok && isFunction {
				signature(name.Name, lit.Type)
			}
		case *ast.ValueSpec:
			for i, v := range n.Values {
				if s, ok := text(v); ok {
					m.constants[f.Name.Name+"."+n.Names[i].Name] = s
				}
			}
		}
		return true
	})
}

// collect notes what a file says.
func (m *messages) collect(f *ast.File) {
	say := func(e ast.Expr) {
		s, ok := text(e)
		if id, isName := e.(*ast.Ident); isName {
			s, ok = m.constants[f.Name.Name+"."+id.Name]
		}
		// Arguments alone, and names of the language, are the same in every language.
		if rest := verb.ReplaceAllString(s, ""); ok && strings.Contains(rest, " ") && strings.ContainsFunc(rest, unicode.IsLetter) && !isCode.MatchString(s) {
			m.said[s] = m.set.Position(e.Pos()).String()
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
				if of, ok := fun.X.(*ast.Ident); ok && slices.Contains([]string{"fmt", "cli", "slog"}, of.Name) {
					return true
				}
			}
			if isWord(n.Fun) {
				say(n.Args[0])
			}
			for _, i := range m.takes[name] {
				if i < len(n.Args) {
					say(n.Args[i])
				}
			}
		case *ast.ValueSpec:
			if isWord(n.Type) {
				say(n.Values[0])
			}
		case *ast.CompositeLit:
			if wordsIn(n.Type) {
				ast.Inspect(n, func(inner ast.Node) bool {
					switch inner := inner.(type) {
					case *ast.KeyValueExpr:
						say(inner.Value)
					case *ast.BasicLit, *ast.Ident:
						say(inner.(ast.Expr))
					}
					_, call := inner.(*ast.CallExpr)
					return !call
				})
			}
		}
		return true
	})
}

// isCode finds what is written in rules, and told in no other language.
var isCode = regexp.MustCompile(`^[\w.]+\(.*\)$`)

// text returns the value of a literal text.
func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// isWord reports whether a type is Word.
func isWord(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Word"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Word"
	}
	return false
}

// wordsIn reports whether a list, a map or a struct holds words.
func wordsIn(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ArrayType:
		return isWord(e.Elt) || wordsIn(e.Elt)
	case *ast.MapType:
		return isWord(e.Value) || wordsIn(e.Value)
	case *ast.StructType:
		return slices.ContainsFunc(e.Fields.List, func(f *ast.Field) bool { return isWord(f.Type) })
	}
	return false
}

// composed are words that the program puts together, and those of libraries.
var composed = []string{
	"the item",
	"warning:",
	"nothing",
	"and",
	"or",
	"a text",
	"a number",
	"true or false",
	"a time",
	"a duration",
	"anything",
	"an object",
	"numbers",
	"texts",
	"not enough",
	"too many",
	"a card",
	"a contact",
	"a conversation",
	"a sector",
	"a person",
	"a channel",
	"a board",
	"a stage",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday",
	"Sunday",
	"an item of contacts",
	"an item of conversations",
	"an item of attendances",
	"an item of cards",
	"an item of boards",
	"an item of labels",
	"an item of sectors",
	"an item of people",
	"an item of channels",
	"the configuration",
	"name what happens, as in message.received: the engine registers its webhook itself",
	"here is a tab",
	"in { } and [ ] the comma inside the brackets of a call ends the value",
	"a quote or a bracket is opened and never closed",
	"block sequence entries are not allowed in this context",
	"could not find expected ':'",
	"did not find expected ',' or ']'",
	"did not find expected ',' or '}'",
	"did not find expected '-' indicator",
	"did not find expected key",
	"did not find expected node content",
	"did not find expected alphabetic or numeric character",
	"did not find expected comment or line break",
	"found a tab character that violates indentation",
	"found a tab character where an indentation space is expected",
	"found character that cannot start any token",
	"found unknown escape character",
	"found undefined tag handle",
	"found unexpected document indicator",
	"mapping values are not allowed in this context",
	"invalid character class",
	"invalid character class range",
	"invalid escape sequence",
	"invalid named capture",
	"invalid or unsupported Perl syntax",
	"invalid nested repetition operator",
	"invalid repeat count",
	"invalid UTF-8",
	"missing closing ]",
	"missing closing )",
	"missing argument to repetition operator",
	"trailing backslash at end of expression",
	"unexpected )",
	"expression nests too deeply",
	"expression too large",
}
