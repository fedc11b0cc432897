package sentence_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

const top = "../../../"

var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// ruleFiles returns the examples, the sixteen automations, and the rules that the documents and the
// tests show, by where they are from.
func ruleFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(folder fs.FS, name string) {
		err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := fs.ReadFile(folder, path)
			out[name+"/"+path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add(examples.FS(), "examples")
	for _, folder := range []string{"cmd/quando/testdata/sixteen", "rules/testdata/good", "engine/simulation/testdata/found"} {
		add(os.DirFS(top+folder), folder)
	}
	documents, err := filepath.Glob(top + "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(documents, top+"README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
			out[name+" "+block[1][:min(40, len(block[1]))]] = block[1]
		}
	}
	return out
}

// places returns every expression of the rules of a file.
func places(t *testing.T, text string) (list []sentence.Place) {
	t.Helper()
	file, _ := source.Read("rules.yaml", []byte(text))
	if file.Root == nil {
		return nil
	}
	var vars map[string]any
	if n := file.Root.Get("vars"); n != nil {
		vars, _ = n.Any().(map[string]any)
	}
	items := file.Root.Get("rules")
	if items == nil {
		return nil
	}
	for _, item := range items.Items {
		id := item.Get("id")
		if id == nil {
			continue
		}
		f, err := form.Read(builtin.Catalog(), []byte(text), id.Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, sentence.Places(builtin.Catalog(), f, vars)...)
	}
	return list
}

// code matches what no sentence may show to people; patterns are beyond words.
var code = regexp.MustCompile(`[{}=_#⟦]|\?\.|\?\?|&&|\|\||\w\(`)

// TestNothingByHand shows that the catalogue says every condition, value and text of the examples,
// of the sixteen automations and of the documents; that its words show no code; and that what was
// read is written back byte for byte.
func TestNothingByHand(t *testing.T) {
	t.Parallel()
	conditions, texts := 0, 0
	for name, file := range ruleFiles(t) {
		for _, p := range places(t, file) {
			if hand := p.ByHand(); hand != nil {
				t.Errorf("%s, %s: %s is by hand: %q", name, p.Path, p.Text, hand)
			}
			for _, l := range []rules.Language{rules.English, rules.Portuguese} {
				words := ""
				switch p.Kind {
				case sentence.ConditionPlace:
					conditions++
					c := sentence.Read(p.Text)
					words = p.Scope.Say(l, c)
					if got := sentence.Write(p.Text, c); got != p.Text {
						t.Errorf("%s, %s: %s became %s", name, p.Path, p.Text, got)
					}
				case sentence.TextPlace:
					texts++
					parts := sentence.ReadText(p.Text)
					if got := sentence.WriteText(p.Text, parts); got != p.Text {
						t.Errorf("%s, %s: %q became %q", name, p.Path, p.Text, got)
					}
					for _, part := range parts {
						if part.Chip != nil {
							words += p.Scope.Chip(l, *part.Chip) + " "
						}
					}
				case sentence.ValuePlace:
					words = p.Scope.SayValue(l, sentence.ReadValue(p.Text))
				}
				if found := code.FindString(words); found != "" && !strings.Contains(p.Text, "(?i)") {
					t.Errorf("%s, %s: %s shows %s: %s", name, p.Path, p.Text, found, words)
				}
				if testing.Verbose() && l == phrases.Portuguese {
					t.Logf("%s\n\t%s", p.Text, words)
				}
			}
		}
	}
	if conditions < 100 || texts < 50 {
		t.Errorf("only %d conditions and %d texts were found", conditions, texts)
	}
}
