package engine_test

import (
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// TestEndedWhileItTravels shows that an event of its home lane ends a run that is in another lane.
func TestEndedWhileItTravels(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "go", cancel_on: [attendance.closed], do: [{ send_message: { text: "to Bia", to: { phone: "`+bia+`", channel: Main } } }, { wait: 1m }, { send_message: back }] }
`)
	d.customer(bia, "hello")
	d.fault("POST /conversations/{id}/messages", "status_before", 503, 3)
	d.customer(ana, "go")
	d.wantStates("it", journal.Running)
	d.restart()
	must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
	d.pass(time.Hour)
	d.expect()
	d.wantStates("it", journal.Cancelled)
}

// TestHeldWhileItTravels shows that a run that is in another lane is held and resumed, as often as
// requested.
func TestHeldWhileItTravels(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "go", do: [{ send_message: { text: "to Bia", to: { phone: "`+bia+`", channel: Main } } }, { wait: 1m }, { send_message: back }] }
`)
	d.customer(bia, "hello")
	d.fault("POST /conversations/{id}/messages", "status_before", 503, 3)
	d.customer(ana, "go")
	for range 2 {
		if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "x"); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Minute)
		d.restart()
		d.pass(time.Minute)
		d.expect()
		d.wantStates("it", journal.Held)
		must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
		d.restart()
		d.rest()
	}
	d.pass(time.Hour)
	d.expect(send+"to Bia", send+"back")
}

// TestKeyRefusedWhileACallIsSettled shows that a key that is refused while a call is being settled
// does not change the outcome.
func TestKeyRefusedWhileACallIsSettled(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ transfer: { sector: Sales, reason: x } }, { send_message: hello }] }
`)
	key := must(d.NewKey(sandbox.NewKey{Name: "second", Scopes: sandbox.Scopes}))
	d.key = service.Secret(key.APIKey)
	d.restart()
	d.fault("POST /conversations/{id}/transfer", "status_after", 503, 1)
	d.customer(ana, "hello") // the transfer is to be settled
	if err := d.RevokeKey(key.ID); err != nil {
		t.Fatal(err)
	}
	d.pass(10 * time.Minute)
	d.wantStates("it", journal.Held)
	d.key = service.Secret(d.address.APIKey)
	d.restart()
	d.pass(time.Minute)
	d.expect(transfers+"x", send+"hello")
}
