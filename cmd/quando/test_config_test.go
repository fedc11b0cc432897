package main

import (
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

// configuredDesk has a rule for each part of a configuration that changes how rules behave. Its
// tests pass with that configuration only.
var configuredDesk = map[string]string{
	"quando.yaml": `
service: { base_url: "${NOT_SET_URL}", api_key: "${NOT_SET_KEY}" }
timezone: Europe/Lisbon
people:
  Carla: { phone: "+5511977770001", channel: Duty }
  Bruno: { phone: "${NOT_SET_PHONE}", channel: Main }
safety:
  messages_per_conversation: 2 per 10m
  internal: ["+5511977770009", "${NOT_SET_PHONE}"]
http_request:
  allow: [erp.example.com]
  headers: { erp.example.com: { Authorization: "${NOT_SET_TOKEN}" } }
`,
	"rules/rules.yaml": `
rules:
  - { id: tell, when: message.received, if: says("tell"), do: [{ send_message: { to: { person: carla }, text: Carla! } }, { send_message: { to: { person: Bruno }, text: Bruno! } }] }
  - { id: echo, when: message.received, internal: run, if: says("echo"), do: [{ send_message: "{{ contact.name }}" }] }
  - id: ask
    when: message.received
    if: says("ask")
    do: [{ http_request: { url: "https://erp.example.com/link" }, id: link }, { http_request: "{{ link.json.link }}" }]
    on_error: [{ send_message: "{{ error }}" }]
`,
	"rules/rules_test.yaml": `
tests:
  - name: the people and the zone are those of the configuration
    start: 2026-01-05T09:00:00Z
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Duty phone, phone: "+5511977770001", channel: Duty }], channels: [Duty] }
    steps:
      - { customer: Marina, says: tell }
      - at: "09:30"
        expect:
          - open_conversation
          - send_message: { text: Carla!, to: { phone: "+5511977770001", channel: Duty } }
          - open_conversation
          - send_message: { text: Bruno!, to: { person: Bruno } }
      - { at: 2026-01-05T10:00:00Z, expect: [] }
  - name: what the test says goes before
    safety: { messages_per_conversation: 3 per 10m, internal: [] }
    given:
      people: [{ name: Carla, phone: "+5511977770002", channel: Main }]
      contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Chat, phone: "+5511977770009" }, { name: Carla, phone: "+5511977770002" }]
      conversations: [{ contact: Carla, channel: Main }]
    steps:
      - { customer: Marina, says: tell }
      - { at: +5m, expect: [{ send_message: { to: { phone: "+5511977770002", channel: Main } } }, open_conversation, send_message] }
      - { customer: Chat, says: echo }
      - { customer: Chat, says: echo }
      - { customer: Chat, says: echo }
      - { customer: Chat, says: echo }
      - { at: +5m, expect: [send_message, send_message, send_message] }
  - name: the bounds are those of the configuration
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Chat, phone: "+5511977770009" }] }
    steps:
      - { customer: Marina, says: echo }
      - { customer: Marina, says: echo }
      - { customer: Marina, says: echo }
      - { at: +5m, expect: [send_message, send_message] }
      - { customer: Chat, says: echo }
      - { customer: Chat, says: echo }
      - { customer: Chat, says: echo }
      - { at: +5m, expect: [send_message, send_message, send_message] }
  - name: only systems of the configuration are called
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - answer: { url: https://erp.example.com/link, json: { link: "https://elsewhere.example.com/" } }
      - { customer: Marina, says: ask }
      - { at: +5m, expect: [http_request, { send_message: { text: { contains: elsewhere.example.com is not on the list } } }] }
`,
}

// TestTestConfiguration shows that tests run with what the configuration says, without any of its
// secrets.
func TestTestConfiguration(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	inFolder(t, configuredDesk)
	code, out, errOut := quando(t, "test")
	if code != 0 || !strings.HasSuffix(out, ": all passed\n") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	for _, c := range []struct{ from, to, want string }{
		{"timezone: Europe/Lisbon\n", "", "the people and the zone"},
		{"+5511977770001", "+5511977770003", "the people and the zone"},
		{"  Carla: { phone: \"+5511977770001\", channel: Duty }\n", "", "carla"},
		{"  messages_per_conversation: 2 per 10m\n", "", "the bounds"},
		{`"+5511977770009", `, "", "the bounds"},
		{"erp.example.com]", "crm.example.com]", "erp.example.com is not on the list of systems that rules may call"},
	} {
		inFolder(t, configuredDesk, map[string]string{"quando.yaml": strings.Replace(configuredDesk["quando.yaml"], c.from, c.to, 1)})
		code, out, errOut := quando(t, "test")
		if code != cli.ExitNo || !strings.Contains(out, c.want) || strings.Contains(out, "ok ") && !strings.Contains(out, "1 failed") {
			t.Errorf("%q instead of %q: %d %s %s", c.to, c.from, code, out, errOut)
		}
	}
}
