package engine_test

import (
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

const office = `
calendars:
  office:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-12:00, 13:30-18:00], sat: [09:00-13:00] }
`

const away = office + `
rules:
  - id: away-reply
    when: message.received
    gather: { quiet: 20s, at_most: 2m }
    if:
      - closed("office")
      - conversation.kind == "direct"
      - not human_active("15m")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Hello {{ contact.name }}! We reopen {{ next_open('office') }}. You wrote {{ len(messages) }}."
      - add_labels: [after-hours]
`

func TestAwayReply(t *testing.T) {
	d := newDesk(t, away)
	d.customer(ana, "are you there?")
	d.pass(time.Minute)
	d.expect() // the office is open
	d.passTo(friday.Add(20 * time.Minute))
	d.customer(ana, "hello?")
	d.pass(5 * time.Second)
	d.customer(ana, "anybody?")
	d.pass(19 * time.Second)
	d.expect()
	d.pass(2 * time.Second)
	d.expect(send+"Hello Ana Lima! We reopen 2026-11-14 09:00. You wrote 2.", patches)
	d.wantStates("away-reply", journal.Done)
	d.customer(ana, "again")
	d.pass(time.Hour)
	d.expect()
	if got := d.outcomes("away-reply"); got[len(got)-1] != journal.Limited {
		t.Errorf("outcomes: %v", got)
	}
	d.pass(12 * time.Hour) // Saturday, seven in the morning
	d.customer(ana, "good morning")
	d.pass(time.Minute)
	d.expect(send + "Hello Ana Lima! We reopen 2026-11-14 09:00. You wrote 1.") // the label exists already
}

const sla = office + `
rules:
  - id: sla
    when: attendance.opened
    mode: single
    cancel_on:
      - attendance.closed
      - { event: message.sent, if: message.by == "team" }
    do:
      - wait: 15m of office
      - stop_if: attendance.status != "open" or attendance.first_response != nil
      - transfer: { sector: Supervisors, reason: No first response }
      - add_labels: [sla-breach]
`

func TestEscalation(t *testing.T) {
	t.Run("nobody answers", func(t *testing.T) {
		d := newDesk(t, sla)
		d.customer(ana, "hello")
		d.wantStates("sla", journal.Waiting)
		d.restart()
		d.passTo(time.Date(2026, 11, 14, 9, 4, 59, 0, saoPaulo))
		d.expect()
		d.pass(2 * time.Second)
		d.expect(transfers+"No first response", patches)
		d.wantStates("sla", journal.Done)
	})
	t.Run("the team answers", func(t *testing.T) {
		d := newDesk(t, sla)
		d.customer(ana, "hello")
		must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "hi"}))
		d.rest()
		d.wantStates("sla", journal.Cancelled)
		d.pass(24 * time.Hour)
		d.expect()
	})
	t.Run("the attendance is closed", func(t *testing.T) {
		d := newDesk(t, sla)
		d.customer(ana, "hello")
		must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
		d.pass(24 * time.Hour)
		d.wantStates("sla", journal.Cancelled)
		d.expect()
	})
}

// TestOwnEffectsStartNothing shows that an automatic message is no answer, and starts no rule.
func TestOwnEffectsStartNothing(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: reply
    when: message.received
    do: [{ send_message: "one moment" }, { add_labels: [vip] }, { transfer: { sector: Sales, reason: x } }]
  - id: echo
    when: [message.sent, conversation.updated, attendance.closed]
    do: [{ send_message: "I heard {{ event.type }}" }]
`)
	d.customer(ana, "hello")
	d.pass(time.Hour)
	for _, o := range d.outcomes("echo") {
		if o != journal.Own && o != journal.Fired {
			t.Errorf("verdicts of echo: %v", d.outcomes("echo"))
		}
	}
	d.wantStates("reply", journal.Done)
	t.Log(d.outcomes("echo"), d.effects())
}
