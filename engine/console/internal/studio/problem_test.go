package studio

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

// problemsOf compiles a rule of an office's desk, and says what is wrong with it.
func problemsOf(t *testing.T, language, text string) (form.Form, []Problem) {
	t.Helper()
	office := "calendars:\n  office: { timezone: America/Sao_Paulo, open: { mon-fri: 08:00-18:00 } }\n"
	files := []*rules.File{rules.Parse("office.yaml", []byte(office)), rules.Parse("rules.yaml", []byte(text))}
	_, found := rules.Compile(files, rules.Options{Catalog: catalog, People: []string{"Carla"}})
	m := maker(language, []byte(text))
	var list []Problem
	for _, p := range found {
		list = append(list, NewProblem(m.Language, p))
	}
	f, err := form.Read(catalog, []byte(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	Places([]byte(text), "x", list)
	m.Explain(f, list)
	return f, list
}

// TestProblemsInWords shows that what is wrong is said without code at the card that it is about,
// and that each fix mends it.
func TestProblemsInWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, rule              string
		path, words, portuguese string
		fix                     string // the label of the fix; empty is none
	}{
		{"no limit", "when: message.received\n    do: [{ send_message: Oi }]", "/do/0", "the rule sends to every message, without a limit", "a regra envia a cada mensagem, sem limite", "Fix: at most once in 12 hours"},
		{"a calendar", "when: message.received\n    if: closed(\"ofice\")\n    do: [mark_read]", "/if", "there are no opening hours called “ofice”", "não há horário chamado “ofice”", "Fix: use “office”"},
		{"the only calendar", "when: message.received\n    if: closed(\"plantao\")\n    do: [mark_read]", "/if", "there are no opening hours called “plantao”", "não há horário chamado “plantao”", "Fix: use “office”"},
		{"a calendar of a wait", "when: message.received\n    do: [{ wait: 15m of ofice }]", "/do/0", "there are no opening hours called “ofice”", "não há horário chamado “ofice”", "Fix: use “office”"},
		{"an event", "when: message.recieved\n    do: [mark_read]", "/when", "“message.recieved” is nothing that can happen", "“message.recieved” não é algo que possa acontecer", "Fix: use “a customer writes”"},
		{"a person", "when: message.received\n    do: [{ send_message: { text: Oi, to: { person: Karla } } }]\n    limit: { times: 1, per: 12h }", "/do/0", "it is not set up how Karla is reached", "não está configurado como Karla é encontrado", "Fix: use “Carla”"},
		{"what is missing", "when: message.received\n    do: [{ create_card: { board: Sales } }]", "/do/0", "“Create the card” is not finished: Title is missing", "“Criar o cartão” não está pronto: falta Título", ""},
		{"a fact", "when: attendance.opened\n    if: message.text == \"x\"\n    do: [mark_read]", "/if", "“an attendance is opened” does not bring the message", "“um atendimento é aberto” não traz a mensagem", ""},
		{"messages without collecting", "when: message.received\n    if: len(messages) > 1\n    do: [mark_read]", "/if", "“a customer writes” does not bring the collected messages", "", "Fix: collect messages"},
		{"collecting by the clock", "when: { every: 1h }\n    gather: { quiet: 5s }\n    do: [{ log: x }]", "/gather", "a rule that the clock starts has no messages to collect", "uma regra iniciada pelo relógio não tem mensagens para reunir", "Fix: take it away"},
		{"missed by an event", "when: message.received\n    late: { run: last }\n    do: [mark_read]", "/late", "only a rule that the clock starts can have missed its time", "só uma regra iniciada pelo relógio pode perder a hora", "Fix: take it away"},
		{"an ending", "when: message.received\n    cancel_on: [attendance.closed, attendance.opend]\n    do: [mark_read]", "/cancel_on/1", "“attendance.opend” is nothing that can happen", "", "Fix: use “an attendance is opened”"},
		{"never together", "when: message.received\n    if: [closed(\"office\"), open(\"office\")]\n    do: [mark_read]", "/if", "these are never true together: office is closed and office is open, so the rule never fires", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := "rules:\n  - id: x\n    " + tt.rule + "\n"
			f, list := problemsOf(t, "en", text)
			if len(list) == 0 {
				t.Fatal("there is no problem")
			}
			p := list[0]
			if diff := cmp.Diff([]string{tt.path, tt.words}, []string{p.Path, p.Words()}); diff != "" {
				t.Error(diff)
			}
			if strings.ContainsAny(p.Words()+p.PlainHint(), "{}()`=_") {
				t.Errorf("it is said with code: %s (%s)", p.Words(), p.PlainHint())
			}
			if _, list := problemsOf(t, "pt", text); tt.portuguese != "" && list[0].Words() != tt.portuguese {
				t.Errorf("in Portuguese: %s", list[0].Words())
			}
			if tt.fix == "" {
				if len(p.Fixes) > 0 {
					t.Errorf("it has a fix: %+v", p.Fixes)
				}
				return
			}
			if len(p.Fixes) != 1 || p.Fixes[0].Label != tt.fix {
				t.Fatalf("fixes: %+v", p.Fixes)
			}
			var edits []Edit
			if err := json.Unmarshal([]byte(p.Fixes[0].Edits), &edits); err != nil {
				t.Fatal(err)
			}
			for _, e := range edits {
				var err error
				if f, err = Apply(f, e); err != nil {
					t.Fatalf("%+v: %v", e, err)
				}
			}
			mended, err := form.Write(catalog, []byte(text), "x", f)
			if err != nil {
				t.Fatal(err)
			}
			if _, left := problemsOf(t, "en", string(mended)); len(left) != len(list)-1 {
				t.Errorf("it is not mended: %+v\n%s", left, mended)
			}
		})
	}
}
