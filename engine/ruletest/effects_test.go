package ruletest

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/quandohq/quando/actions/builtin"
)

// everything has a rule with every verb that changes something, and a story that expects each of
// them.
const everything = `
rules:
  - id: everything
    when: message.received
    if: contact.name == "Marina"
    do:
      - add_labels: [vip, new-here]
      - remove_labels: [vip]
      - set_labels: [after-hours]
      - set_sector: { sector: Billing, reason: sorted }
      - transfer: { person: Zoe, sector: Support, reason: she knows }
      - update_conversation: { pinned: true, name: Marina the first }
      - mark_read
      - send_message: { text: Here it is, media: price-list.pdf, reply_to: "{{ message.external_id }}" }
      - create_contact: { name: Otto, phone: "+5511911112222", city: Santos, add_labels: [vip] }
      - open_conversation: { phone: "+5511911112222", channel: Second }
        id: other
      - send_message: { to: "{{ other.id }}", text: Hello Otto }
      - update_contact: { company: Aurora, add_labels: [vip], blocked: true }
      - create_card: { board: Orders, stage: In, title: An order, due: "2026-11-20", label: [vip], priority: high, contact: "{{ contact.id }}" }
      - update_card: { title: The order, priority: low }
      - move_card: { to: Out, only_from: In }
      - close_attendance: that was all
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }]
      conversations: [{ contact: Marina, labels: [vip] }]
    steps:
      - customer: Marina
        says: Hello
        expect:
          - add_labels: [vip, new-here]
          - remove_labels: vip
          - set_labels: [after-hours]
          - set_sector: { sector: billing, reason: sorted }
          - transfer: { person: Zoe, sector: Support, reason: { contains: knows } }
          - update_conversation: { pinned: true, name: Marina the first }
          - mark_read
          - send_message: { text: Here it is, media: price-list.pdf, reply_to: { matches: . }, to: { contact: Marina } }
          - create_contact: { name: Otto, phone: "+5511911112222", city: Santos }
          - update_contact: { contact: Otto, add_labels: [vip] }
          - open_conversation: { channel: Second, phone: "+5511911112222" }
          - send_message: { text: Hello Otto, to: { phone: "+5511911112222", channel: Second } }
          - update_contact: { contact: Marina, company: Aurora, add_labels: [vip], blocked: true }
          - create_card: { board: Orders, stage: In, title: An order, due: "2026-11-20", label: vip, priority: high, contact: Marina }
          - update_card: { card: The order, title: The order, priority: low }
          - move_card: { to: Out, only_from: [In], board: Orders }
          - close_attendance: that was all
`

func TestEveryVerb(t *testing.T) {
	media := func(o *Options) { o.Media = fstest.MapFS{"price-list.pdf": {Data: []byte("%PDF-1.4")}} }
	r := tell(t, everything, media)
	r.passes(t)
	lines := strings.Split(everything[strings.Index(everything, "expect:"):], "\n")
	for _, s := range builtin.Schemas() {
		changes := slices.ContainsFunc(s.Scopes, func(scope string) bool { return scope != "read" && !strings.HasSuffix(scope, ":read") })
		if changes && !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "- "+s.Verb) }) {
			t.Errorf("no story expects %s", s.Verb)
		}
	}
}

// TestEveryArgumentIsCompared changes one value of each expectation, after which the story must
// fail at that effect.
func TestEveryArgumentIsCompared(t *testing.T) {
	media := func(o *Options) { o.Media = fstest.MapFS{"price-list.pdf": {Data: []byte("%PDF-1.4")}} }
	begin := strings.Index(everything, "expect:")
	for i, change := range [][2]string{
		{"- add_labels: [vip, new-here]", "- add_labels: [vip]"},
		{"- remove_labels: vip", "- remove_labels: new-here"},
		{"- set_labels: [after-hours]", "- set_labels: [after-hours, vip]"},
		{"sector: billing", "sector: Support"},
		{"person: Zoe", "person: Bruno"},
		{"contains: knows", "contains: knew"},
		{"pinned: true", "pinned: false"},
		{"- mark_read", "- create_card"},
		{"media: price-list.pdf", "media: list.pdf"},
		{"matches: .", "matches: ^$"},
		{"contact: Marina } }", "contact: Otto } }"},
		{"city: Santos", "city: Rio"},
		{"channel: Second, phone", "channel: Main, phone"},
		{"channel: Second } }", "channel: Main } }"},
		{"company: Aurora", "company: Porto Sul"},
		{"update_contact: { contact: Marina", "update_contact: { contact: Otto"},
		{"add_labels: [vip], blocked", "add_labels: [after-hours], blocked"},
		{"stage: In,", "stage: Out,"},
		{`due: "2026-11-20"`, `due: "2026-11-21"`},
		{"label: vip", "label: after-hours"},
		{"title: The order, priority: low", "title: The order, priority: high"},
		{"move_card: { to: Out", "move_card: { to: In"},
		{"only_from: [In]", "only_from: [Out]"},
		{"that was all", "that was it"},
	} {
		expect := strings.Replace(everything[begin:], change[0], change[1], 1)
		if expect == everything[begin:] {
			t.Fatalf("%s is not in the story", change[0])
		}
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(change[1], func(t *testing.T) {
			t.Parallel()
			r := tell(t, everything[:begin]+expect, media)
			r.fails(t, "number")
		})
	}
}
