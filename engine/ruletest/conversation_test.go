package ruletest

import (
	"strings"
	"testing"
)

// TestAnotherConversation shows that verbs work on another conversation than the one at hand, also
// under every fault, and that what they cause there starts no rule.
func TestAnotherConversation(t *testing.T) {
	r := tell(t, `
rules:
  - id: escalate
    when: message.received
    if: contact.name == "Ana"
    do:
      - add_labels: { labels: [vip], conversation: { phone: "+5511977770000", channel: Main } }
      - transfer: { sector: Sales, conversation: { phone: "+5511977770000", channel: Main } }
      - close_attendance: { reason: Ana wrote, conversation: { phone: "+5511977770000", channel: Main } }
      - read_messages: { limit: 1, conversation: { phone: "+5511977770000", channel: Main } }
        id: written
      - send_message: "{{ written[0].text }}"
  - id: echo # hears what the steps of escalate cause, and is never started by it
    when: [conversation.updated, attendance.closed]
    if: contact.name == "Carla"
    do: [{ send_message: "changed" }]
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given:
      channels: [Main]
      sectors: [Sales]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Carla, phone: "+5511977770000" }]
    steps:
      - { customer: Carla, says: from Carla }
      - { at: +5m, expect: [{ send_message: changed }] }
      - { customer: Ana, says: hello }
      - at: +15m
        expect:
          - { add_labels: { labels: [vip], conversation: Carla } }
          - { transfer: { sector: Sales, conversation: { phone: "+5511977770000" } } }
          - { close_attendance: { conversation: Carla } }
          - { send_message: { text: changed, to: Ana } }
    faults: all
`)
	r.passes(t)
}

// TestExpectedConversation shows that a test fails that expects a change in another conversation
// than the one that was changed.
func TestExpectedConversation(t *testing.T) {
	const text = `
rules:
  - id: label
    when: message.received
    do: [EFFECT]
tests:
  - name: it
    given: { channels: [Main], contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Carla, phone: "+5511977770000" }] }
    steps:
      - { customer: Ana, says: hello }
      - { at: +5m, expect: [EXPECTED] }
`
	for effect, expected := range map[string]string{
		"{ add_labels: [vip] }":      "{ add_labels: { labels: [vip], conversation: Carla } }",
		"mark_read":                  "{ mark_read: { conversation: Carla } }",
		"{ send_message: Hi }":       "{ send_message: { text: Hi, to: { person: Carla } } }",
		"{ close_attendance: Done }": "{ close_attendance: { conversation: { phone: \"+5511977770000\" } } }",
	} {
		r := tell(t, strings.NewReplacer("EFFECT", effect, "EXPECTED", expected).Replace(text))
		if r.OK {
			t.Errorf("%s passes as %s", effect, expected)
		}
	}
}

// TestConversationTakenUp shows that after read_conversation everything is about that conversation,
// but for the event and its message, also behind a wait.
func TestConversationTakenUp(t *testing.T) {
	r := tell(t, `
rules:
  - id: compare
    when: message.received
    if: contact.name == "Ana"
    do:
      - read_conversation: { conversation: { phone: "+5511977770000", channel: Main } }
      - send_message: "{{ contact.name }}, {{ attendance.status }}, {{ message.text }}, {{ event.message.text }}"
      - add_labels: [vip]
      - send_message: "{{ has_label('vip') }} {{ conversation.id == message.conversation_id }}"
      - wait: 10m
      - close_attendance
      - read_conversation: { conversation: "{{ event.message.conversation_id }}" }
      - send_message: "{{ contact.name }} again"
tests:
  - name: one
    rules: [compare]
    start: 2026-11-13T10:00:00-03:00
    given:
      channels: [Main]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Carla, phone: "+5511977770000" }]
    steps:
      - { customer: Carla, says: from Carla }
      - { at: +5m, expect: [] }
      - { customer: Ana, says: hello }
      - at: +6m
        expect:
          - { send_message: { text: "Carla, open, hello, hello", to: Carla } }
          - { add_labels: { labels: [vip], conversation: Carla } }
          - { send_message: { text: "true false", to: Carla } }
      - at: +15m
        expect:
          - { close_attendance: { conversation: Carla } }
          - { send_message: { text: Ana again, to: Ana } }
    faults: all
`)
	r.passes(t)
}

// TestItemsTakeUpConversations shows that what an item of a for_each takes up is at hand for that
// item alone, and that without a conversation steps are skipped.
func TestItemsTakeUpConversations(t *testing.T) {
	r := tell(t, `
rules:
  - id: each
    when: message.received
    if: contact.name == "Bia"
    do:
      - for_each:
          in: '["+5511988887777", "+5511977770000", "+5511966660000"]'
          as: phone
          do:
            - read_conversation: { conversation: { phone: "{{ phone }}", channel: Main } }
              if: phone != "+5511977770000"
            - set: { who: "{{ conversation == nil ? 'nobody' : contact.name }}" }
            - send_message: "For {{ who }}"
            - wait: 1m
      - send_message: "Done, {{ contact.name }}"
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given:
      channels: [Main]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Bia, phone: "+5511955550000" }]
    steps:
      - { customer: Ana, says: from Ana }
      - { at: +5m, expect: [] }
      - { customer: Bia, says: hello }
      - at: +30m
        expect:
          - { send_message: { text: For Ana, to: Ana } }
          - { send_message: { text: For Bia, to: Bia } }
          - { send_message: { text: "Done, Bia", to: Bia } }
    faults: all
`)
	r.passes(t)
}

// TestPeopleAreNoCustomers shows that a person without a given phone has none of a customer's.
func TestPeopleAreNoCustomers(t *testing.T) {
	r := tell(t, `
rules:
  - id: tell
    when: message.received
    do:
      - send_message: { to: { person: Carla }, text: Look }
      - send_message: { to: { person: Bruno }, text: You too }
tests:
  - name: it
    given:
      contacts: [{ name: Marina, phone: "+5511900000001" }, { name: Nina, phone: "+55 11 90000-0002" }]
      people: [{ name: Bruno, phone: "+5511900000003" }]
    steps:
      - { customer: Nina, says: hello }
      - at: +1m
        expect:
          - { open_conversation: { phone: "+5511900000004" } }
          - { send_message: { to: { person: Carla }, text: Look } }
          - { open_conversation: { phone: "+5511900000003" } }
          - { send_message: { to: { person: Bruno }, text: You too } }
`)
	r.passes(t)
}

// TestPeople shows that rules write to persons of the team by name, whose phones a test gives or
// need not give.
func TestPeople(t *testing.T) {
	r := tell(t, `
rules:
  - id: tell
    when: message.received
    if: conversation.kind == "direct"
    do:
      - send_message: { to: { person: carla }, text: "{{ contact.name }} wrote" }
      - send_message: { to: { person: "{{ 'João' }}" }, text: Look }
      - add_labels: { labels: [team], conversation: { person: Carla } }
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given:
      channels: [Main, Inside]
      people: [{ name: Joao, phone: "+5511966660000", channel: Inside }]
      contacts: [{ name: Ana, phone: "+5511988887777" }]
    steps:
      - { customer: Ana, says: hello }
      - at: +5m
        expect:
          - open_conversation
          - { send_message: { text: Ana wrote, to: { person: Carla } } }
          - open_conversation
          - { send_message: { text: Look, to: { phone: "+5511966660000", channel: Inside } } }
          - { add_labels: { labels: [team], conversation: { person: Carla } } }
    faults: all
`)
	r.passes(t)
}
