package rules_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func compile(name, text string) (*rules.Set, rules.Problems) {
	return rules.Compile([]*rules.File{rules.Parse(name, []byte(text))}, rules.Options{Catalog: builtin.Catalog(), ReadFile: readTestFile, People: []string{"Carla", "João"}})
}

func readTestFile(ruleFile, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(filepath.Dir(ruleFile), name))
}

// TestBroken holds each broken file to the exact messages, lines and columns of its golden file.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d broken files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := compile(filepath.Base(file), string(text))
			var b strings.Builder
			for _, p := range problems {
				line, caret := p.Excerpt()
				b.WriteString(p.Error() + "\n\t" + line + "\n\t" + caret + "\n")
			}
			if len(problems) == 0 {
				t.Error("no problem found")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", b.String())
		})
	}
}
