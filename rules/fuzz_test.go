package rules_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/costtest"
)

// seeds are the broken files and the documentation's examples: every construct of the language,
// whole and damaged.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

// FuzzRules compiles anything and evaluates what compiles, within bounds.
func FuzzRules(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		costtest.Within(t, "compiling and deciding", upTo(maxMemory), func() {
			set, problems := compile("r.yaml", string(text))
			for _, p := range problems {
				if p.Line < 1 || p.Column < 1 || p.Message == "" || p.File != "r.yaml" {
					t.Errorf("%#v", p)
				}
			}
			for _, r := range set.Rules {
				r.Decide(context.Background(), newWorld())
				again, problems := compile("r.yaml", r.Source())
				if problems.HasErrors() || again.Rules[0].Version != r.Version {
					t.Errorf("%v: the rule's source is not the rule:\n%s", problems, r.Source())
				}
			}
		})
	})
}

// FuzzFormat formats anything: the result must have the same rules with the same versions.
func FuzzFormat(f *testing.F) {
	if testing.Short() {
		f.Skip("takes long, in one goroutine")
	}
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		formatted, problems := rules.Format("r.yaml", text)
		if len(problems) > 0 {
			return
		}
		before, problemsBefore := compile("r.yaml", string(text))
		after, problemsAfter := compile("r.yaml", string(formatted))
		if len(problemsBefore) != len(problemsAfter) || len(before.Rules) != len(after.Rules) || len(before.Tests) != len(after.Tests) {
			t.Fatalf("formatting changed the rule set:\n%s\n%s\n%v\n%v", text, formatted, problemsBefore, problemsAfter)
		}
		for i, r := range before.Rules {
			if r.Version != after.Rules[i].Version {
				t.Fatalf("formatting changed the rule %s:\n%s\n%s", r.ID, r.Source(), after.Rules[i].Source())
			}
		}
		again, problems := rules.Format("r.yaml", formatted)
		if len(problems) > 0 || string(again) != string(formatted) {
			t.Fatalf("formatting twice is not formatting once: %v\n%s\n%s", problems, formatted, again)
		}
	})
}

// FuzzTemplate interpolates anything with anything a customer could write: what the customer wrote
// is only ever data.
func FuzzTemplate(f *testing.F) {
	f.Add("Hello {{ contact.name }}!", "Ana")
	f.Add("{{ contact.name + contact.name }}", "{{ contact.phone }}")
	f.Add("{{ {\"a\": \"}}\"} }} {{", "}}")
	f.Add("{{ upper(contact.name) }} {{ says(\"x\") }}", "\x00\xff{{")
	f.Add("{{ `a` }}{{ 'b' }}{{ \"c\\\"}}\" }}", "'")
	f.Fuzz(func(t *testing.T, text, name string) {
		set, problems := compile("r.yaml", office+"rules:\n  - {id: r, when: message.received, do: [{send_message: "+quoteYAML(text)+"}]}\n")
		if problems.HasErrors() || len(set.Rules) == 0 {
			return
		}
		r := set.Rules[0]
		w := newWorld()
		w.facts["contact"] = map[string]any{"name": name, "phone": "secret"}
		costtest.Within(t, "rendering", upTo(maxMemory), func() {
			got, err := rules.NewEvaluation(context.Background(), r, w).Render(r.Do[0].Args["text"])
			if err == nil && text == "{{ contact.name }}" && got != name {
				t.Errorf("%q became %q", name, got)
			}
		})
	})
}
