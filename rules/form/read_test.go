package form_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/source"
)

func TestRead(t *testing.T) {
	f, err := form.Read(catalog, []byte(few), "away-reply")
	if err != nil {
		t.Fatal(err)
	}
	step := func(verb string, args ...form.Arg) form.Step { return form.Step{Verb: verb, Args: args} }
	sent := step("send_message", form.Arg{Name: "text", Text: "Hello {{ contact.name }}!"})
	sent.ID = "sent"
	want := form.Form{
		ID: "away-reply", Name: "Answer", When: form.When{Events: []string{"message.received"}}, Gather: &form.Gather{Quiet: "20s", AtMost: "2m"},
		If: []string{`closed("office")`, `not human_active("15m")`}, Limit: &form.Limit{Times: "1", Per: "12h"},
		Do: []form.Step{
			sent,
			step("add_labels", form.Arg{Name: "labels", As: form.AsList, List: []string{"after-hours", "b"}}),
			step("wait", form.Arg{Name: "for", Text: "15m of office"}),
			step("choose", form.Arg{Name: "branches", As: form.AsBranches, Branches: []form.Branch{
				{If: "a == b", Do: []form.Step{step("stop", form.Arg{Name: "reason", Text: "No answer"})}},
				{Else: true, Do: []form.Step{step("log", form.Arg{Name: "text", Text: "several\nlines\n"})}},
			}}),
			step("transfer", form.Arg{Name: "sector", Text: "Supervisors"}),
		},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReadAsYAML reads what has no field.
func TestReadAsYAML(t *testing.T) {
	const text = `rules:
  - id: odd
    when: { every: 5m, else: 1 }
    if: [[a]]
    gather: 20s
    extra: # why
      a: 1 # one
      b: |
        text
    do:
      - unknown: # what
          a: 1
        id: x
      - [no, step]
      - send_message: { text: { a: 1 }, nothing: true, media: null }
      - http_request: { url: https://example.com, json: { a: "{{ x }}" }, repeatable: "true" }
      - log: x
        retry: 3
      - choose: [{ if: a, then: b }]
      - mark_read: now
`
	f, err := form.Read(catalog, []byte(text), "odd")
	if err != nil {
		t.Fatal(err)
	}
	want := form.Form{
		ID:   "odd",
		YAML: map[string]string{"when": "{ every: 5m, else: 1 }", "if": "[[a]]", "gather": "20s", "extra": "a: 1 # one\nb: |\n  text"},
		Do: []form.Step{
			{YAML: "unknown: # what\n  a: 1\nid: x"},
			{YAML: "[no, step]"},
			{Verb: "send_message", Args: []form.Arg{{Name: "text", As: form.AsYAML, YAML: "{ a: 1 }"}, {Name: "nothing", As: form.AsYAML, YAML: "true"}, {Name: "media", As: form.AsNull}}},
			{Verb: "http_request", Args: []form.Arg{{Name: "url", Text: "https://example.com"}, {Name: "json", As: form.AsYAML, YAML: `{ a: "{{ x }}" }`}, {Name: "repeatable", As: form.AsYAML, YAML: `"true"`}}},
			{YAML: "log: x\nretry: 3"},
			{Verb: "choose", Args: []form.Arg{{Name: "branches", As: form.AsYAML, YAML: "[{ if: a, then: b }]"}}},
			{YAML: "mark_read: now"},
		},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no such rule", "rules: [{ id: b }]", `"a": the file holds no such rule`},
		{"no rules", "tests: []", `"a": the file holds no such rule`},
		{"nothing", "", `"a": the file holds no such rule`},
		{"two of them", "rules: [{ id: a }, { id: a }]", `two rules with the id "a"`},
		{"no YAML", "rules: [", "line 1"},
		{"two documents", "rules: [{ id: a }]\n---\nrules: []\n", "second document"},
		{"a key twice", "rules:\n  - id: a\n    when: x\n    when: y\n", "stands here a second time"},
		{"a merge key", "x: &x { when: y }\nrules:\n  - id: a\n    <<: *x\n", "merge keys"},
		{"not UTF-8", "rules: [{ id: a, name: \"\xff\" }]", "UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := form.Read(catalog, []byte(tt.text), "a")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if isNotFound := strings.Contains(tt.want, "no such rule"); errors.Is(err, form.ErrNotFound) != isNotFound {
				t.Errorf("%v is ErrNotFound: %v", err, !isNotFound)
			}
		})
	}
}

var codeBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// repository returns every rule file of the repository, also those in its documents and its tests.
func repository(t testing.TB) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml":
			files[path] = string(text)
		case ".md":
			for _, m := range codeBlock.FindAllStringSubmatch(string(text), -1) {
				files[path+": "+m[1][:min(20, len(m[1]))]] = m[1]
			}
		case ".txtar":
			for _, part := range strings.Split(string(text), "\n-- ")[1:] {
				if name, body, ok := strings.Cut(part, " --\n"); ok && strings.HasSuffix(name, ".yaml") {
					files[path+": "+name] = body + "\n"
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ruleIDs returns the ids of a file's rules.
func ruleIDs(text string) []string {
	var ids []string
	if f, _ := source.Read("", []byte(text)); f.Root != nil && f.Root.Get("rules") != nil {
		for _, item := range f.Root.Get("rules").Items {
			if id := item.Get("id"); id != nil && id.Kind == source.Scalar {
				ids = append(ids, id.Value)
			}
		}
	}
	return ids
}

// TestRepository reads every rule of the repository: written back it is the same, and written anew
// it does the same.
func TestRepository(t *testing.T) {
	count, least := 0, 80
	if testing.Short() {
		least = 10
	}
	for path, text := range repository(t) {
		if testing.Short() && len(text)%5 != 0 {
			continue
		}
		for _, id := range ruleIDs(text) {
			f, err := form.Read(catalog, []byte(text), id)
			if err != nil {
				if !strings.Contains(path, "testdata/broken") {
					t.Errorf("%s: %v", path, err)
				}
				continue
			}
			count++
			f = fromJSON(t, f)
			if out, err := form.Write(catalog, []byte(text), id, f); err != nil || string(out) != text {
				t.Errorf("%s: %s: %v\n%s", path, id, err, lineDiff(text, string(out)))
			}
			without, err := form.Remove([]byte(text), id)
			if strings.HasSuffix(path, "merge-key.yaml") {
				if err == nil {
					t.Errorf("%s: a rule goes that another one needs:\n%s", path, without)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: without %s: %v", path, id, err)
				continue
			}
			anew, err := form.Add(catalog, without, f)
			if err != nil {
				if !strings.Contains(path, "testdata/broken") {
					t.Errorf("%s: %s anew: %v", path, id, err)
				}
				continue
			}
			if diff := cmp.Diff(meaning(text, id), meaning(string(anew), id)); diff != "" && !strings.Contains(path, "testdata/broken") {
				t.Errorf("%s: %s means something else (-was +is):\n%s", path, id, diff)
			}
		}
	}
	if count < least {
		t.Errorf("only %d rules were found", count)
	}
	t.Logf("%d rules", count)
}
