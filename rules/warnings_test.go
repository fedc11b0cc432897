package rules_test

import "testing"

// TestNoWarning checks that there are no warnings for rules that send often but reach no one, and
// that get the events they wait for.
func TestNoWarning(t *testing.T) {
	for name, text := range map[string]string{
		"a label keeps it from writing again": `
  when: { every: 5m, each: attendances, where: { status: open } }
  if: not has_label("told")
  do: [{ send_message: Sorry for the delay }, { add_labels: [told] }]`,
		"a limit": `
  when: { every: 5m, each: attendances }
  limit: { times: 1, per: 1d }
  do: [{ send_message: Sorry for the delay }]`,
		"a run that waits keeps others from beginning": `
  when: { every: 5m, each: attendances }
  mode: single
  do: [{ send_message: Sorry for the delay }, { wait: 1d }]`,
		"a day of silence": `
  when: message.sent
  mode: restart
  cancel_on: [message.received]
  do: [{ wait: 1d }, { send_message: Can we still help }]`,
		"once a day": `
  when: { at: "09:00", each: cards }
  if: conversation != nil
  do: [{ send_message: Good morning }]`,
		"a card's conversation that is known by its label": `
  when: kanban.card.moved
  if: has_label("vip")
  do: [mark_read]`,
		"a card's conversation that a step before asks for": `
  when: kanban.card.moved
  do: [{ stop_if: card.conversation_id == nil }, { close_attendance: Won }]`,
		"a card's other conversation": `
  when: kanban.card.moved
  do:
    - add_labels: { labels: [won], conversation: { contact: "{{ card.contact_id }}", channel: Main } }
    - read_conversation: { conversation: { contact: "{{ card.contact_id }}", channel: Main } }
    - mark_read`,
		"to somebody of the team": `
  when: conversation.updated
  do: [{ send_message: { text: It changed, to: { phone: "+5511999990000", channel: Main } } }]`,
		"what it says": `
  when: message.sent
  if: says("obrigado")
  do: [{ send_message: You are welcome }]`,
		"a schedule over conversations hears": `
  when: { at: "09:00", each: attendances }
  cancel_on: [message.received]
  if: count_events("message.received", "1d") > 0
  do: [{ wait_for: { event: message.sent, timeout: 1h } }]`,
		"another key where there is none": `
  when: message.received
  by: contact.company ?? contact.phone
  do: [{ log: x }]`,
		"a number is exact": "\n  when: message.received\n  if: message.text in [\"1\", \"2\"] or message.text == \"3\"\n  do: [{ mark_read: {} }]",
		"twice a day":       "\n  when: { every: 12h }\n  do: [{ log: x }]",
		"names in a list":   "\n  when: message.received\n  do: [{ add_labels: [\"vip, hot\", a] }]",
		"a name from words": "\n  when: message.received\n  do: [{ add_labels: \"{{ contact.city }}, {{ contact.name }}\" }]",
	} {
		if _, problems := compile("rules.yaml", "rules:\n- id: r"+text+"\n"); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
