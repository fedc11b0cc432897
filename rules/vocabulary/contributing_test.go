package vocabulary_test

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

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

const root = "../.."

// listed returns the Go files that a part of CONTRIBUTING.md tells a newcomer to change.
func listed(t *testing.T, heading string, most int) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "**"+heading+"**")
	if !found {
		t.Fatalf("CONTRIBUTING.md does not tell of %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n- **")
	var files []string
	for _, m := range regexp.MustCompile("(?m)^  [0-9]\\. `([^`]+\\.go)`").FindAllStringSubmatch(part, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("%s: %v", heading, err)
		}
		files = append(files, m[1])
	}
	if len(files) == 0 || len(files) > most {
		t.Errorf("%s names %d files: %v; at most %d", heading, len(files), files, most)
	}
	return files
}

// literals calls found for each text that is written out in a Go file which is no test.
func literals(t *testing.T, found func(file, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && name != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					found(filepath.ToSlash(rel), text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ownWords are the files that write event types out because they must not share the table, or
// because they say of one event what a verb does.
var ownWords = []string{
	"actions/builtin/",              // the effects of verbs
	"cmd/bench/",                    // a module of its own
	"engine/journal/journaltest/",   // tests of journals, with events of any name
	"engine/simulation/judge",       // judges share no code with the engine
	"engine/simulation/reference",   // nor does the reference
	"engine/simulation/scenario.go", // nor what both read
}

func TestAddingAnEventType(t *testing.T) {
	files := listed(t, "Adding an event type", 3)
	types := vocabulary.EventTypes()
	literals(t, func(file, text string) {
		own := slices.ContainsFunc(ownWords, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
		if slices.Contains(types, text) && !own && !slices.Contains(files, file) {
			t.Errorf("%s writes %q out: use the constant or the table of rules/vocabulary", file, text)
		}
	})
}

// verbWords are the files that write a verb out although the list does not name them: for people,
// for rules that are examples, or because they must not share the table.
var verbWords = []string{
	"actions/builtin/",            // the verbs themselves, whose calls may have the same names
	"engine/internal/planted/",    // edits of files
	"engine/journal/journaltest/", // tests of journals, with steps of any verb
	"engine/simulation/",          // judges and what they read share no code with the engine
	"rules/form/formtest/",        // made-up rules of tests
	"rules/other_words.go",        // what else people call a verb
	"rules/vocabulary/verbs.go",   // the verbs that code must name
	"service/",                    // the service has words of its own
	"cmd/bench/",                  // a module of its own
}

// TestAddingAVerb shows that no other file names a verb, neither as a text nor in a code of the
// catalogue.
func TestAddingAVerb(t *testing.T) {
	files := listed(t, "Adding a verb", 5)
	var verbs []string
	for _, s := range builtin.Schemas() {
		verbs = append(verbs, s.Verb)
	}
	for _, s := range builtin.Schemas() { // what is an argument's name too is no sign of the verb
		verbs = slices.DeleteFunc(verbs, func(verb string) bool {
			return slices.ContainsFunc(s.Args, func(a rules.Arg) bool { return a.Name == verb })
		})
	}
	literals(t, func(file, text string) {
		own := slices.ContainsFunc(verbWords, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
		_, name, _ := strings.Cut(text, "verb.")
		name, _, _ = strings.Cut(name, ".")
		sentence, _ := strings.CutPrefix(text, "do.")
		if (slices.Contains(verbs, sentence) || slices.Contains(verbs, name)) && !own && !slices.Contains(files, file) {
			t.Errorf("%s writes %q out: use the table of actions/builtin or a constant of rules/vocabulary", file, text)
		}
	})
}

// TestAddingAFact follows a field of a message that no verb sets and no test gives.
func TestAddingAFact(t *testing.T) {
	files := listed(t, "Adding a fact", 4)
	files = append(files, "service/messages.go") // the list names the file of conversations
	field := regexp.MustCompile(`^external_id$|json:"external_id\b`)
	seen := map[string]bool{}
	literals(t, func(file, text string) {
		if field.MatchString(text) && !strings.HasPrefix(file, "cmd/bench/") {
			seen[file] = true
		}
	})
	for file := range seen {
		if !slices.Contains(files, file) {
			t.Errorf("%s knows the field too", file)
		}
	}
}

func TestEveryEventIsInAPattern(t *testing.T) {
	for _, typ := range vocabulary.EventTypes() {
		if !slices.ContainsFunc(vocabulary.EventPatterns(), func(p string) bool { return strings.HasPrefix(typ, strings.TrimSuffix(p, "*")) }) {
			t.Errorf("no pattern stands for %s", typ)
		}
	}
}

func TestRowsAreComplete(t *testing.T) {
	for _, e := range vocabulary.Events() {
		if e.Doc == "" || e.Name[0] == "" || e.Name[1] == "" || e.When[0] == "" || e.When[1] == "" || !slices.Contains(e.Facts, e.About) {
			t.Errorf("%s lacks something: %+v", e.Type, e)
		}
		for _, f := range e.Facts {
			if vocabulary.FactOf(f) == nil {
				t.Errorf("%s comes with %q, which is no fact", e.Type, f)
			}
		}
	}
	for _, f := range vocabulary.Facts() {
		for _, field := range f.Fields {
			if field.Doc == "" || field.Type == "" || field.NameOf != "" && !slices.ContainsFunc(f.Fields, func(o vocabulary.Field) bool { return o.Name == field.NameOf }) {
				t.Errorf("%s.%s lacks something: %+v", f.Name, field.Name, field)
			}
		}
	}
}
