package examples_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
)

// compile checks an example as the rule set that its folder is.
func compile(t *testing.T, name string) (*rules.Set, rules.Problems) {
	t.Helper()
	var files []*rules.File
	for _, file := range []string{examples.RulesFile, examples.TestsFile} {
		files = append(files, rules.Parse(path.Join(name, file), read(t, name, file)))
	}
	return rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
}

func read(t *testing.T, name, file string) []byte {
	t.Helper()
	text, err := fs.ReadFile(examples.FS(), path.Join(name, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryFolderIsAnExample(t *testing.T) {
	readmes, err := filepath.Glob("*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, readme := range readmes {
		folders = append(folders, filepath.Dir(readme))
	}
	if got, want := strings.Join(examples.Names(), " "), strings.Join(folders, " "); got != want || len(folders) < 12 {
		t.Errorf("the examples are\n%s\nand the folders with a README\n%s", got, want)
	}
}

func TestExamplesCheckWithoutWarnings(t *testing.T) {
	owner := make(map[string]string)
	for _, name := range examples.Names() {
		set, problems := compile(t, name)
		if len(problems) > 0 {
			t.Errorf("%s:\n%v", name, problems)
		}
		if !slices.ContainsFunc(set.Rules, func(r *rules.Rule) bool { return r.ID == name }) {
			t.Errorf("%s: no rule is called like the folder", name)
		}
		if len(set.Tests) < 2 {
			t.Errorf("%s has %d tests", name, len(set.Tests))
		}
		for _, rule := range set.Rules {
			if rule.Name == "" {
				t.Errorf("%s: the rule %s has no name", name, rule.ID)
			}
			// Who takes several examples puts them into one folder.
			if other := owner[rule.ID]; other != "" {
				t.Errorf("%s and %s both have a rule %s", other, name, rule.ID)
			}
			owner[rule.ID] = name
		}
	}
}

// TestEveryRuleHasATest: a test without a list of rules runs them all.
func TestEveryRuleHasATest(t *testing.T) {
	for _, name := range examples.Names() {
		set, _ := compile(t, name)
		tested := make(map[string]bool)
		for _, test := range set.Tests {
			for _, id := range test.Rules {
				tested[id] = true
			}
			for _, rule := range set.Rules {
				tested[rule.ID] = tested[rule.ID] || len(test.Rules) == 0
			}
		}
		for _, rule := range set.Rules {
			if !tested[rule.ID] {
				t.Errorf("%s: no test has the rule %s", name, rule.ID)
			}
		}
	}
}

func TestExamplesAreCanonical(t *testing.T) {
	for _, name := range examples.Names() {
		for _, file := range []string{examples.RulesFile, examples.TestsFile} {
			text := read(t, name, file)
			formatted, problems := rules.Format(path.Join(name, file), text)
			if len(problems) > 0 || !bytes.Equal(text, formatted) {
				t.Errorf("%s/%s is not in canonical form: run quando fmt examples %v", name, file, problems)
			}
		}
	}
}

func TestReadmes(t *testing.T) {
	overview, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range examples.Names() {
		if !strings.Contains(string(overview), "| ["+name+"]("+name+") |") {
			t.Errorf("README.md does not list %s", name)
		}
		readme, err := os.ReadFile(filepath.Join(name, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		set, _ := compile(t, name)
		for _, rule := range set.Rules {
			if !strings.Contains(string(readme), "`"+rule.ID+"`") {
				t.Errorf("%s/README.md does not name the rule %s", name, rule.ID)
			}
		}
		for _, part := range []string{"**To adapt it:**", "**What it will never do:**"} {
			if !strings.Contains(string(readme), part) {
				t.Errorf("%s/README.md has no part %s", name, part)
			}
		}
	}
}
