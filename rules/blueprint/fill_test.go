package blueprint_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/blueprint"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

func parse(t testing.TB, text string) *blueprint.Template {
	t.Helper()
	template, problems := blueprint.Parse(builtin.Catalog(), "template.yaml", []byte(text))
	if template == nil {
		t.Fatal(problems)
	}
	return template
}

func fill(t testing.TB, template *blueprint.Template, values map[string][]string, known ...string) string {
	t.Helper()
	text, wrong, err := template.Fill(values, known...)
	if err != nil || wrong != nil {
		t.Fatalf("%q: %v %v", values, wrong, err)
	}
	return string(text)
}

// everywhere has blanks wherever they can stand.
const everywhere = `
template: { title: Everywhere }
blanks:
  - { name: text, type: text, default: x, words: "What text?" }
  - { name: name, type: label, default: x, words: "Which label?" }
  - { name: list, type: words, default: [x, y], words: "Which words?" }
vars:
  text: <<text>>
  part: "<<text>>"
  list: <<list>>
  longer: [a, <<list>>, b]
rules:
  - id: everywhere
    name: <<name>>
    description: "About <<name>>"
    when: message.received
    if:
      - vars.text == "<<text>>" and vars.text == '<<text>>' and vars.part == <<text>>
      - '"a <<text>> b" == "a " + vars.text + " b"'
      - vars.list == [<<list>>]
      - vars.longer == ["a", <<list>>, "b"]
    do:
      - log: <<text>>
      - log: "{<<text>>{{ vars.text }}"
      - log: |-
          {{ "<<text>>" }}
          <<text>>
      - log: "{{ vars.part == '<<text>>' ? 'same' : 'other' }}"
      - choose:
          - if: vars.text != "<<text>>"
            do: [stop: <<text>>]
          - else:
              - add_labels: [<<name>>] # a comment with <<name>>
`

// hostile are pieces of texts that mean something in YAML, in expressions, in texts or in patterns.
var hostile = []string{
	`"`, `'`, "`", `\`, `\"`, ": ", "#", " # ", "- ", "{{", "}}", "{", "}", "{%", "%}", "[", "]", ",", "&a", "*a", "!x", "|", ">", "<<", ">>", "<<name>>", "<<text>>", "%", "@", "?",
	"null", "true", "yes", "~", "1e3", "0x10", "012", "2026-12-24", "12:30", `") or true or ("`, "{{ 1 }}", "{{ contact.phone }}", "${HOME}", "vars.text", "---", "...", "\n- id: two", "rules:",
	"\n", "\n\n", "\n  ", "\t", " ", "é", "日本", "🙂", "\u2028", "\u0085", "\ufeff", "\u00a0", "a", "b",
}

func hostileText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteString(hostile[r.IntN(len(hostile))])
	}
	return b.String()
}

// TestValuesAreData: whatever a person types is a text of the rule, and nothing of the rule's own.
func TestValuesAreData(t *testing.T) {
	t.Parallel()
	template := parse(t, everywhere)
	cases := 1000
	if testing.Short() {
		cases = 100
	}
	r := rand.New(rand.NewPCG(1, 2))
	filled := 0
	for range cases {
		values := map[string][]string{"text": {hostileText(r)}, "name": {hostileText(r)}, "list": {hostileText(r), hostileText(r)}}
		text, wrong, err := template.Fill(values)
		if err != nil {
			t.Fatalf("%q: %v", values, err)
		}
		if wrong != nil {
			continue // a name of several lines, or nothing but spaces
		}
		filled++
		checkFilled(t, values, text)
	}
	if filled < cases/5 {
		t.Errorf("only %d of %d were filled in", filled, cases)
	}
}

func checkFilled(t *testing.T, values map[string][]string, text []byte) {
	t.Helper()
	set, problems := rules.Compile([]*rules.File{rules.Parse("filled.yaml", text)}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() || len(set.Rules) != 1 {
		t.Fatalf("%q gives\n%s\n%v", values, text, problems)
	}
	typed, name := strings.TrimSpace(values["text"][0]), strings.TrimSpace(values["name"][0])
	rule := set.Rules[0]
	if rule.Name != name || rule.Description != "About "+name {
		t.Fatalf("%q gives the name %q", name, rule.Name)
	}
	e := rules.NewEvaluation(context.Background(), rule, nil)
	for _, condition := range rule.If {
		if got, err := e.Value(condition); err != nil || got != true {
			t.Fatalf("%q: %s is %v, %v\n%s", values, condition.Text, got, err, text)
		}
	}
	var logged []any
	for step := range rule.Steps() {
		if v := step.Args["text"]; v != nil && step.Verb == "log" {
			out, err := e.Render(v)
			if err != nil {
				t.Fatal(err)
			}
			logged = append(logged, out)
		}
		if v := step.Args["label"]; v != nil {
			if out, err := e.Render(v); err != nil || len(out.([]any)) != 1 || out.([]any)[0] != name {
				t.Fatalf("the label %q is %v, %v", name, out, err)
			}
		}
	}
	want := []any{typed, "{" + typed + typed, typed + "\n" + typed, "same"}
	for i := range want {
		if logged[i] != want[i] {
			t.Fatalf("%q: the step %d says %q, and not %q\n%s", values, i, logged[i], want[i], text)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	template := parse(t, `# Kept at the top of nothing.
template:
  title: { en: Wait, pt: Esperar }

# The questions.
blanks:
  - { name: office, type: calendar, default: office, words: "Which hours?" }
  - { name: patience, type: duration, default: 15m, words: { en: "How long?", pt: "Quanto tempo?" } }
  - { name: times, type: number, default: 3, words: "How often?" }

calendars:
  <<office>>: # ours
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-18:00] }

rules:
  # Waits, then says so.
  - id: waits
    when: message.received
    if: open("<<office>>")
    limit: { times: <<times>>, per: 1d } # often enough
    do:
      - wait: <<patience>> of <<office>>
      - wait: { until: next_open("<<office>>") }
      - log: "Waited {{ '<<patience>>' }}, <<times>> times"
`)
	const want = `calendars:
  loja: # ours
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-18:00] }

rules:
  # Waits, then says so.
  - id: waits
    when: message.received
    if: open("loja")
    limit: { times: 5, per: 1d } # often enough
    do:
      - wait: 1h of loja
      - wait: { until: next_open("loja") }
      - log: "Waited {{ '1h' }}, 5 times"
`
	values := map[string][]string{"office": {"loja"}, "patience": {" 1h "}, "times": {"5"}}
	if got := fill(t, template, values); got != want {
		t.Errorf("got\n%s", got)
	}
	if got, want := fill(t, template, values, "loja", "other"), want[strings.Index(want, "rules:"):]; got != want {
		t.Errorf("a calendar that is known stays:\n%s", got)
	}
	if set, problems := template.Check(rules.Options{Catalog: builtin.Catalog()}); len(problems) > 0 || len(set.Rules) != 1 {
		t.Error(problems)
	}
}

func TestWrongValues(t *testing.T) {
	t.Parallel()
	template := parse(t, `
blanks:
  - { name: a, type: duration, default: 15m, words: { en: "How long?", pt: "Quanto tempo?" } }
  - { name: b, type: number, default: 3, words: { en: "How often?", pt: "Quantas vezes?" } }
  - { name: c, type: time, default: "09:00", words: { en: "When?", pt: "Quando?" } }
  - { name: d, type: phone, default: "+5511999990000", words: { en: "Which phone?", pt: "Qual telefone?" } }
  - { name: e, type: sector, default: Sales, words: { en: "Which sector?", pt: "Qual setor?" } }
  - { name: f, type: calendar, default: office, words: { en: "Which hours?", pt: "Qual horário?" } }
vars: { all: [<<a>>, <<b>>, <<c>>, <<d>>, <<e>>, <<f>>] }
`)
	for _, test := range []struct{ blank, value, english, portuguese string }{
		{"a", "quarter", `How long? "quarter" is not a duration; write it like 90s, 15m, 1h30m, 2d or 1w`, `Quanto tempo? "quarter" não é uma duração; escreva como em 90s, 15m, 1h30m, 2d ou 1w`},
		{"a", "0s", "How long? 0s must be longer than nothing", "Quanto tempo? 0s precisa durar mais do que nada"},
		{"b", "three", `How often? "three" is not a number; write it like 3 or 2.5`, `Quantas vezes? "three" não é um número; escreva como em 3 ou 2.5`},
		{"c", "9h", `When? "9h" is not a time; write it like 09:00`, `Quando? "9h" não é uma hora; escreva como em 09:00`},
		{"d", "99999-0000", `Which phone? "99999-0000" is not a phone; write it like +5511999990000`, `Qual telefone? "99999-0000" não é um telefone; escreva como em +5511999990000`},
		{"e", "  ", "Which sector? a value is needed", "Qual setor? é preciso um valor"},
		{"e", "a\nb", "Which sector? the text must be on one line", "Qual setor? o texto precisa ficar em uma linha"},
		{"e", "a\x00b", "Which sector? the text has a character that cannot be shown", "Qual setor? o texto tem um caractere que não pode ser mostrado"},
		{"f", "às nove", `Which hours? "às nove" is not a calendar's name; use letters, digits, - and _`, `Qual horário? "às nove" não é o nome de um calendário; use letras, dígitos, - e _`},
	} {
		text, wrong, err := template.Fill(map[string][]string{test.blank: {test.value}})
		if text != nil || err != nil || len(wrong) != 1 || wrong[0].Blank.Name != test.blank {
			t.Errorf("%q: %s %v %v", test.value, text, wrong, err)
			continue
		}
		if got := wrong[0].Error(); got != test.english {
			t.Errorf("%q: %s", test.value, got)
		}
		if got := wrong[0].In(phrases.Portuguese); got != test.portuguese {
			t.Errorf("%q: %s", test.value, got)
		}
	}
	if _, wrong, _ := template.Fill(map[string][]string{"e": {"Sales", "Support"}}); len(wrong) != 1 {
		t.Error("a single blank takes two values")
	}
}

// TestProblemsOfTemplates: each mistake has its place and its message.
func TestProblemsOfTemplates(t *testing.T) {
	t.Parallel()
	const rule = "rules:\n  - id: a\n    when: message.received\n    do:\n      - log: "
	for name, test := range map[string]struct{ text, want string }{
		"no template": {rule + "x\n", `template.yaml:1:1: the file is no template: it has no blanks (add blanks: with a list of { name, type, default, words })`},
		"unused":      {"blanks:\n  - { name: a, type: text, default: x, words: What }\n" + rule + "x\n", `template.yaml:2:13: the rules do not use the blank "a" (write <<a>> in the rules, or take the blank out)`},
		"unknown":     {"blanks:\n  - { name: pause, type: text, default: x, words: What }\n" + rule + "<<pause>> <<pase>>\n", `template.yaml:7:24: there is no blank "pase" (did you mean "pause"?)`},
		"type":        {"blanks:\n  - { name: a, type: durations, default: x, words: What }\n", `template.yaml:2:22: type cannot be "durations" (did you mean "duration"?)`},
		"default":     {"blanks:\n  - { name: a, type: number, default: x, words: What }\n", `template.yaml:2:39: the default of the blank "a": "x" is not a number; write it like 3 or 2.5`},
		"no question": {"blanks:\n  - { name: a, type: number, default: 3 }\n", `template.yaml:2:5: a blank needs "words"`},
		"twice":       {"blanks:\n  - { name: a, type: text, default: x, words: What }\n  - { name: a, type: text, default: x, words: What }\n" + rule + "<<a>>\n", `template.yaml:3:13: there are two blanks "a" (choose another name)`},
		"key":         {"template: { groups: sla }\n", `template.yaml:1:13: template has no key "groups" (did you mean "group"?)`},
		"group":       {"template: { group: slas }\n", `template.yaml:1:20: group cannot be "slas" (did you mean "sla"?)`},
		"pattern":     {"blanks:\n  - { name: a, type: text, default: x, words: What }\n" + rule + "'{{ message.text matches \"^<<a>>\" }}'\n", `template.yaml:7:41: a blank cannot be a part of a pattern (use contains, or says(…) for words)`},
		"backticks":   {"blanks:\n  - { name: a, type: text, default: x, words: What }\n" + rule + "'{{ `<<a>>` }}'\n", `template.yaml:7:19: a blank cannot stand between backticks (put the text in double quotes)`},
	} {
		template, problems := blueprint.Parse(builtin.Catalog(), "template.yaml", []byte(test.text))
		if template != nil || problems.Error() != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, problems, test.want)
		}
	}
}

// TestCheckWithDefaults: a template that is wrong with its defaults is wrong, where it stands.
func TestCheckWithDefaults(t *testing.T) {
	t.Parallel()
	template := parse(t, "blanks:\n  - { name: a, type: text, default: nonsense, words: What }\nrules:\n  - id: a\n    when: <<a>>\n    do: [log: x]\n")
	_, problems := template.Check(rules.Options{Catalog: builtin.Catalog()})
	if len(problems) != 1 || problems[0].Line != 5 || problems[0].Severity != source.Error || !strings.Contains(problems[0].Message, "nonsense") {
		t.Errorf("got %v", problems)
	}
}

// TestTemplateNeverRuns: a template among the rules is an error, and none of its rules is there.
func TestTemplateNeverRuns(t *testing.T) {
	t.Parallel()
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules/everywhere.yaml", []byte(everywhere))}, rules.Options{Catalog: builtin.Catalog()})
	if len(set.Rules)+len(set.Broken) != 0 || !problems.HasErrors() || len(problems) != 1 || !strings.Contains(problems[0].Message, "is a template") {
		t.Errorf("%d rules, %v", len(set.Rules), problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everywhere, "x")
	f.Fuzz(func(t *testing.T, text, value string) {
		template, problems := blueprint.Parse(builtin.Catalog(), "t.yaml", []byte(text))
		if template == nil {
			if !problems.HasErrors() {
				t.Fatal("no template and no problem")
			}
			return
		}
		values := map[string][]string{}
		for _, b := range template.Blanks {
			values[b.Name] = []string{value}
		}
		filled, wrong, err := template.Fill(values)
		if err != nil || wrong != nil {
			return
		}
		if rules.Parse("t.yaml", filled).Template {
			t.Fatalf("it is still a template:\n%s", filled)
		}
	})
}

// TestTypes: every type that a template may name is known here.
func TestTypes(t *testing.T) {
	t.Parallel()
	defaults := map[string]string{"number": "3", "duration": "15m", "time": "09:00", "phone": "+5511999990000", "phones": "+5511999990000"}
	for _, name := range rules.BlankTypes {
		value := defaults[name]
		if value == "" {
			value = "office"
		}
		template := parse(t, "blanks:\n  - { name: a, type: "+name+", default: \""+value+"\", words: What }\nvars: { a: \"<<a>>!\" }\n")
		if got := fill(t, template, nil); got != "vars: { a: \""+value+"!\" }\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
