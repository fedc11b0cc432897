package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// TestListens shows that a rule hears of exactly what it needs, wherever in it the need stands.
func TestListens(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		want       []string
	}{
		{"what starts it", "when: [message.sent, message.received], do: [mark_read]", []string{"message.received", "message.sent"}},
		{"a pattern", "when: 'kanban.card.*', do: [{log: x}]", []string{"kanban.card.created", "kanban.card.moved", "kanban.card.completed"}},
		{"a schedule needs nothing", "when: {every: 5m}, do: [{log: x}]", nil},
		{"a person needs nothing", "when: manual, do: [{log: x}]", nil},
		{"what ends it", "when: manual, cancel_on: [attendance.closed, {event: message.sent, if: 'message.by == \"team\"'}], do: [{log: x}]", []string{"message.sent", "attendance.closed"}},
		{"what it waits for, deep inside", "when: manual, do: [{choose: [{if: 'true', do: [{for_each: {in: '[1]', do: [{wait_for: {event: conversation.updated, timeout: 1h}}]}}]}]}]", []string{"conversation.updated"}},
		{"what it waits for after an error", "when: manual, do: [{log: x}], on_error: [{wait_for: {event: message.received, timeout: 1h}}]", []string{"message.received"}},
		{"what it counts", "when: attendance.opened, if: 'count_events(\"message.received\", \"1h\") > 2', do: [{log: x}]", []string{"message.received", "attendance.opened"}},
		{"what it counts in a text", "when: manual, do: [{log: '{{ count_events(\"message.sent\", \"1h\") }}'}]", []string{"message.sent"}},
		{"what nobody knows that it counts", "when: attendance.opened, if: 'count_events(event.type, \"1h\") > 2', do: [{log: x}]", vocabulary.EventTypes()},
		{"a shadow rule", "when: message.sent, stage: shadow, do: [{log: x}]", []string{"message.sent"}},
		{"a draft", "when: message.sent, stage: draft, do: [{log: x}]", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, problems := rules.Compile([]*rules.File{rules.Parse("a.yaml", []byte("rules: [{id: a, "+tt.rule+"}]"))}, rules.Options{Catalog: builtin.Catalog()})
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(tt.want, set.Listens()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAwaits shows that what starts a rule is nothing that its runs wait for.
func TestAwaits(t *testing.T) {
	text := "rules: [{id: a, stage: draft, when: attendance.opened, cancel_on: attendance.closed, if: 'count_events(\"message.sent\", \"1h\") == 0', do: [{wait_for: {event: message.received, timeout: 1h}}]}]"
	set, problems := rules.Compile([]*rules.File{rules.Parse("a.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"message.received", "message.sent", "attendance.closed"}, set.Rules[0].Awaits()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
