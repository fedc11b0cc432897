package ruletest

import "testing"

// TestLists shows that a rule counts and goes through what a list gives, in a rule that acts and in
// one that only watches.
func TestLists(t *testing.T) {
	r := tell(t, `
rules:
  - id: waiting-by-sector
    when: { at: "09:00", timezone: America/Sao_Paulo }
    do:
      - list_attendances: { status: open, max: 2 }
        id: waiting
      - list_contacts: { q: "{{ 'Marina' }}" }
        id: found
      - set:
          sectors: "{{ groupBy(waiting.items, #.sector_name ?? 'none') }}"
      - log: "{{ waiting.items[0].opened_at.Format('15:04') }}"
      - for_each:
          in: found.items
          as: person
          do:
            - send_message:
                to: { contact: "{{ person.id }}", channel: Main }
                text: "{{ person.name }}: {{ waiting.total }} open, {{ len(waiting.items) }} kept, {{ count(waiting.items, #.sector_name == 'Support') }} in Support, {{ len(sectors['none']) }} in none"
  - id: watches
    stage: shadow
    when: { at: "09:00", timezone: America/Sao_Paulo }
    do:
      - list_cards
      - list_conversations: { unread: true }
        id: unread
      - stop_if: unread.total != 3
      - send_message: { to: { phone: "+5511988887777", channel: Main }, text: never sent }
tests:
  - name: it
    start: 2026-11-13T08:00:00-03:00
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Otto, phone: "+5511988887778" }, { name: Rui, phone: "+5511988887779" }]
      channels: [Main]
    steps:
      - { customer: Marina, says: hello }
      - { customer: Otto, says: hello }
      - { customer: Rui, says: hello }
      - { at: +2h, expect: [{ send_message: "Marina: 3 open, 2 kept, 0 in Support, 2 in none" }] }
    faults: all
`)
	r.passes(t)
}
