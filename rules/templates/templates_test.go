package templates_test

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/blueprint"
	"github.com/quandohq/quando/rules/templates"
)

var update = flag.Bool("update", false, "write the rules of the examples from their templates")

func parse(t *testing.T, name string) *blueprint.Template {
	t.Helper()
	text, _ := templates.Text(name)
	template, problems := blueprint.Parse(builtin.Catalog(), name+".yaml", text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return template
}

// TestExamplesAreTemplates: each example is what its template gives with the defaults. A change is
// made in the template; -update writes the example.
func TestExamplesAreTemplates(t *testing.T) {
	if diff := cmp.Diff(examples.Names(), templates.Names()); diff != "" {
		t.Fatalf("examples and templates (-examples +templates)\n%s", diff)
	}
	for _, name := range templates.Names() {
		filled, wrong, err := parse(t, name).Fill(nil)
		if err != nil || wrong != nil {
			t.Errorf("%s: %v %v", name, wrong, err)
			continue
		}
		if *update {
			if err := os.WriteFile(filepath.Join("..", "..", "examples", name, examples.RulesFile), filled, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := fs.ReadFile(examples.FS(), path.Join(name, examples.RulesFile))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(filled)); diff != "" {
			t.Errorf("the rules of the example %s are not what its template gives: go test ./rules/templates -update (-example +template)\n%s", name, diff)
		}
	}
}

// TestGallery shows that a gallery can show every template: in a group, with a picture, in both
// languages, and with questions in both.
func TestGallery(t *testing.T) {
	groups := map[string]bool{}
	for _, name := range templates.Names() {
		template := parse(t, name)
		set, problems := template.Check(rules.Options{Catalog: builtin.Catalog()})
		if len(problems) > 0 || set.Rule(name) == nil {
			t.Errorf("%s: %v", name, problems)
		}
		groups[template.Group] = true
		if template.Group == "" || template.Icon == "" || len(template.Blanks) < 2 {
			t.Errorf("%s has no group, no icon or no blanks", name)
		}
		texts := []blueprint.Words{template.Title, template.Sentence}
		for _, b := range template.Blanks {
			texts = append(texts, b.Words)
		}
		for _, w := range texts {
			if w.English == "" || w.Portuguese == "" || w.English == w.Portuguese {
				t.Errorf("%s is not in both languages: %q", name, w)
			}
		}
		text, _ := templates.Text(name)
		if formatted, _ := rules.Format(name, text); string(formatted) != string(text) {
			t.Errorf("%s is not in canonical form: run quando fmt templates", name)
		}
	}
	if len(groups) != len(rules.TemplateGroups) {
		t.Errorf("templates are in the groups %v only", groups)
	}
}

// TestEveryNameIsABlank: what a template names of the service, or of a person, it asks for.
func TestEveryNameIsABlank(t *testing.T) {
	fixed := []string{"stage Proposal", "stage Lead", "stage Follow-up", "sector Sales", "sector Support", "sector Supervisors"} // of longer lists, and of reports
	for _, name := range templates.Names() {
		template := parse(t, name)
		values := map[string][]string{}
		for _, b := range template.Blanks {
			switch b.Type {
			case blueprint.Calendar, blueprint.Label, blueprint.Sector, blueprint.Person, blueprint.Channel, blueprint.Board, blueprint.Stage:
				values[b.Name] = []string{"My-" + b.Name}
			case blueprint.Phone, blueprint.Phones:
				values[b.Name] = []string{"+5521912345678"}
			}
		}
		filled, wrong, err := template.Fill(values)
		if err != nil || wrong != nil {
			t.Fatal(name, wrong, err)
		}
		set, problems := rules.Compile([]*rules.File{rules.Parse(name, filled)}, rules.Options{Catalog: builtin.Catalog()})
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		for _, used := range set.Names() {
			if !strings.HasPrefix(used.Name, "My-") && !slices.Contains(fixed, used.Kind+" "+used.Name) {
				t.Errorf("%s names the %s %q, and does not ask for it", name, used.Kind, used.Name)
			}
		}
		for calendar := range set.Calendars {
			if calendar == "office" {
				t.Errorf("%s has the calendar %s, and does not ask for it", name, calendar)
			}
		}
		if strings.Contains(string(filled), "99999000") {
			t.Errorf("%s has a phone that it does not ask for", name)
		}
	}
}

// TestDocument: the template of the document is right, and every type stands in its table.
func TestDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(document), "```yaml\n")
	text, rest, _ := strings.Cut(rest, "```\n")
	template, problems := blueprint.Parse(builtin.Catalog(), "templates.md", []byte(text))
	if template == nil {
		t.Fatal(problems)
	}
	if _, problems := template.Check(rules.Options{Catalog: builtin.Catalog()}); problems.HasErrors() {
		t.Error(problems)
	}
	for _, word := range slices.Concat(rules.BlankTypes, rules.TemplateGroups, rules.TemplateIcons) {
		if !strings.Contains(rest, "`"+word+"`") {
			t.Errorf("the document does not name %s", word)
		}
	}
}
