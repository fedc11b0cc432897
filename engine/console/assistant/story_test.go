package assistant

import (
	"strings"
	"testing"

	"github.com/quandohq/quando/rules"
)

// awayRule is what an assistant writes for "answer customers once outside office hours, but not if
// somebody of the team wrote in the last 15 minutes".
const awayRule = `rules:
  - id: away
    name: Answer once outside office hours
    when: message.received
    if:
      - closed("office")
      - conversation.kind == "direct"
      - not human_active("15m")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Olá! Voltamos {{ next_open('office').Format('02/01 às 15:04') }}."
tests:
  - name: one answer in the evening
    start: 2026-11-13T19:00:00-03:00
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }]
    steps:
      - { customer: Marina, says: Oi }
      - { at: +10m, expect: [send_message] }
      - { customer: Marina, says: "Alguém aí?" }
      - { at: +10m, expect: [] }
  - name: quiet while the team is there
    start: 2026-11-13T18:05:00-03:00
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }]
    steps:
      - { team: Bruno, to: Marina, says: "Já vejo." }
      - { at: +2m, customer: Marina, says: Obrigada }
      - { at: +5m, expect: [] }
`

// TestFromASentence shows that an assistant gets from a sentence to a proposal with tools only: it
// reads, checks, tests with faults, tries, looks at the past, and proposes a draft that does
// nothing until a person makes it live.
func TestFromASentence(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs tests and a backtest")
	}
	d := newDesk(t)
	d.writes("11111111-1111-7111-8111-111111111111", "Ainda abertos?")
	s := d.connect(editor)

	sections := ask[struct{ Sections []string }](t, s, "language", args{})
	if len(sections.Sections) < 5 {
		t.Fatal(sections)
	}
	found := false
	for _, title := range sections.Sections {
		for cursor, more := "", true; more; more = cursor != "" {
			page := ask[struct{ Text, Next string }](t, s, "language", args{"section": title, "cursor": cursor})
			found, cursor = found || strings.Contains(page.Text, "human_active(duration)"), page.Next
		}
	}
	if !found {
		t.Error("the reference does not tell how to ask whether the team is there")
	}
	names := ask[struct{ Names []struct{ Kind, Name string } }](t, s, "names", args{"kind": "calendar"})
	if len(names.Names) != 1 || names.Names[0].Name != "office" {
		t.Fatal(names)
	}

	wrong := strings.Replace(awayRule, `closed("office")`, `closed("ofice")`, 1)
	checked := ask[struct {
		OK       bool
		Problems []problemLine
	}](t, s, "check", args{"text": wrong})
	if checked.OK || len(checked.Problems) == 0 || checked.Problems[0].Line != 6 || !strings.Contains(checked.Problems[0].Message+checked.Problems[0].Hint, "office") {
		t.Errorf("the misspelt calendar is not found: %+v", checked)
	}
	tested := ask[struct{ Passed, Failed, Unrun int }](t, s, "test", args{"rule": "away", "text": awayRule, "faults": true})
	if tested.Passed != 2 || tested.Failed+tested.Unrun != 0 {
		t.Errorf("%+v", tested)
	}
	tried := ask[struct {
		Effects  []struct{ Does, Quote string }
		Verdicts []struct{ Outcome, Clause string }
	}](t, s, "try", args{"rule": "away", "text": awayRule, "story": args{"until": "2026-11-13T20:00", "entries": []args{
		{"do": "customer", "at": "2026-11-13T19:00", "text": "Oi"}, {"do": "customer", "at": "2026-11-13T19:01", "text": "Alô?"},
	}}})
	if len(tried.Effects) != 1 || !strings.HasPrefix(tried.Effects[0].Quote, "Olá! Voltamos 16/11") {
		t.Errorf("%+v", tried)
	}
	past := ask[struct{ Events int }](t, s, "backtest", args{"rule": "away", "text": awayRule})
	if past.Events != 1 {
		t.Errorf("%+v", past)
	}
	ask[struct{}](t, s, "diff", args{"rule": "away", "text": awayRule})

	out := ask[proposeOut](t, s, "propose", args{"rule": "away", "text": awayRule, "why": "answer customers once outside office hours"})
	if out.Saved != "draft" || out.File != "away.yaml" || out.Was == "" {
		t.Fatalf("%+v", out)
	}
	if r := d.set().Rule("away"); r == nil || r.Stage != rules.Draft {
		t.Errorf("the proposal is no draft: %s", d.read("away.yaml"))
	}
	w := d.server.options.Workspaces[0]
	p, err := w.Editing.Store.Proposed("away.yaml")
	if err != nil || p == nil || p.Who != "assistant claude" || p.Why != "answer customers once outside office hours" || !p.Saved || p.Was != out.Was {
		t.Errorf("%+v %v", p, err)
	}
	versions, err := w.Editing.Store.Versions("away.yaml", 0, 5)
	if err != nil || len(versions) != 1 || versions[0].Who != "assistant claude" {
		t.Errorf("%+v %v", versions, err)
	}
	for _, line := range []string{"assistant claude assistant.check", "assistant claude assistant.propose away", "assistant claude save.draft default/away.yaml"} {
		if !strings.Contains(d.audits(), line) {
			t.Errorf("%q is not in the audit:\n%s", line, d.audits())
		}
	}

	if text, refused := call(t, s, "propose", args{"rule": "away", "text": awayRule + "# again\n", "why": "again", "was": "0123"}); !refused || !strings.Contains(text, "has changed") {
		t.Errorf("a change of others is overwritten: %s", text)
	}
	if again := ask[proposeOut](t, s, "propose", args{"rule": "away", "text": awayRule + "# again\n", "why": "again", "was": out.Was}); again.Saved != "draft" || again.Was == out.Was {
		t.Errorf("%+v", again)
	}
}

// TestResourcesAndPrompts shows what an assistant can read and begin with.
func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.connect(Caller{Name: "reader", Role: editor.Role})
	list, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	uris := map[string]bool{}
	for _, r := range list.Resources {
		uris[r.URI] = true
	}
	for _, uri := range []string{"quando://language", "quando://testing", "quando://examples/away-reply", "quando://rules/default/greet"} {
		if !uris[uri] {
			t.Errorf("%s is not listed in %v", uri, uris)
			continue
		}
		read, err := s.ReadResource(t.Context(), readParams(uri))
		if err != nil || len(read.Contents) != 1 || len(read.Contents[0].Text) < 100 {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := s.ReadResource(t.Context(), readParams("quando://rules/default/none")); err == nil {
		t.Error("a rule is read that does not exist")
	}
	prompts, err := s.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 3 {
		t.Fatal(prompts, err)
	}
	text, err := s.GetPrompt(t.Context(), promptParams("write a rule", "story", "answer at night"))
	if err != nil || !strings.Contains(promptOf(text), "answer at night") || !strings.Contains(promptOf(text), "propose") {
		t.Error(text, err)
	}
}
