package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

const overdue = `
rules:
  - id: menu
    when: message.received
    if: message.text == "hello"
    do:
      - send_message: "1 sales, 2 support"
      - { wait_for: { event: message.received, timeout: 5m }, id: answer }
      - send_message: "heard {{ answer?.message?.text ?? 'nothing' }}"
  - id: sla
    when: attendance.opened
    cancel_on: [{ event: message.sent, if: message.by == "team" }]
    do: [{ wait: 5m }, { transfer: { sector: Supervisors, reason: late } }]
  - id: plain
    when: attendance.opened
    do: [{ wait: 5m }, { add_labels: [vip] }]
`

// away stops the engine. Webhook deliveries fail meanwhile, and the service repeats them later.
func (d *desk) away() {
	d.t.Helper()
	if err := d.journal.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sink = func(context.Context, ...rules.Event) ([]bool, error) { return nil, errors.New("nobody is there") }
}

// back starts another engine.
func (d *desk) back() {
	d.t.Helper()
	d.open()
	d.signIn()
}

func (d *desk) signIn() {
	d.t.Helper()
	if err := d.engine.SignIn(d.t.Context(), d.clock.Now()); err != nil {
		d.t.Fatal(err)
	}
}

// TestWaitThatEndedWhileNoEngineWasThere shows that a wait whose deadline passed while no engine
// was running does not end before the events that came in time have been delivered again, unless no
// event can end it.
func TestWaitThatEndedWhileNoEngineWasThere(t *testing.T) {
	const question, heard, label, escalated = send + "1 sales, 2 support", send + "heard ", patches, transfers + "late"
	begin := func(t *testing.T) *desk {
		d := newDesk(t, overdue, func(o *deskOptions) { o.recovery = 3 * time.Minute })
		d.signIn()
		d.customer(ana, "hello")
		d.pass(time.Minute)
		d.expect(question)
		d.signIn()
		d.away()
		return d
	}
	answer := func(d *desk) {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "1"}))
		must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "I am here"}))
	}
	at := func(d *desk, after time.Duration) { d.move(friday.Add(after)) }

	t.Run("delivered again", func(t *testing.T) {
		d := begin(t)
		at(d, 4*time.Minute+50*time.Second)
		answer(d)
		at(d, 6*time.Minute)
		d.back()
		d.pass(30 * time.Second)
		d.expect(label)
		d.pass(time.Hour)
		d.expect(heard + "1")
		d.wantStates("sla", journal.Cancelled)
	})
	t.Run("too late", func(t *testing.T) {
		d := begin(t)
		at(d, 5*time.Minute+10*time.Second)
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "1"}))
		at(d, 6*time.Minute)
		d.back()
		d.pass(2*time.Minute + 59*time.Second)
		d.expect(label)
		d.pass(2 * time.Second)
		d.expectInAnyOrder(heard+"nothing", escalated)
	})
	t.Run("everything was looked for", func(t *testing.T) {
		d := begin(t)
		at(d, 6*time.Minute)
		d.back()
		d.pass(time.Second)
		d.expect(label)
		if err := d.engine.Recovered(t.Context(), "default", d.clock.Now().Add(-2*time.Second)); err != nil {
			t.Fatal(err)
		}
		d.pass(20 * time.Second)
		d.expect() // that search began before the engine was running
		if err := d.engine.Recovered(t.Context(), "default", d.clock.Now()); err != nil {
			t.Fatal(err)
		}
		d.pass(10 * time.Second)
		d.expectInAnyOrder(heard+"nothing", escalated)
	})
	t.Run("it was away again", func(t *testing.T) {
		d := begin(t)
		at(d, 6*time.Minute)
		d.back()
		d.pass(20 * time.Second)
		d.signIn()
		d.expect(label)
		d.away()
		at(d, 30*time.Minute)
		d.back()
		d.pass(2*time.Minute + 59*time.Second)
		d.expect()
		d.pass(2 * time.Second)
		d.expectInAnyOrder(heard+"nothing", escalated)
	})
	t.Run("for a moment only", func(t *testing.T) {
		d := begin(t)
		at(d, 6*time.Minute)
		d.back()
		d.pass(time.Second)
		d.away()
		d.back()
		d.pass(2 * time.Minute)
		d.expect(label)
		d.pass(time.Minute)
		d.expectInAnyOrder(heard+"nothing", escalated)
	})
	t.Run("everything is stopped meanwhile", func(t *testing.T) {
		d := begin(t)
		at(d, 4*time.Minute+50*time.Second)
		answer(d)
		at(d, 6*time.Minute)
		d.back()
		if err := d.engine.Pause(t.Context(), d.clock.Now(), "", "", "x"); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Hour)
		d.expect()
		must(d.engine.Resume(t.Context(), d.clock.Now(), "", ""))
		d.pass(time.Minute)
		d.expectInAnyOrder(label, heard+"1")
	})
	t.Run("a rule is stopped meanwhile", func(t *testing.T) {
		d := begin(t)
		at(d, 6*time.Minute)
		d.back()
		if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "menu", "x"); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Minute)
		must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "menu"))
		d.pass(time.Minute)
		d.expect(label)
		d.pass(2 * time.Minute)
		d.expectInAnyOrder(heard+"nothing", escalated)
	})
	// The wait ends after the start, so nothing was missed.
	t.Run("not over yet", func(t *testing.T) {
		d := begin(t)
		at(d, 4*time.Minute)
		d.back()
		d.pass(time.Minute + time.Second)
		d.expectInAnyOrder(heard+"nothing", escalated, label)
	})
	// The event that started the rule was found late, and the event that would have ended its run is
	// found later.
	t.Run("begun late", func(t *testing.T) {
		d := begin(t)
		at(d, 2*time.Minute)
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: bia, Name: "Bia Reis", Text: "good evening"}))
		at(d, 3*time.Minute)
		must(d.TeamMessage(sandbox.TeamMessage{Conversation: bia, Person: "Bruno", Text: "I am here"}))
		at(d, 14*time.Minute) // the service repeats one delivery after half a minute, and the other half a minute later
		d.back()
		for range 40 {
			d.pass(15 * time.Second)
		}
		d.expectInAnyOrder(label, label, heard+"nothing", escalated)
		d.wantStates("sla", journal.Done, journal.Cancelled)
	})
}

// TestMuchThatWasMissed shows that all missed events, however many, reach the waits that had ended
// by then.
func TestMuchThatWasMissed(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: menu
    when: message.received
    if: message.text == "hello"
    do:
      - send_message: "1 sales, 2 support"
      - { wait_for: { event: message.received, if: message.text == "1", timeout: 5m }, id: answer }
      - send_message: "heard {{ answer?.message?.text ?? 'nothing' }}"
  - id: sla
    when: attendance.opened
    cancel_on: [{ event: message.sent, if: message.by == "team" }]
    do: [{ wait: 5m }, { transfer: { sector: Supervisors, reason: late } }]
`, func(o *deskOptions) { o.recovery = 3 * time.Minute })
	d.signIn()
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.effects()
	found := d.holdBack("message.received", "message.sent")
	for range 2 * journal.MostEvents {
		d.written(ana, "well")
	}
	d.written(ana, "1")
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "I am here"}))
	if err := d.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.move(d.clock.Now().Add(time.Hour))
	d.signIn()
	if err := d.engine.Recovered(t.Context(), "default", d.clock.Now()); err != nil {
		t.Fatal(err)
	}
	found()
	d.pass(time.Hour)
	d.expect(send + "heard 1")
	d.wantStates("sla", journal.Cancelled)
}

// TestWaitThatEndedWhileTheMachineSlept shows that a suspended machine counts as an absence, and so
// does an engine that could not use its journal.
func TestWaitThatEndedWhileTheMachineSlept(t *testing.T) {
	d := newDesk(t, overdue, func(o *deskOptions) { o.recovery = 3 * time.Minute })
	d.signIn()
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.effects()
	d.signIn()
	d.move(friday.Add(20 * time.Minute))
	d.signIn()
	d.pass(time.Minute)
	d.expect(patches)
	d.signIn()
	d.pass(3 * time.Minute)
	d.expectInAnyOrder(send+"heard nothing", transfers+"late")
}
