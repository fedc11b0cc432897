package form_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/vocabulary"
)

// TestTemplates makes a rule from each template: it is checked without a complaint, formatted, and
// a draft.
func TestTemplates(t *testing.T) {
	for _, template := range form.Templates() {
		t.Run(template.Name, func(t *testing.T) {
			text, err := form.New("my-rule", template.Name)
			if err != nil {
				t.Fatal(err)
			}
			set, problems := rules.Compile([]*rules.File{rules.Parse("r.yaml", text)}, rules.Options{Catalog: catalog})
			if r := set.Rule("my-rule"); len(problems) > 0 || r == nil || r.Stage != rules.Draft || len(set.Names()) > 0 {
				t.Errorf("%v %v\n%s", problems, r, text)
			}
			if formatted, problems := rules.Format("r.yaml", text); len(problems) > 0 || string(formatted) != string(text) {
				t.Errorf("%v\n%s", problems, lineDiff(string(text), string(formatted)))
			}
			f, err := form.Read(catalog, text, "my-rule")
			if err != nil || len(f.YAML) > 0 || slices.ContainsFunc(f.Do, func(s form.Step) bool { return s.YAML != "" }) {
				t.Errorf("%v: it has parts without fields: %+v", err, f)
			}
			if template.Summary == "" {
				t.Error("it says nothing of itself")
			}
		})
	}
	first, _ := form.New("a", form.Templates()[0].Name)
	if text, err := form.New("a", ""); err != nil || string(text) != string(first) {
		t.Errorf("without a name: %v\n%s", err, text)
	}
	if _, err := form.New("a", "unknown"); err == nil {
		t.Error("an unknown template is made")
	}
	if text, err := form.New("yes", ""); err != nil || !strings.Contains(string(text), `id: "yes"`) {
		t.Errorf("an id that looks like something else: %v\n%s", err, text)
	}
}

func TestAddAndRemove(t *testing.T) {
	f := form.Form{ID: "new", When: form.When{Events: []string{"manual"}}, Do: []form.Step{{Verb: "mark_read"}}}
	const rule = "  - id: new\n    when: manual\n    do:\n      - mark_read\n"
	tests := []struct{ name, in, out string }{
		{"nothing", "", "rules:\n" + rule},
		{"comments", "# c\n", "# c\nrules:\n" + rule},
		{"no rules", "# c\nvars: { a: 1 }\n\n# d\ntests: []\n", "# c\nvars: { a: 1 }\n\nrules:\n" + rule + "\n# d\ntests: []\n"},
		{"only tests", "# d\ntests: []\n", "rules:\n" + rule + "\n# d\ntests: []\n"},
		{"no rule", "rules: [] # c\ntests: []\n", "rules: # c\n" + rule + "tests: []\n"},
		{"others", "rules:\n  - id: a # c\n    # d\n\n# e\ntests: []\n", "rules:\n  - id: a # c\n    # d\n\n" + rule + "\n# e\ntests: []\n"},
		{"without an end", "rules:\n  - id: a", "rules:\n  - id: a\n\n" + strings.TrimSuffix(rule, "\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := form.Add(catalog, []byte(tt.in), f)
			if diff := cmp.Diff(tt.out, string(out)); err != nil || diff != "" {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
			}
			if strings.Contains(tt.in, "id: a") {
				back, err := form.Remove(out, "new")
				if err != nil || string(back) != tt.in {
					t.Errorf("%v: taken away again, the file is\n%q", err, back)
				}
			}
			if _, err := form.Add(catalog, out, f); err == nil {
				t.Error("the same rule is added again")
			}
		})
	}
	if out, err := form.Remove([]byte("rules: # c\n  # d\n  - id: a\n"), "a"); err != nil || string(out) != "rules: [] # c\n  # d\n" {
		t.Errorf("%v %q", err, out)
	}
}

// TestCatalogue sees that the catalogue has all that there is, with words about each.
func TestCatalogue(t *testing.T) {
	c := form.NewCatalogue(catalog)
	var verbs []string
	for _, v := range c.Verbs {
		verbs = append(verbs, v.Name)
		checkArguments(t, v.Name, v.Args)
		if v.Summary == "" || v.Main != "" && !slices.ContainsFunc(v.Args, func(a form.Argument) bool { return a.Name == v.Main }) {
			t.Errorf("%+v", v)
		}
	}
	if diff := cmp.Diff(catalog.Verbs(), verbs); diff != "" {
		t.Error(diff)
	}
	var keys []string
	for _, k := range c.Keys {
		keys = append(keys, k.Name)
	}
	fields, err := json.Marshal(form.Form{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(fields, []byte(`"id"`)) || len(keys) != len(rules.RuleKeys) {
		t.Errorf("%v", keys)
	}
	var names []string
	for _, e := range c.Events {
		names = append(names, e.Name)
		if e.Summary == "" || !slices.Contains(e.Facts, "event") {
			t.Errorf("%+v", e)
		}
	}
	if diff := cmp.Diff(append(vocabulary.EventTypes(), "manual"), names); diff != "" {
		t.Error(diff)
	}
	for _, e := range c.Each {
		checkArguments(t, e.Name, e.Filters)
	}
	if len(c.Facts) == 0 || len(c.Functions) == 0 {
		t.Error("expressions have nothing to see or to call")
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
	want := form.Argument{Name: "labels", Summary: "names or ids", Kind: "names", As: form.AsList, Required: true, Refers: "label"}
	i := slices.Index(verbs, "add_labels")
	if diff := cmp.Diff(want, c.Verbs[i].Args[0]); diff != "" {
		t.Error(diff)
	}
	person := form.Argument{Name: "person", Summary: "a person of the team, by the table `people` of the configuration", Kind: "name", Refers: "teammate"}
	if target := c.Verbs[i].Args[1]; target.Kind != "target" || target.As != form.AsFields || !cmp.Equal(target.Fields[0], person) {
		t.Errorf("%+v", target)
	}
	if control := slices.Index(verbs, "wait"); !c.Verbs[control].Control || c.Verbs[i].Control || c.Verbs[control].Args[0].Refers != "calendar" {
		t.Errorf("%+v", c.Verbs[control])
	}
}

func checkArguments(t *testing.T, of string, args []form.Argument) {
	t.Helper()
	for _, a := range args {
		if a.Name == "" || a.Summary == "" || a.Kind == "" || a.Kind == "choice" && len(a.Values) == 0 || a.Kind == "name" && a.Refers == "" {
			t.Errorf("%s: %+v", of, a)
		}
		checkArguments(t, of, a.Fields)
	}
}
