package engine_test

import (
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

func TestAnswersThatComeTogether(t *testing.T) {
	const rule = `
rules:
  - id: it
    when: attendance.closed
    do:
      - wait_for: { event: message.received, if: 'message.text matches "^[0-9]$" and conversation.kind == "direct"', timeout: 24h }
        id: answer
      - send_message: "{{ answer.message.text }}"
`
	start := func(t *testing.T) *desk {
		d := newDesk(t, rule)
		d.customer(ana, "hello")
		must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
		d.rest()
		d.wantStates("it", journal.Waiting)
		return d
	}
	t.Run("paused", func(t *testing.T) {
		d := start(t)
		if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "x"); err != nil {
			t.Fatal(err)
		}
		d.customer(ana, "let me think")
		d.pass(time.Minute)
		d.customer(ana, "5")
		d.pass(time.Minute)
		must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
		d.pass(time.Minute)
		d.expect(send + "5")
	})
	t.Run("service fails", func(t *testing.T) {
		d := start(t)
		d.pass(time.Minute)
		d.fault("GET /conversations/{id}", "status_before", 503, 3)
		d.customer(ana, "1")
		d.customer(ana, "2")
		d.pass(time.Hour)
		d.expect(send + "1")
		d.wantStates("it", journal.Done)
	})
}

// TestTwoEventsOfOneInstant shows that of two messages of one instant the later one counts.
func TestTwoEventsOfOneInstant(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, mode: parallel, cancel_on: [message.received], do: [{ wait: 5m }, { send_message: "after {{ message.text }}" }] }
`)
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "one"}))
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "two"}))
	d.pass(time.Hour)
	if got := d.effects(); len(got) != 1 {
		t.Errorf("%v\n%s", got, d.trace())
	}
}

// TestRetryAfterOnError shows that a wait that is taken again gets the events that come.
func TestRetryAfterOnError(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: attendance.closed
    do:
      - wait_for: { event: message.received, if: 'int(message.text) > 3', timeout: 24h }
        id: answer
      - send_message: "{{ answer.message.text }}"
    on_error: [{ log: "{{ error }}" }]
`)
	d.customer(ana, "hello")
	must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
	d.rest()
	d.customer(ana, "no number")
	d.wantStates("it", journal.FailedRun)
	if err := d.journal.Ask(t.Context(), d.clock.Now(), d.runs("it")[0].ID, journal.Ask{What: journal.AskRetry, At: d.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Minute)
	d.customer(ana, "4")
	d.pass(time.Minute)
	d.expect(send + "4")
}

// TestEndingThatCannotBeDecidedYet shows that a run does not continue past an event that may end it
// and cannot be decided yet.
func TestEndingThatCannotBeDecidedYet(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: attendance.opened, cancel_on: [{ event: conversation.updated, if: 'attendance.status == "open" and conversation.sector_name == "Sales"' }], do: [{ wait: 5m }, { send_message: late }] }
`)
	d.customer(ana, "hello")
	d.pass(4 * time.Minute)
	d.fault("GET /conversations/{id}/attendance", "status_before", 503, 12)
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", To: "Carla", Sector: "Sales"}))
	d.pass(time.Hour)
	d.expect()
	d.wantStates("it", journal.Cancelled)
}

// TestAnswerThatCannotBeDecidedYet shows that a wait for an answer does not end while an event that
// came in time cannot be decided yet: it may be the answer.
func TestAnswerThatCannotBeDecidedYet(t *testing.T) {
	for _, behind := range []int{0, 2 * journal.MostEvents} {
		d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - { wait_for: { event: message.received, if: message.text == "yes", timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: heard }] }, { else: [{ send_message: nothing }] }]
  - { id: asks, when: conversation.updated, if: attendance.status == "open" and conversation.sector_name == "Sales", do: [{ log: x }] }
`)
		d.customer(ana, "go")
		d.pass(4 * time.Minute)
		d.fault("GET /conversations/{id}/attendance", "status_before", 503, 12)
		d.onlyRecord()
		must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", To: "Carla", Sector: "Sales"}))
		for range behind {
			d.written(ana, "well")
		}
		d.written(ana, "yes")
		d.pass(time.Hour)
		d.expect(send + "heard")
	}
}

// TestEndingBehindAnOpenCall shows that a run does not continue past an event that waits for a call
// to be settled, if an event behind it ends the run.
func TestEndingBehindAnOpenCall(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: attendance.opened, cancel_on: [{ event: message.sent, if: message.by == "team" }], do: [{ wait: 5m }, { send_message: late }] }
  - { id: moves, when: message.received, if: message.text == "sales", do: [{ transfer: { sector: Sales } }] }
`)
	d.customer(ana, "hello")
	d.pass(4*time.Minute + 55*time.Second)
	d.fault("POST /conversations/{id}/transfer", "status_after", 503, 1)
	d.customer(ana, "sales")
	d.pass(2 * time.Second)
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "I am here"}))
	d.pass(time.Hour)
	d.expect("POST /conversations/{id}/transfer")
	d.wantStates("it", journal.Cancelled)
	d.wantStates("moves", journal.Done)
}

// TestOwnMessageWithoutReceiptEndsNothing shows that a message of the engine whose call has no
// receipt yet does not end a run: the run gets it once the sender is known.
func TestOwnMessageWithoutReceiptEndsNothing(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: greet, when: message.received, do: [{ send_message: hello }] }
  - id: sla
    when: message.received
    cancel_on: [{ event: message.sent, if: message.by == "team" }]
    do: [{ wait: 15m }, { add_labels: [breach] }]
`)
	d.fault("POST /conversations/{id}/messages", "status_after", 503, 1)
	d.customer(ana, "hi")
	d.pass(time.Minute)
	d.wantStates("sla", journal.Waiting)
	d.expect(send + "hello")

	// A person's message ends it, as always.
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "I am here"}))
	d.pass(time.Hour)
	d.wantStates("sla", journal.Cancelled)
}

// TestEndingOfTheSameInstant shows that an event of cancel_on counts from the instant of the event
// that started the run, in whatever order the two are recorded. Of events with the same type and
// instant, only those recorded later count.
func TestEndingOfTheSameInstant(t *testing.T) {
	for _, first := range []string{"attendance.opened", "message.sent"} {
		d := newDesk(t, `
rules:
  - { id: it, when: attendance.opened, cancel_on: [{ event: message.sent, if: message.by == "team" }], do: [{ wait: 5m }, { send_message: nobody answered }] }
`)
		release := func() {}
		if first == "message.sent" {
			release = d.holdBack("attendance.opened")
		}
		must(d.TeamMessage(sandbox.TeamMessage{Conversation: "+5511955554444", Person: "Bruno", Text: "hello", Channel: "Main"}))
		d.rest()
		d.pass(time.Second)
		release()
		d.pass(time.Hour)
		d.expect()
		d.wantStates("it", journal.Cancelled)
	}
}
