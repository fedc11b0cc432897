package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	heading     = regexp.MustCompile(`(?m)^#+ `)
	shComment   = regexp.MustCompile(`(?m)\s+#.*$`)
	relative    = regexp.MustCompile(`\]\(([^):#]+)(#[^)]*)?\)`)
	figure      = regexp.MustCompile(`\d[\d,.]*\d`)
)

// translated are the documents that exist in Portuguese too, from the top of the repository.
var translated = []string{"README.md", "docs/guide.md", "docs/cookbook.md"}

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTranslatedDocuments: both languages have the same parts in the same order, with the same
// commands, rules and tests in them, and links that lead somewhere.
func TestTranslatedDocuments(t *testing.T) {
	for _, name := range translated {
		t.Run(name, func(t *testing.T) {
			other := strings.TrimSuffix(name, ".md") + ".pt-BR.md"
			if diff := cmp.Diff(outline(readDoc(t, name)), outline(readDoc(t, other))); diff != "" {
				t.Errorf("%s (-) and %s (+) differ:\n%s", name, other, diff)
			}
			for _, n := range []string{name, other} {
				for _, link := range relative.FindAllStringSubmatch(readDoc(t, n), -1) {
					if _, err := os.Stat(filepath.Join("..", "..", filepath.Dir(n), link[1])); err != nil {
						t.Errorf("%s links to %s: %v", n, link[1], err)
					}
				}
			}
		})
	}
}

// outline lists the levels of a document's headings, and what is in its blocks but for comments and
// pictures.
func outline(text string) (list []string) {
	rest := fencedBlock.ReplaceAllStringFunc(text, func(block string) string {
		m := fencedBlock.FindStringSubmatch(block)
		switch m[1] {
		case "mermaid":
			return ""
		case "sh":
			m[2] = shComment.ReplaceAllString(m[2], "")
		}
		list = append(list, m[1]+"\n"+m[2])
		return ""
	})
	return append(list, heading.FindAllString(rest, -1)...)
}

// TestReadmeFigures: the README's figures are those of the last measurement.
func TestReadmeFigures(t *testing.T) {
	measured := figure.FindAllString(readDoc(t, "docs/benchmarks.md"), -1)
	_, table, _ := strings.Cut(readDoc(t, "README.md"), "\n## Figures\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| .* \| (.*) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) < 4 {
		t.Errorf("the README has %d figures", len(rows))
	}
	for _, row := range rows {
		for _, n := range figure.FindAllString(row[1], -1) {
			if !slices.Contains(measured, n) {
				t.Errorf("docs/benchmarks.md has no %s; take the README's figures from there", n)
			}
		}
	}
}
