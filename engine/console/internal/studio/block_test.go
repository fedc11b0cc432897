package studio

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/source"
)

const desk = "calendars:\n  office: { timezone: America/Sao_Paulo, open: { mon-fri: [08:00-18:00] } }\n"

const emptyRule = desk + "rules:\n  - id: x\n    when: message.received\n    do: []\n"

// headings returns the names of the blocks that a rule is shown with, and the paths of their steps.
func headings(t *testing.T, language, text, id string) (list []string) {
	t.Helper()
	f, err := form.Read(catalog, []byte(text), id)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(Steps)
	walk = func(s Steps) {
		for _, c := range s.Cards {
			if c.Block != "" {
				list = append(list, c.Block+":")
			}
			if c.InBlock {
				list[len(list)-1] += " " + c.Path
			}
			for _, b := range c.Branches {
				walk(b.Do)
			}
			if c.Loop != nil {
				walk(*c.Loop)
			}
		}
	}
	walk(maker(language, []byte(text)).View(f, nil).Do)
	return list
}

// TestBlocks shows what each building block puts into a rule, that nothing is wrong with it, and
// that it is shown as that block again.
func TestBlocks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, want, heading string }{
		{"ask", `{"block":"ask","answer":"answer","question":"What is it about?","choices":[{"text":"Buy","leads":"sector:Sales"},{"text":"Help","leads":"person:Carla"},{"text":""}],"timeout":"1h","then":"label:no-answer"}`, `    limit: { times: 1, per: 12h }
    do:
      - send_message: |-
          What is it about?
          1 - Buy
          2 - Help
      - wait_for:
          event: message.received
          if: trim(message.text ?? "") in ["1", "2"]
          timeout: 1h
        id: answer
      - choose:
          - if: trim(answer?.message?.text ?? "") == "1"
            do:
              - transfer: Sales
          - if: trim(answer?.message?.text ?? "") == "2"
            do:
              - transfer: { person: Carla }
          - else:
              - add_labels: [no-answer]
`, "Ask and wait for an answer: /do/0 /do/1 /do/2"},
		{"ask without choices", `{"block":"ask","answer":"resposta","question":"Your order number?","choices":[],"timeout":"15m of office","then":"close"}`, `    limit: { times: 1, per: 12h }
    do:
      - send_message: Your order number?
      - wait_for: { event: message.received, timeout: 15m of office }
        id: resposta
      - choose:
          - if: resposta == nil
            do:
              - close_attendance
`, "Ask and wait for an answer: /do/0 /do/1 /do/2"},
		{"escalate", `{"block":"escalate","levels":[{"after":"15m of office","leads":"sector:Supervisors"},{"after":"30m","leads":"person:Carla"}]}`, `    if:
      - attendance.status == "open"
      - attendance.first_response == nil
    mode: single
    limit: { times: 1, per: 4h }
    cancel_on:
      - attendance.closed
      - { event: message.sent, if: message.by == "team" }
    do:
      - wait: 15m of office
      - stop_if: attendance.status != "open" or attendance.first_response != nil
      - transfer: Supervisors
      - wait: 30m
      - stop_if: attendance.status != "open" or attendance.first_response != nil
      - transfer: { person: Carla }
`, "Escalate when nobody answers: /do/0 /do/1 /do/2 /do/3 /do/4 /do/5"},
		{"away", `{"block":"away","text":"We are away.","calendar":"office","per":"8h"}`, `    if:
      - closed("office")
      - conversation.kind == "direct"
    limit: { times: 1, per: 8h }
    do:
      - send_message: We are away.
`, "Answer once while closed: /do/0"},
		{"remind", `{"block":"remind","text":"Still there?","after":"1d","times":"2","until":"attendance.closed"}`, `    cancel_on: [attendance.closed]
    do:
      - wait: 1d
      - send_message: Still there?
      - wait: 1d
      - send_message: Still there?
`, "Remind until …: /do/0 /do/1 /do/2 /do/3"},
		{"part", `{"block":"part","share":"10"}`, "    sample: 10%\n    when: message.received\n    do: []\n", ""},
		{"daily", `{"block":"daily","at":"09:00"}`, "    when: { at: \"09:00\" }\n    do: []\n", ""},
	} {
		got, err := edit(t, emptyRule, `{"op":"block","path":"/do/0","value":`+test.value+`}`)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		_, rule, _ := strings.Cut(got, "- id: x\n")
		if test.heading != "" {
			rule = strings.TrimPrefix(rule, "    when: message.received\n")
		}
		if diff := cmp.Diff(test.want, rule); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if strings.HasSuffix(rule, "do: []\n") {
			continue
		}
		_, problems := rules.Compile([]*rules.File{rules.Parse("x.yaml", []byte(got))}, rules.Options{Catalog: catalog})
		if problems.HasErrors() {
			t.Errorf("%s: %v", test.name, problems)
		}
		if shown := strings.Join(headings(t, "en", got, "x"), " | "); shown != test.heading {
			t.Errorf("%s is shown as %q, not as %q", test.name, shown, test.heading)
		}
	}
}

// TestBlocksKeepWhatIsThere shows that a block goes between other steps, that its result gets a
// name of its own, and that it leaves the keys of the rule as they are where they say something
// already.
func TestBlocksKeepWhatIsThere(t *testing.T) {
	t.Parallel()
	text := "rules:\n  - id: x # ours\n    when: attendance.opened\n    limit: { times: 3, per: 1d }\n    do:\n      - { wait_for: { event: message.received, timeout: 1h }, id: answer } # first\n      - log: last\n"
	got, err := edit(t, text, `{"op":"block","path":"/do/1","value":{"block":"ask","answer":"answer","question":"And?","timeout":"5m"}}`)
	want := strings.Replace(text, "      - log: last\n", "      - send_message: And?\n      - wait_for: { event: message.received, timeout: 5m }\n        id: answer_2\n      - log: last\n", 1)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, wrong := range []string{`{"block":"nothing"}`, `"ask"`, `{}`} {
		if _, err := edit(t, text, `{"op":"block","path":"/do/1","value":`+wrong+`}`); err == nil {
			t.Errorf("%s is put in", wrong)
		}
	}
}

// TestBlocksOfExamples shows which building blocks the examples are seen to have, and that the same
// text comes of what was shown.
func TestBlocksOfExamples(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"examples/away-reply/rules.yaml away-reply":         "Answer once while closed: /do/0",
		"examples/menu/rules.yaml menu":                     "Ask and wait for an answer: /do/2 /do/3 /do/4 /do/5 /do/6",
		"examples/satisfaction/rules.yaml satisfaction":     "Ask and wait for an answer: /do/2 /do/3 /do/4 /do/5 /do/6",
		"examples/sla-escalation/rules.yaml sla-escalation": "Escalate when nobody answers: /do/0 /do/1 /do/2 /do/3 /do/4 /do/5 /do/6 /do/7",
	}
	got := map[string]string{}
	for name, text := range written(t) {
		file, _ := source.Read("rules", text)
		if file == nil || file.Root == nil || file.Root.Get("rules") == nil || !strings.HasPrefix(name, "examples/") {
			continue
		}
		for _, item := range file.Root.Get("rules").Items {
			id := item.Get("id").Value
			if shown := headings(t, "en", string(text), id); len(shown) > 0 {
				got[name+" "+id] = strings.Join(shown, " | ")
			}
			f, err := form.Read(catalog, text, id)
			if err != nil {
				t.Fatal(err)
			}
			again, err := form.Write(catalog, text, id, maker("en", text).NameUsed(f))
			if err != nil || !slices.Equal(again, text) {
				t.Errorf("%s: looking at %s changes it: %v", name, id, err)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNamesAreMadeUp shows that the result of a step without a name can be chosen, and that the
// step gets the name with the choice, in the language of the person and only then.
func TestNamesAreMadeUp(t *testing.T) {
	t.Parallel()
	text := "rules:\n  - id: x\n    when: message.received\n    do:\n      - wait_for: { event: message.received, timeout: 1h }\n      - wait_for: { event: message.received, timeout: 2h }\n      - { send_message: the answer, if: message.text == 'an answer_2 or resposta_2' }\n"
	for language, name := range map[string]string{"en": "answer_2", "pt": "resposta_2"} {
		m := maker(language, []byte(text))
		f, err := form.Read(catalog, []byte(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := m.NameUsed(f); !cmp.Equal(got, f) {
			t.Errorf("a name is given to what nobody uses: %v", cmp.Diff(f, got))
		}
		found := slices.IndexFunc(m.Choices(f, "/do/2/args/text", nil).Values, func(v Value) bool { return strings.HasPrefix(v.Term.Text, name+".") })
		if found < 0 {
			t.Fatalf("the second answer cannot be chosen in %s", language)
		}
		value, err := json.Marshal("You said {{ " + name + ".message.text }}")
		if err != nil {
			t.Fatal(err)
		}
		if f, err = Apply(f, Edit{Op: Set, Path: "/do/2/args/text/text", Value: json.RawMessage(value)}); err != nil {
			t.Fatal(err)
		}
		f = m.NameUsed(f)
		if f.Do[0].ID != "" || f.Do[1].ID != name {
			t.Errorf("the steps are called %q and %q", f.Do[0].ID, f.Do[1].ID)
		}
	}
}
