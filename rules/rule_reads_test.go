package rules_test

import (
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

func TestReadsAfter(t *testing.T) {
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(`
rules:
  - id: it
    when: message.received
    if: contact.name != "sent"
    do:
      - send_message: "hi {{ contact.name }}"
        id: sent
      - choose:
          - if: contact.city == "Recife"
            do: [{ log: "the id is {{ sent.id }}" }]
      - for_each: { in: conversation.label_ids, as: label, do: [{ set: { seen: "{{ label }}" } }, { send_message: "sent", id: inner }, { http_request: { method: POST, url: "https://example.com/", json: { a: [{ b: "x{{ steps.inner.id }}" }] } } }] }
`))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	rule := set.Rule("it")
	step := map[string]*rules.Step{}
	for s := range rule.Steps() {
		step[s.Path] = s
	}
	for _, c := range []struct {
		path, name string
		want       bool
	}{
		{"1", "sent", true}, {"3", "sent", false}, {"1", "inner", true}, {"3[].3", "inner", true}, {"3", "steps", true}, {"1", "contact", true}, {"3", "contact", false},
		{"3[].2", "label", true}, {"3[].2", "inner", true}, {"3[].2", "sent", false},
	} {
		if step[c.path] == nil {
			t.Fatalf("no step %s", c.path)
		}
		if got := rule.ReadsAfter(step[c.path], c.name); got != c.want {
			t.Errorf("after %s, %s: %v", c.path, c.name, got)
		}
	}
}

func TestOnlyReads(t *testing.T) {
	want := map[string]bool{
		"find_card": true, "read_attendance": true, "read_conversation": true, "read_contact": true, "read_messages": true, "read_assignments": true, "read_report": true,
		"list_attendances": true, "list_conversations": true, "list_contacts": true, "list_cards": true,
	}
	for _, s := range builtin.Schemas() {
		if s.OnlyReads() != want[s.Verb] {
			t.Errorf("%s: %v (%v)", s.Verb, s.OnlyReads(), s.Scopes)
		}
	}
}
