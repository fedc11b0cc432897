package form_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/formtest"
)

// TestWriteEdges changes forms of files that are written in unusual ways.
func TestWriteEdges(t *testing.T) {
	text := func(s string) func(f *form.Form) { return func(f *form.Form) { f.Do[0].Args[0].Text = s } }
	step := func(f *form.Form) { f.Do = append(f.Do, form.Step{Verb: "mark_read"}) }
	mode := func(f *form.Form) { f.Mode = "single" }
	tests := []struct {
		name   string
		in     string
		change func(f *form.Form)
		out    string // empty where the change is refused
	}{
		{"no end of the last line", "rules:\n- id: r\n  when: manual\n  do:\n  - log: a", step, "rules:\n- id: r\n  when: manual\n  do:\n  - log: a\n  - mark_read"},
		{"no end of a line in quotes", "rules: [{id: r, when: manual, do: [log: a]}]", text("b"), "rules: [{id: r, when: manual, do: [log: b]}]"},
		{"a pair without braces", "rules: [{id: r, when: manual, do: [log: a]}]", func(f *form.Form) { f.Do[0].If = "x" }, "rules: [{id: r, when: manual, do: [{ log: a, if: x }]}]"},
		{"tabs between", "rules:\n- id:\tr\t# c\n  when:\tmanual\n  do:\n  - log:\ta\t# d\n", text("b"), "rules:\n- id:\tr\t# c\n  when:\tmanual\n  do:\n  - log:\tb\t# d\n"},
		{"document marks", "%YAML 1.1\n---\nrules:\n- id: r\n  when: manual\n  do:\n  - log: a\n...\n", step, "%YAML 1.1\n---\nrules:\n- id: r\n  when: manual\n  do:\n  - log: a\n  - mark_read\n...\n"},
		{"a dash alone", "rules:\n-\n  # c\n  id: r\n  when: manual\n  do:\n  -\n    log: a\n", func(f *form.Form) { f.Do[0].ID = "x" }, "rules:\n-\n  # c\n  id: r\n  when: manual\n  do:\n  -\n    log: a\n    id: x\n"},
		{"a comment behind a dash", "rules:\n- # c\n  when: manual\n  id: r\n  do: [log: a]\n", func(f *form.Form) { f.When.Events = []string{"message.sent", "manual"} }, "rules:\n- # c\n  when: [message.sent, manual]\n  id: r\n  do: [log: a]\n"},
		{"the first key of an item goes", "rules:\n- id: r\n  when: manual\n  do:\n  - if: x # c\n    # d\n    log: a\n", func(f *form.Form) { f.Do[0].If = "" }, "rules:\n- id: r\n  when: manual\n  do:\n  - # d\n    log: a\n"},
		{"a folded text", "rules:\n- id: r\n  when: manual\n  do:\n  - log: > # c\n      a\n      b\n\n  - mark_read\n", text("a c\n"), "rules:\n- id: r\n  when: manual\n  do:\n  - log: > # c\n      a c\n\n  - mark_read\n"},
		{"a folded text of several lines", "rules:\n- id: r\n  when: manual\n  do:\n  - log: >-\n      a\n", text("a\nb"), "rules:\n- id: r\n  when: manual\n  do:\n  - log: |-\n      a\n      b\n"},
		{"a text over lines becomes a line", "rules:\n- id: r\n  when: manual\n  do:\n  - log: |2 # c\n       a\n  - mark_read\n", text("a: b"), "rules:\n- id: r\n  when: manual\n  do:\n  - log: \"a: b\" # c\n  - mark_read\n"},
		{"a block that keeps its last lines", "rules:\n- id: r\n  when: manual\n  do:\n  - log: |+\n      a\n\n\n  - mark_read\n", step, "rules:\n- id: r\n  when: manual\n  do:\n  - log: |+\n      a\n\n\n  - mark_read\n  - mark_read\n"},
		{"a step behind a block that keeps its last lines", "rules:\n- id: r\n  when: manual\n  do:\n  - log: |+\n      a\n\n\ntests: []\n", step, "rules:\n- id: r\n  when: manual\n  do:\n  - log: |+\n      a\n\n\n  - mark_read\ntests: []\n"},
		{"a plain text over lines", "rules:\n- id: r\n  when: manual\n  do:\n  - log: a\n      b # c\n", text("d"), "rules:\n- id: r\n  when: manual\n  do:\n  - log: d # c\n"},
		{"escapes", "rules:\n- id: r\n  when: manual\n  do:\n  - log: \"\\u00e9 \\\n      b\" # c\n", text("é"), "rules:\n- id: r\n  when: manual\n  do:\n  - log: \"é\" # c\n"},
		{"an anchor that nobody uses", "rules:\n- id: r\n  when: manual\n  do:\n  - log: &x a\n", text("b"), "rules:\n- id: r\n  when: manual\n  do:\n  - log: &x b\n"},
		{"an anchor that another rule uses", "rules:\n- id: r\n  when: manual\n  do:\n  - log: &x a\n- id: s\n  when: manual\n  do: [log: *x ]\n", text("b"), ""},
		{"an alias", "vars: { x: &x a }\nrules:\n- id: r\n  when: manual\n  do:\n  - log: *x # c\n", text("b"), "vars: { x: &x a }\nrules:\n- id: r\n  when: manual\n  do:\n  - log: b # c\n"},
		{"steps by an alias", "rules:\n- id: s\n  when: manual\n  do: &x\n  - log: a # c\n- id: r\n  when: manual\n  do: *x\n", step, "rules:\n- id: s\n  when: manual\n  do: &x\n  - log: a # c\n- id: r\n  when: manual\n  do:\n    - log: a # c\n    - mark_read\n"},
		{"a key of an anchor's rule", "rules:\n- &x\n  id: r\n  when: manual\n  do: [log: a]\n", mode, "rules:\n- &x\n  id: r\n  when: manual\n  mode: single\n  do: [log: a]\n"},
		{"a tag", "rules:\n- id: r\n  when: manual\n  do:\n  - log: !!str 12\n", text("13"), "rules:\n- id: r\n  when: manual\n  do:\n  - log: !!str \"13\"\n"},
		{"keys in quotes", "\"rules\":\n- \"id\": r\n  'when' : manual\n  \"do\":\n  - \"log\" : a\n", mode, "\"rules\":\n- \"id\": r\n  'when' : manual\n  mode: single\n  \"do\":\n  - \"log\" : a\n"},
		{"a question mark before a key", "rules:\n- id: r\n  when: manual\n  ? do\n  : - log: a\n", text("b"), "rules:\n- id: r\n  when: manual\n  ? do\n  : - log: b\n"},
		{"a key without a value", "rules:\n- id: r\n  when: manual\n  name: # c\n  do: [log: a]\n", func(f *form.Form) { f.Name = "x" }, "rules:\n- id: r\n  when: manual\n  name: x # c\n  do: [log: a]\n"},
		{"a key without a value in braces", "rules: [{ id: r, when: manual, name, do: [log: a] }]\n", func(f *form.Form) { f.Name = "x" }, "rules: [{ id: r, when: manual, name: x, do: [log: a] }]\n"},
		{"braces over lines with comments", "rules:\n- id: r\n  when: manual\n  limit: { # c\n    times: 1, # d\n    # e\n    per: 1h # f\n  }\n  do: [log: a]\n", func(f *form.Form) { f.Limit.Times = "" }, "rules:\n- id: r\n  when: manual\n  limit: { # c\n    # e\n    per: 1h # f\n  }\n  do: [log: a]\n"},
		{"the last in braces with comments", "rules:\n- id: r\n  when: manual\n  limit: {\n    times: 1, # d\n    per: 1h # f\n  }\n  do: [log: a]\n", func(f *form.Form) { f.Limit.Per = "" }, "rules:\n- id: r\n  when: manual\n  limit: {\n    times: 1, # d\n     # f\n  }\n  do: [log: a]\n"},
		{"wide characters", "rules: [{id: r, when: manual, name: \"日本語😀\", do: [log: é]}] # ü\n", text("ß: ö"), "rules: [{id: r, when: manual, name: \"日本語😀\", do: [log: \"ß: ö\"]}] # ü\n"},
		{"a key twice elsewhere", "vars: { a: 1, a: 2 }\nrules: [{id: r, when: manual, do: [log: a]}]\n", text("b"), "vars: { a: 1, a: 2 }\nrules: [{id: r, when: manual, do: [log: b]}]\n"},
		{"a null that becomes a list", "rules:\n- id: r\n  when: manual\n  if:\n  do: [log: a]\n", func(f *form.Form) { f.If = []string{"a", "b"} }, "rules:\n- id: r\n  when: manual\n  if:\n    - a\n    - b\n  do: [log: a]\n"},
		{"a part in a split", "rules:\n- id: r\n  sample: { rest: greeting } # c\n  when: manual\n  do: [log: a]\n", mode, "rules:\n- id: r\n  sample: { rest: greeting } # c\n  when: manual\n  mode: single\n  do: [log: a]\n"},
		{"a query and a status", "rules:\n- id: r\n  when: manual\n  do:\n  - http_request: { url: \"https://x\", query: { a: [1, b], c: 2, d: null }, accept: 404 }\n", func(f *form.Form) { f.Do[0].Args[2].List = []string{"404", "410"} }, "rules:\n- id: r\n  when: manual\n  do:\n  - http_request: { url: \"https://x\", query: { a: [1, b], c: 2, d: null }, accept: [404, 410] }\n"},
		{"a line separator", "rules:\n- id: r\n  when: manual\n  name: \"a\u2028b\"\n  do:\n  - log: a\n", text("b"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := form.Read(catalog, []byte(tt.in), "r")
			if err != nil {
				t.Fatal(err)
			}
			tt.change(&f)
			out, err := form.Write(catalog, []byte(tt.in), "r", f)
			if diff := cmp.Diff(tt.out, string(out)); diff != "" || (err != nil) != (tt.out == "") {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestTexts types texts that YAML would take for something else, in every place and style: they
// stay what was typed.
func TestTexts(t *testing.T) {
	places := map[string]string{
		"plain":         "rules:\n  - id: r\n    when: manual\n    do:\n      - log: a\n      - mark_read\n",
		"double quotes": "rules:\n  - id: r\n    when: manual\n    do:\n      - log: \"a\"\n      - mark_read\n",
		"single quotes": "rules:\n  - id: r\n    when: manual\n    do:\n      - log: 'a'\n      - mark_read\n",
		"braces":        "rules: [{ id: r, when: manual, do: [{ log: a }, mark_read] }]\n",
		"a block":       "rules:\n  - id: r\n    when: manual\n    do:\n      - log: |\n          a\n      - mark_read\n",
		"folded":        "rules:\n  - id: r\n    when: manual\n    do:\n      - log: >-\n          a\n      - mark_read\n",
		"an argument":   "rules:\n  - id: r\n    when: manual\n    do:\n      - log:\n          text: a\n      - mark_read\n",
		"windows":       "rules:\r\n  - id: r\r\n    when: manual\r\n    do:\r\n      - log: a\r\n      - mark_read\r\n",
	}
	for place, text := range places {
		t.Run(place, func(t *testing.T) {
			for _, typed := range formtest.Hard {
				f, err := form.Read(catalog, []byte(text), "r")
				if err != nil {
					t.Fatal(err)
				}
				f.Do[0].Args[0].Text, f.Name = typed, typed
				out, err := form.Write(catalog, []byte(text), "r", f)
				if err != nil {
					t.Errorf("%q: %v", typed, err)
					continue
				}
				set, problems := rules.Compile([]*rules.File{rules.Parse("r.yaml", out)}, rules.Options{Catalog: catalog})
				r := set.Rule("r")
				if r == nil {
					if strings.TrimSpace(typed) == "" || strings.Contains(fmt.Sprint(problems), "is empty") {
						continue
					}
					t.Errorf("%q: %v\n%s", typed, problems, out)
					continue
				}
				if got := r.Do[0].Args["text"].String(); r.Name != typed || got != typed && !strings.Contains(typed, "{{") {
					t.Errorf("%q became %q and %q:\n%s", typed, r.Name, got, out)
				}
			}
		})
	}
}

// TestTypes sees that numbers, durations and flags are written as what they are.
func TestTypes(t *testing.T) {
	const text = "rules:\n  - id: r\n    when: manual\n    do:\n      - mark_read\n"
	f, err := form.Read(catalog, []byte(text), "r")
	if err != nil {
		t.Fatal(err)
	}
	f.Max, f.Sample, f.Limit = "5", "10%", &form.Limit{Times: "1", Per: "12h"}
	f.Tags, f.If = []string{"1", "yes"}, []string{"true", "1 < 2"}
	f.Do = []form.Step{
		{Verb: "update_conversation", Args: []form.Arg{{Name: "archived", Text: "true"}, {Name: "muted", Text: "{{ contact.blocked }}"}, {Name: "name", Text: "true"}}},
		{Verb: "read_messages", Args: []form.Arg{{Name: "limit", Text: "5"}}},
		{Verb: "wait", Args: []form.Arg{{Name: "for", Text: "15m"}}},
		{Verb: "set", Args: []form.Arg{{Name: "values", As: form.AsFields, Fields: []form.Arg{{Name: "a", Text: "5"}, {Name: "b", As: form.AsYAML, YAML: "5"}}}}},
		{Verb: "set_sector", Args: []form.Arg{{Name: "sector", As: form.AsNull}}},
		{Verb: "set_labels", Args: []form.Arg{{Name: "labels", As: form.AsList}}},
	}
	out, err := form.Write(catalog, []byte(text), "r", f)
	if err != nil {
		t.Fatal(err)
	}
	const want = `rules:
  - id: r
    tags: ["1", "yes"]
    sample: 10%
    when: manual
    if:
      - true
      - 1 < 2
    limit: { times: 1, per: 12h }
    max: 5
    do:
      - update_conversation: { archived: true, muted: "{{ contact.blocked }}", name: "true" }
      - read_messages: 5
      - wait: 15m
      - set: { a: "5", b: 5 }
      - set_sector: null
      - set_labels: []
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWriteRefuses sends forms that cannot be meant.
func TestWriteRefuses(t *testing.T) {
	const text = "rules:\n  - id: r\n    when: manual\n    do: [mark_read]\n  - id: s\n"
	log := func(args ...form.Arg) func(f *form.Form) {
		return func(f *form.Form) { f.Do = []form.Step{{Verb: "log", Args: args}} }
	}
	tests := []struct {
		name   string
		change func(f *form.Form)
		want   string
	}{
		{"no id", func(f *form.Form) { f.ID = "" }, "needs an id"},
		{"the id of another", func(f *form.Form) { f.ID = "s" }, `another rule with the id "s"`},
		{"events and a schedule", func(f *form.Form) { f.When.Schedule = &form.Schedule{Every: "5m"} }, "not by both"},
		{"a field and YAML", func(f *form.Form) { f.Name, f.YAML = "x", map[string]string{"name": "y"} }, "as a field and as YAML"},
		{"the id as YAML", func(f *form.Form) { f.YAML = map[string]string{"id": "y"} }, "as a field and as YAML"},
		{"YAML that is none", func(f *form.Form) { f.YAML = map[string]string{"name": "[a"} }, "name: line 1"},
		{"YAML that is nothing", func(f *form.Form) { f.Do[0] = form.Step{YAML: "# nothing"} }, "do: step 1: there is no YAML"},
		{"two documents", func(f *form.Form) { f.Do[0] = form.Step{YAML: "log: a\n---\nlog: b"} }, "second document"},
		{"a step of nothing", func(f *form.Form) { f.Do[0] = form.Step{} }, "step 1: choose what it does"},
		{"a step of fields and YAML", func(f *form.Form) { f.Do[0].YAML = "log: x" }, "as fields and as YAML"},
		{"an unknown verb", func(f *form.Form) { f.Do[0].Verb = "dance" }, `no verb "dance"`},
		{"an argument twice", log(form.Arg{Name: "text", Text: "a"}, form.Arg{Name: "text", Text: "b"}), "text is given twice"},
		{"an unknown way", log(form.Arg{Name: "text", As: "number"}), `as "number"`},
		{"a setting's neighbour", func(f *form.Form) {
			f.Do[0] = form.Step{Verb: "set", Args: []form.Arg{{Name: "values", As: form.AsFields}, {Name: "more", Text: "x"}}}
		}, `set has no argument "more"`},
		{"an else with a condition", func(f *form.Form) {
			f.Do[0] = form.Step{Verb: "choose", Args: []form.Arg{{Name: "branches", As: form.AsBranches, Branches: []form.Branch{{Else: true, If: "a"}}}}}
		}, "no condition"},
		{"a text that is not UTF-8", log(form.Arg{Name: "text", Text: "\xff"}), "cannot make this change"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := form.Read(catalog, []byte(text), "r")
			if err != nil {
				t.Fatal(err)
			}
			tt.change(&f)
			out, err := form.Write(catalog, []byte(text), "r", f)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q:\n%s", err, tt.want, out)
			}
		})
	}
}
