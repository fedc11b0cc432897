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
