package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeeds(t *testing.T) {
	set := mustCompile(t, `rules:
  - { id: a, when: message.received, if: 'count_events("message.sent", "10m") < 3', do: [mark_read] }
  - { id: b, when: attendance.opened, cancel_on: [attendance.closed], do: [{ wait_for: { event: conversation.updated, timeout: 1h } }] }
  - { id: c, when: { every: 5m }, do: [{ log: hello }] }
  - { id: d, stage: draft, when: kanban.card.created, do: [{ log: hello }] }
`)
	want := []string{"attendance.closed", "attendance.opened", "conversation.updated", "message.received", "message.sent"}
	if diff := cmp.Diff(want, set.Needs()); diff != "" {
		t.Error(diff)
	}
	cards := mustCompile(t, `rules: [{ id: a, when: kanban.card.*, do: [{ log: hello }] }]`)
	if diff := cmp.Diff([]string{"kanban.card.completed", "kanban.card.created", "kanban.card.moved"}, cards.Needs()); diff != "" {
		t.Error(diff)
	}
}
