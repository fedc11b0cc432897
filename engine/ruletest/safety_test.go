package ruletest

import (
	"strings"
	"testing"
)

// TestSafetyBounds shows that a story keeps to the safety bounds: those of every workspace, or its
// own, in each conversation and not in chats of our own.
func TestSafetyBounds(t *testing.T) {
	const text = `
rules:
  - id: tell
    when: message.received
    if: contact.name != "Carla"
    do: [{ send_message: { to: TO, text: "{{ contact.name }} wrote" } }]
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    SAFETY
    given:
      channels: [Main]
      people: [GIVEN]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Carla, phone: "+5511977770000" }]
    steps:
      - { customer: Carla, says: hello }
STEPS      - { at: +5m, expect: [EXPECTED] }
`
	const phone, person = `{ phone: "+5511977770000", channel: Main }`, "{ person: Carla }"
	for name, c := range map[string]struct {
		safety string
		to     string
		sent   int
	}{
		"those of every workspace": {"", phone, 5},
		"its own":                  {"safety: { messages_per_conversation: 2 per 10m }", phone, 2},
		"of all messages":          {"safety: { messages: 3 per 1h }", phone, 3},
		"a chat of our own":        {`safety: { internal: ["11 97777-0000"], messages: 3 per 1h }`, phone, 8},
		"a person of the team":     {"safety: { messages: 3 per 1h }", person, 8},
	} {
		t.Run(name, func(t *testing.T) {
			given := ""
			if c.to == person {
				given = `{ name: Carla, phone: "+5511977770000" }`
			}
			story := strings.NewReplacer("SAFETY", c.safety, "TO", c.to, "GIVEN", given, "STEPS", strings.Repeat("      - { customer: Ana, says: hello }\n", 8),
				"EXPECTED", strings.TrimSuffix(strings.Repeat("{ send_message: Ana wrote }, ", c.sent), ", ")).Replace(text)
			r := tell(t, story)
			r.passes(t)
		})
	}
}

// TestOwnChats shows that what happens in a chat of our own starts no rule that is for customers,
// of any kind, unless the rule says so.
func TestOwnChats(t *testing.T) {
	const text = `
rules:
  - { id: away, when: message.received, KEY do: [{ send_message: We are closed }] }
  - { id: burst, when: message.received, KEY gather: { quiet: 6m }, do: [{ add_labels: [burst] }] }
  - { id: sla, when: attendance.opened, KEY do: [{ wait: 15m }, { send_message: { to: { person: Carla }, text: "{{ contact.name }} waits" } }] }
  - { id: talks, when: { at: "11:00", each: conversations }, KEY do: [{ add_labels: [talk] }] }
  - { id: open, when: { at: "11:02", each: attendances }, KEY do: [{ set_sector: Support }] }
  - { id: people, when: { at: "11:04", each: contacts, where: { q: WHO } }, KEY do: [{ update_contact: { city: Recife } }] }
tests:
  - name: it
    start: 2026-11-13T10:30:00-03:00
    safety: { internal: ["11 96666-0000"] }
    given:
      channels: [Main]
      people: [{ name: Carla, phone: "+5511977770000" }]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Carlinha, phone: "+5511977770000" }, { name: Duty, phone: "+5511966660000" }]
    steps:
      - { customer: WHO, says: ok }
      - { at: +20m, expect: [AT ONCE] }
      - { at: +20m, expect: [AT ELEVEN] }
    faults: { deliver: twice, service: 503_before }
`
	const atOnce = `{ send_message: We are closed }, { add_labels: [burst] }, OPENED { send_message: { text: { contains: waits }, to: { person: Carla } } }`
	const atEleven = `{ add_labels: [talk] }, { set_sector: Support }, { update_contact: { city: Recife } }`
	for name, c := range map[string]struct{ key, who, atOnce, atEleven string }{
		"a customer's chat":     {"", "Ana", strings.ReplaceAll(atOnce, "OPENED", "open_conversation,"), atEleven},
		"a person of the team":  {"", "Carlinha", "", ""},
		"a number of our own":   {"", "Duty", "", ""},
		"a rule that skips it":  {"internal: skip,", "Carlinha", "", ""},
		"a rule that is for it": {"internal: run,", "Carlinha", strings.ReplaceAll(atOnce, "OPENED", ""), atEleven},
	} {
		t.Run(name, func(t *testing.T) {
			r := tell(t, strings.NewReplacer("KEY", c.key, "WHO", c.who, "AT ONCE", c.atOnce, "AT ELEVEN", c.atEleven).Replace(text))
			r.passes(t)
		})
	}
}

// TestAnswerInAnOwnChat shows that a run in a chat of our own gets the answer that it waits for,
// and hears what ends it.
func TestAnswerInAnOwnChat(t *testing.T) {
	for answer, want := range map[string]string{"yes": "Well done, yes", "stop": ""} {
		r := tell(t, strings.NewReplacer("ANSWER", answer, "EXPECTED", strings.TrimSuffix("{ send_message: '"+want+"' }", "{ send_message: '' }")).Replace(`
rules:
  - { id: greet, when: message.received, do: [{ send_message: { to: { person: Carla }, text: Somebody wrote } }] }
  - id: ask
    when: { at: "11:00", each: conversations }
    internal: run
    cancel_on: [{ event: message.received, if: says("stop") }]
    do:
      - send_message: Is the desk open?
      - { wait_for: { event: message.received, timeout: 1h }, id: answer }
      - send_message: "Well done, {{ answer.message.text }}"
tests:
  - name: it
    start: 2026-11-13T10:55:00-03:00
    given:
      channels: [Main]
      people: [{ name: Carla, phone: "+5511977770000" }]
      contacts: [{ name: Carlinha, phone: "+5511977770000" }]
    steps:
      - { customer: Carlinha, says: hello }
      - { at: +10m, expect: [{ send_message: "Is the desk open?" }] }
      - { customer: Carlinha, says: ANSWER }
      - { at: +10m, expect: [EXPECTED] }
`))
		r.passes(t)
	}
}
