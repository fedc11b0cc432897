package rules_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/vocabulary"
)

const languageDoc = "../docs/language.md"

func readLanguageDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(languageDoc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var generatedPart = regexp.MustCompile(`(?s)(<!-- (?:table|list): ([a-z ]+) -->\n?).*?(<!-- end -->)`)

// TestLanguageDocTables makes the tables of the documentation from the catalog, so that they cannot
// drift.
func TestLanguageDocTables(t *testing.T) {
	parts := map[string]string{
		"rule keys": ruleKeyTable(),
		"events":    "`" + strings.Join(vocabulary.EventTypes(), "`, `") + "`;\n",
		"each":      eachTable(),
		"verbs":     verbTable(),
		"facts":     factTable(),
		"functions": functionTable(),
		"countries": "`" + strings.Join(calendar.Countries(), "`, `") + "`\n",
	}
	seen := 0
	got := generatedPart.ReplaceAllStringFunc(readLanguageDoc(t), func(part string) string {
		m := generatedPart.FindStringSubmatch(part)
		text, ok := parts[m[2]]
		if !ok {
			t.Errorf("nothing makes the part %q", m[2])
		}
		seen++
		return strings.TrimRight(m[1], "\n") + "\n" + text + m[3]
	})
	if seen != len(parts) {
		t.Errorf("the document has %d generated parts, want %d", seen, len(parts))
	}
	golden(t, languageDoc, got)
}

func ruleKeyTable() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	for _, k := range rules.RuleKeys {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Default, k.Doc)
	}
	return b.String()
}

func eachTable() string {
	var b strings.Builder
	b.WriteString("| each | where |\n|---|---|\n")
	for _, each := range rules.EachItems() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", each.Name, argList(each.Filters, ""))
	}
	return b.String()
}

func argList(args []rules.Arg, main string) string {
	var out []string
	for _, a := range args {
		name := "`" + a.Name + "`"
		if a.Name == main {
			name = "**" + name + "**"
		}
		kind := a.Kind.String()
		if len(a.Values) > 0 {
			kind = "`" + strings.Join(a.Values, "`, `") + "`"
		}
		if a.Required {
			kind += ", required"
		}
		out = append(out, fmt.Sprintf("%s (%s): %s", name, kind, a.Summary))
	}
	return strings.Join(out, "<br>")
}

// fieldNames lists the fields of a result, and those of the items of its lists.
func fieldNames(t *rules.Type) string {
	var names []string
	for _, f := range t.Fields() {
		name := "`" + f.Name + "`"
		if e := f.Type.Elem(); e != nil && len(e.Fields()) > 0 {
			name += " (a list, each with " + fieldNames(e) + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func verbTable() string {
	var b strings.Builder
	b.WriteString("| verb | arguments | result | scopes |\n|---|---|---|---|\n")
	for _, s := range builtin.Catalog().Schemas() {
		result := ""
		if s.Result != nil {
			result = s.Result.String()
			switch {
			case s.Gives != "":
				result = "`" + s.Gives + "`, which it becomes"
			case len(s.Result.Fields()) > 0:
				result = fieldNames(s.Result)
			case s.Result.Elem() != nil && len(s.Result.Elem().Fields()) > 0:
				result = "a list, each with " + fieldNames(s.Result.Elem())
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s<br>%s | %s | %s |\n", s.Verb, s.Summary, argList(s.Args, s.Main), result, strings.Join(s.Scopes, ", "))
	}
	return strings.ReplaceAll(b.String(), "<br> |", " |")
}

func factTable() string {
	var b strings.Builder
	b.WriteString("| fact | fields |\n|---|---|\n")
	for _, f := range rules.FactTypes() {
		t, kind := f.Type, ""
		if t.Elem() != nil {
			kind = "a list of items with the fields of `" + strings.TrimSuffix(f.Name, "s") + "`"
		} else {
			var fields []string
			for _, field := range t.Fields() {
				fields = append(fields, fmt.Sprintf("`%s` (%s): %s", field.Name, field.Type, field.Doc))
			}
			kind = strings.Join(fields, "<br>")
		}
		fmt.Fprintf(&b, "| `%s`: %s | %s |\n", f.Name, f.Doc, kind)
	}
	return b.String()
}

func functionTable() string {
	var b strings.Builder
	b.WriteString("| function | gives |\n|---|---|\n")
	for _, f := range rules.Functions() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Signature, f.Doc)
	}
	return b.String()
}

var fence = regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$")

// TestLanguageDocExamples executes every example of the documentation.
func TestLanguageDocExamples(t *testing.T) {
	schema := ruleSchema(t)
	blocks := fence.FindAllStringSubmatch(readLanguageDoc(t), -1)
	if len(blocks) < 6 {
		t.Fatalf("found only %d examples", len(blocks))
	}
	for _, block := range blocks {
		kind, text := block[1], block[2]
		switch kind {
		case "yaml rule":
			text = office + "rules:\n  - " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
		case "yaml steps":
			text = office + "rules:\n  - id: r\n    when: attendance.closed\n    do:\n      " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ") + "\n"
		case "expr":
			checkExpressions(t, text)
			continue
		case "yaml":
		default:
			continue
		}
		if _, problems := compile("language.md", text); len(problems) > 0 {
			t.Errorf("%v\n%s", problems, text)
		}
		if err := validates(schema, "language.md", text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		if kind == "yaml" {
			if formatted, problems := rules.Format("language.md", []byte(text)); len(problems) > 0 {
				t.Errorf("%v\n%s", problems, formatted)
			}
		}
	}
}

// checkExpressions evaluates lines of the form expression → value.
func checkExpressions(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		expression, want, ok := strings.Cut(line, "→")
		if !ok {
			t.Errorf("no value in %q", line)
			continue
		}
		r := oneRule(t, "    do:\n      - log: "+quoteYAML("<{{ "+strings.TrimSpace(expression)+" }}>")+"\n")
		got, err := rules.NewEvaluation(context.Background(), r, newWorld()).Render(r.Do[0].Args["text"])
		if err != nil || got != "<"+strings.TrimSpace(want)+">" {
			t.Errorf("%s gives %v, %v; the document says %s", expression, got, err, want)
		}
	}
}

// TestReadmeExample executes the README's rule, and makes the mistake whose message it shows.
func TestReadmeExample(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := fence.FindAllStringSubmatch(string(text), -1)
	rule, message := "", ""
	for _, block := range blocks {
		switch block[1] {
		case "yaml":
			rule = block[2]
		case "text":
			message = block[2]
		}
	}
	if _, problems := compile("away.yaml", rule); len(problems) > 0 {
		t.Error(problems)
	}
	_, problems := compile("away.yaml", strings.Replace(rule, "human_active", "human_activ", 1))
	if len(problems) != 1 || !strings.HasPrefix(message, problems[0].Error()+"\n") {
		t.Errorf("the README says\n%s\nthe checker\n%s", message, problems.Error())
	}
}
