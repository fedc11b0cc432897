package rules_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

func ruleSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := rules.JSONSchema(builtin.Catalog())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("quando.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	// Compile also holds the schema to draft-07's own.
	schema, err := c.Compile("quando.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validates(schema *jsonschema.Schema, name, text string) error {
	f, problems := source.Read(name, []byte(text))
	if len(problems) > 0 {
		return problems
	}
	return schema.Validate(f.Root.Any())
}

func TestSchemaAcceptsGoodRules(t *testing.T) {
	schema := ruleSchema(t)
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validates(schema, file, string(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if _, problems := compile(file, string(text)); problems.HasErrors() {
			t.Errorf("%s: %v", file, problems)
		}
	}
}

// TestExamplesFitTheSchema holds the rules and the tests of every example to the schema.
func TestExamplesFitTheSchema(t *testing.T) {
	schema := ruleSchema(t)
	for _, name := range examples.Names() {
		for _, file := range []string{path.Join(name, examples.RulesFile), path.Join(name, examples.TestsFile)} {
			text, err := fs.ReadFile(examples.FS(), file)
			if err != nil {
				t.Fatal(err)
			}
			if err := validates(schema, file, string(text)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestSchemaExamples holds the example of every verb to the schema and to the checker.
func TestSchemaExamples(t *testing.T) {
	schema := ruleSchema(t)
	for _, s := range builtin.Catalog().Schemas() {
		step := "      - " + s.Verb
		if s.Example != "" {
			step += ": " + s.Example
		}
		text := office + "rules:\n  - id: r\n    when: manual\n    gather: { quiet: 5s }\n    do:\n" + step + "\n"
		if err := validates(schema, s.Verb, text); err != nil {
			t.Errorf("%s: %v", s.Verb, err)
		}
		if _, problems := compile(s.Verb, text); problems.HasErrors() {
			t.Errorf("%v", problems)
		}
	}
}

// TestSchemaRefuses shows that an editor underlines what is structurally wrong.
func TestSchemaRefuses(t *testing.T) {
	schema := ruleSchema(t)
	for _, name := range []string{
		"unknown-file-key", "misspelt-key", "bad-stage", "bad-mode", "no-id", "no-when", "no-do", "unknown-verb", "two-verbs", "unknown-argument", "missing-argument",
		"unknown-event", "schedule-two-times", "each-unknown", "not-a-flag", "not-a-choice", "wait-for-unbounded", "choose-not-a-list", "rules-not-a-list", "bad-id", "bad-from",
		"limit-without-per", "gather-without-quiet", "no-verb", "calendar-without-zone", "test-unknown-given", "test-unknown-fault", "test-unknown-effect",
		"neither-argument", "both-arguments", "retry-empty", "bad-wait", "where-without-each",
	} {
		text, err := os.ReadFile("testdata/broken/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := validates(schema, name, string(text)); err == nil {
			t.Errorf("%s: the schema finds nothing wrong with\n%s", name, text)
		}
	}
}

// TestSchemaDescribes shows what completion in an editor lives on: every verb and every key, with
// words.
func TestSchemaDescribes(t *testing.T) {
	text, err := rules.JSONSchema(builtin.Catalog())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range builtin.Catalog().Schemas() {
		if !strings.Contains(string(text), `"`+s.Verb+`": {`) {
			t.Errorf("no verb %s", s.Verb)
		}
		if s.Summary == "" || strings.HasSuffix(s.Summary, ".") {
			t.Errorf("%s: summary %q", s.Verb, s.Summary)
		}
		for _, a := range s.Args {
			if a.Summary == "" {
				t.Errorf("%s.%s has no summary", s.Verb, a.Name)
			}
		}
	}
}
