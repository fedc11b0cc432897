package rules_test

import (
	"flag"
	"fmt"
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
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d broken files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { goldenProblems(t, file) })
	}
}

// TestMistakes holds what people write who come from another tool to the messages that they get:
// each says where, what is wrong, and what to write.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d mistakes, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/broken/"), ".yaml"), func(t *testing.T) {
			for _, p := range goldenProblems(t, file) {
				if p.Line == 0 || p.Column == 0 || (p.Hint == "" && !strings.Contains(p.Message, "write ")) {
					t.Errorf("it does not say where, what and what to write: %s", p.Error())
				}
			}
		})
	}
}

// TestBrokenInPortuguese holds the problems of all broken files to their Portuguese, which stands
// in one golden file so that it can be read in one go.
func TestBrokenInPortuguese(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	files, err := filepath.Glob("testdata/broken/*.yaml")
	more, err2 := filepath.Glob("testdata/broken/*/*.yaml")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	var b strings.Builder
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, problems := compile(filepath.Base(file), string(text))
		fmt.Fprintf(&b, "%s\n", strings.TrimPrefix(file, "testdata/broken/"))
		for _, p := range problems.In(rules.Portuguese) {
			fmt.Fprintf(&b, "%d:%d: %s", p.Line, p.Column, p.Message)
			if p.Hint != "" {
				fmt.Fprintf(&b, " (%s)", p.Hint)
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	golden(t, "testdata/broken/portuguese.golden", b.String())
}

// goldenProblems returns the problems of a rule file, which must be those of the golden file beside
// it.
func goldenProblems(t *testing.T, file string) rules.Problems {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed := []*rules.File{rules.Parse(filepath.Base(file), text)}
	options := rules.Options{Catalog: builtin.Catalog(), ReadFile: readTestFile, People: []string{"Carla", "João"}}
	_, problems := rules.Compile(parsed, options)
	if _, again := rules.Compile(parsed, options); len(again) != len(problems) {
		t.Errorf("compiled a second time, the file has other problems: %v", again)
	}
	var b strings.Builder
	for _, p := range problems {
		line, caret := p.Excerpt()
		b.WriteString(p.Error() + "\n\t" + line + "\n\t" + caret + "\n")
	}
	if len(problems) == 0 {
		t.Error("no problem found")
	}
	golden(t, strings.TrimSuffix(file, ".yaml")+".golden", b.String())
	return problems
}
