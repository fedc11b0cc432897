package ruletest

import (
	"strings"
	"testing"
)

// inShadow has a rule in shadow beside a live one.
const inShadow = `
rules:
  - id: greet
    stage: shadow
    when: message.received
    do:
      - send_message: "Hello {{ contact.name }}"
      - add_labels: [greeted]
      - wait: 10m
      - transfer: { sector: Supervisors, reason: nobody came }
      - send_message: { to: { phone: "+5511900000000", channel: Main }, text: "{{ contact.name }} waits" }
      - send_message: { to: { phone: "+5511911111111", channel: Main }, text: to somebody new }
      - http_request: { url: "https://erp.example.com/seen", query: { who: "{{ contact.name }}" }, json: { text: "{{ message.text }}" } }
  - id: card
    stage: shadow
    when: kanban.card.moved
    if: card.stage_name == "Proposal"
    do:
      - move_card: { to: Won, only_from: [Proposal] }
      - update_card: { priority: high }
      - create_card: { board: Sales, title: Another }
  - id: mark
    when: message.received
    do: [mark_read]
tests:
  - name: it
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Duty, phone: "+5511900000000" }]
      conversations: [{ contact: Duty }]
      cards: [{ board: Sales, title: Offer, contact: Marina }]
    steps:
`

// TestWould runs stories that expect what rules in shadow would have done.
func TestWould(t *testing.T) {
	t.Parallel()
	greets := "{ send_message: Hello Marina }, { add_labels: [greeted] }"
	r := tell(t, inShadow+`
      - { customer: Marina, says: Hi }
      - { at: +6m, expect: [mark_read], expect_would: [{ send_message: { text: { contains: Marina }, to: { contact: Marina } } }, { add_labels: [Greeted] }] }
      - { at: +1m, expect_would: [], expect: [] }
      - at: +20m
        expect: []
        expect_would:
          - transfer: { sector: supervisors, reason: nobody came }
          - send_message: { to: { phone: "+55 11 90000-0000" }, text: Marina waits }
          - send_message: { to: { phone: "+5511911111111", channel: Main } }
          - http_request: { method: POST, url: "https://erp.example.com/seen", query: { who: Marina }, json: { text: Hi } }
      - { team: Bruno, moves: Offer, to: Proposal }
      - { at: +10m, expect_would: [{ move_card: { to: Won, board: Sales, card: Offer, only_from: Proposal } }, { update_card: { card: Offer, priority: high } }, { create_card: { stage: Lead } }] }
      - { customer: Duty, says: Hi }
      - { at: +30m, expect_would: [{ send_message: { to: { contact: Duty }, text: Hello Duty } }, add_labels, transfer, send_message, send_message, http_request] }
    faults: { deliver: [twice, late], crash: every_step, service: [503_before] }
`)
	r.passes(t)

	for name, tt := range map[string]struct{ step, words string }{
		"missing":   {"{ customer: Marina, says: Hi, expect_would: [" + greets + ", { close_attendance: {} }] }", "no rule in shadow would have done close_attendance"},
		"extra":     {"{ customer: Marina, says: Hi, expect_would: [{ send_message: Hello Marina }] }", "a rule in shadow would have done add_labels: {labels: [\"greeted\"]} (Marina), which was not expected"},
		"different": {"{ customer: Marina, says: Hi, expect_would: [{ send_message: Bye }] }", "number 1 of what rules in shadow would have done is not as expected: text is \"Hello Marina\", not \"Bye\""},
		"order":     {"{ customer: Marina, says: Hi, expect_would: [{ add_labels: [greeted] }, { send_message: Hello Marina }] }", "came only as number 2 of what rules in shadow would have done"},
		"somebody else": {
			"{ customer: Marina, says: Hi, expect_would: [{ send_message: { to: { contact: Duty } } }, add_labels] }", "it went to",
		},
		"really": {"{ customer: Marina, says: Hi, expect: [mark_read, { send_message: Hello Marina }] }", "send_message: {text: \"Hello Marina\"} did not happen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tell(t, inShadow+"      - "+tt.step+"\n")
			r.fails(t, tt.words)
		})
	}
}

// TestWouldOfSample runs a story in which a live rule leaves most customers out.
func TestWouldOfSample(t *testing.T) {
	t.Parallel()
	r := tell(t, strings.NewReplacer("stage: shadow", "sample: 0.01%").Replace(inShadow)+`
      - { customer: Marina, says: Hi, expect: [mark_read], expect_would: [{ send_message: Hello Marina }, add_labels] }
`)
	r.passes(t)
}
