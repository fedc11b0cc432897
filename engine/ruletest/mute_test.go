package ruletest

import (
	"strings"
	"testing"
)

// abuse mutes who is rude, until that is over or there is an excuse.
const abuse = `
rules:
  - id: abuse
    when: message.received
    if: says("idiota")
    do:
      - send_message: Vamos manter a conversa respeitosa.
      - mute: 24h
      - stop_if: not muted()
      - send_message: not sent
      - { send_message: sent all the same, even_if_muted: true }
      - add_labels: [rude]
  - id: hello
    when: message.received
    if: not says("idiota", "desculpe")
    do: [{ send_message: Oi }]
  - id: sorry
    when: message.received
    if: says("desculpe") and muted()
    do: [unmute, { send_message: Obrigado }]
tests:
  - name: it
    start: 2026-11-09T10:00:00-03:00
    given: { labels: [rude], contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Bia, phone: "+5511977770000" }] }
    steps:
`

// TestMute shows that nothing is sent to a muted conversation, also under every fault, and that
// everything else is done in it.
func TestMute(t *testing.T) {
	t.Parallel()
	r := tell(t, abuse+`
      - { customer: Ana, says: idiota }
      - at: +20m
        expect: [{ send_message: { text: { contains: respeitosa } } }, { send_message: sent all the same }, { add_labels: [rude] }]
      - { customer: Ana, says: alô }
      - { at: +10m, expect: [] }
      - { customer: Ana, says: desculpe }
      - { at: +10m, expect: [{ send_message: Obrigado }] }
    faults: all
`)
	r.passes(t)
}

// TestMuteEnds shows that a mute is of one conversation, and ends by itself or with unmute.
func TestMuteEnds(t *testing.T) {
	t.Parallel()
	r := tell(t, abuse+`
      - { customer: Ana, says: bom dia }
      - { at: +5m, expect: [{ send_message: Oi }] }
      - { customer: Ana, says: idiota }
      - { at: +20m, expect: [send_message, send_message, { add_labels: [rude] }] }
      - { customer: Bia, says: oi }
      - { at: +10m, expect: [{ send_message: { text: Oi, to: Bia } }] }
      - { customer: Ana, says: desculpe }
      - { at: +10m, expect: [{ send_message: Obrigado }] }
      - { customer: Ana, says: alô }
      - { at: +10m, expect: [{ send_message: Oi }] }
      - { customer: Ana, says: idiota }
      - { at: +20m, expect: [send_message, send_message] }
      - { at: tue 10:50, customer: Ana, says: alô }
      - { at: +10m, expect: [] }
      - { at: tue 11:40, customer: Ana, says: alô }
      - { at: +10m, expect: [{ send_message: Oi }] }
    faults: { deliver: late }
`)
	r.passes(t)
}

// TestMuteAnother mutes another conversation until a time, and with a rule in shadow none.
func TestMuteAnother(t *testing.T) {
	r := tell(t, `
rules:
  - id: quiet
    when: message.received
    if: says("silêncio")
    do:
      - mute: { until: "{{ now() + duration('2h') }}", conversation: { phone: "+5511977770000", channel: Main } }
      - mute: { until: "2026-11-09" }
  - id: shadow
    stage: shadow
    when: message.received
    do: [{ mute: 1h }]
  - id: hello
    when: message.received
    do: [{ send_message: "muted: {{ muted() }}" }]
tests:
  - name: it
    start: 2026-11-09T10:00:00-03:00
    given:
      channels: [Main]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Bia, phone: "+5511977770000" }]
      conversations: [{ contact: Bia, channel: Main }]
    steps:
      - { customer: Ana, says: silêncio }
      - { at: +10m, expect: [{ send_message: "muted: false" }] }
      - { customer: Bia, says: oi }
      - { at: +10m, expect: [] }
      - { customer: Ana, says: oi }
      - { at: +10m, expect: [{ send_message: { text: "muted: false", to: Ana } }] }
      - { at: mon 12:10, customer: Bia, says: oi }
      - { at: +10m, expect: [{ send_message: { text: "muted: false", to: Bia } }] }
    faults: { crash: every_step, service: [503_before] } # TestMute has the others
`)
	r.passes(t)
}

// TestMutedByAPerson mutes while a message is being repeated: it is not sent any more, and the step
// says so.
func TestMutedByAPerson(t *testing.T) {
	r := tell(t, `
rules:
  - id: hello
    when: message.received
    do: [{ send_message: "Oi, {{ message.text }}" }, { add_labels: [greeted] }]
tests:
  - name: it
    start: 2026-11-09T10:00:00-03:00
    given: { labels: [greeted], contacts: [{ name: Ana, phone: "+5511988887777" }] }
    steps:
      - { customer: Ana, says: um }
      - { at: +5m, expect: [send_message, { add_labels: [greeted] }] }
      - { fault: { operation: "POST /conversations/{id}/messages", kind: status_before, status: 503, count: 1 } }
      - { customer: Ana, says: dois }
      - { team: Bruno, mutes: Ana, for: 1h }
      - { at: +30m, expect: [] }
      - { team: Bruno, unmutes: Ana }
      - { customer: Ana, says: três }
      - { at: +5m, expect: [{ send_message: "Oi, três" }] }
      - { team: Bruno, mutes: Ana }
      - { at: +48h, customer: Ana, says: quatro }
      - { at: +5m, expect: [] }
    faults: { deliver: twice }
`)
	r.passes(t)
}

// TestWouldMute expects what rules in shadow would have muted, in which conversation and for how
// long.
func TestWouldMute(t *testing.T) {
	t.Parallel()
	const story = `
rules:
  - id: abuse
    stage: shadow
    when: message.received
    if: says("idiota")
    do:
      - send_message: { to: { person: Carla }, text: look }
      - mute: 24h
      - mute: { until: "2026-11-10T12:00:00-03:00", conversation: { phone: "+5511977770000", channel: Main } }
      - unmute: {}
tests:
  - name: it
    start: 2026-11-09T10:00:00-03:00
    given:
      channels: [Main]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Bia, phone: "+5511977770000" }]
      conversations: [{ contact: Bia, channel: Main }]
    steps:
      - { customer: Ana, says: idiota }
      - at: +10m
        expect: []
        expect_would:
          - send_message: { to: { person: Carla }, text: look }
          - mute: { for: 1d, conversation: Ana }
          - mute: { until: "2026-11-10T15:00:00Z", conversation: { phone: "+5511977770000" } }
          - unmute: { conversation: Ana }
`
	r := tell(t, story)
	r.passes(t)
	for _, change := range [][2]string{
		{"for: 1d", "for: 2h"},
		{"mute: { for: 1d, conversation: Ana", "mute: { for: 1d, conversation: Bia"},
		{"T15:00", "T16:00"},
		{`conversation: { phone: "+5511977770000" }`, `conversation: { phone: "+5511988887777" }`},
		{"          - unmute: { conversation: Ana }\n", ""},
		{"unmute: { conversation: Ana }", "unmute: { conversation: Bia }"},
		{"send_message: { to: { person: Carla }, text: look }\n          - mute", "send_message: { to: { person: Bruno }, text: look }\n          - mute"},
	} {
		r := tell(t, strings.Replace(story, change[0], change[1], 1))
		r.fails(t, "shadow")
	}
}

// TestSwitchedOff shows that a step that is switched off is skipped with all that is inside of it,
// under every fault, and that the steps behind it are taken.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	r := tell(t, `
rules:
  - id: hello
    when: message.received
    do:
      - { send_message: not sent, enabled: false }
      - { wait_for: { event: message.received, timeout: 1h }, enabled: false }
      - choose:
          - if: "true"
            do: [{ send_message: not sent either }]
        enabled: false
      - send_message: sent
tests:
  - name: it
    start: 2026-11-09T10:00:00-03:00
    given: { contacts: [{ name: Ana, phone: "+5511988887777" }] }
    steps:
      - { customer: Ana, says: Oi }
      - { at: +10m, expect: [{ send_message: sent }] }
    faults: all
`)
	r.passes(t)
}
