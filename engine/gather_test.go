package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// TestGatherWhileTheServiceIsDown shows that gathered events wait while the service does not
// answer, and that the service is asked again with backoff.
func TestGatherWhileTheServiceIsDown(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    gather: { quiet: 20s, at_most: 2m }
    if: attendance.status == "open"
    do: [{ log: x }, { send_message: "got {{ len(messages) }}" }]
`)
	d.customer(ana, "one")
	d.fault("GET /conversations/{id}/attendance", "status_before", 503, 3)
	d.pass(21 * time.Second)
	d.expect()
	d.pass(time.Minute)
	d.expect(send + "got 1")
}

// TestGatheredAndLate shows that gathered events are not answered hours later, and that the quiet
// time does not count as late.
func TestGatheredAndLate(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, gather: { quiet: 20s, at_most: 2m }, do: [{ send_message: hello }] }
  - { id: slow, when: message.received, gather: { quiet: 1h, at_most: 2h }, do: [{ log: hello }] }
`)
	d.customer(ana, "hello")
	d.move(friday.Add(5 * time.Hour))
	d.rest()
	d.expect()
	if got := d.outcomes("it"); !slices.Equal(got, []journal.Outcome{journal.Late}) {
		t.Errorf("%v", got)
	}
	d.customer(ana, "again")
	d.pass(3 * time.Hour)
	d.expect(send + "hello")
	d.wantStates("slow", journal.Done)
}

// TestGatherOfWhatDoesNotFit shows that a gather decides the last of all messages, even if the
// condition would be false for it alone.
func TestGatherOfWhatDoesNotFit(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, gather: { quiet: 20s, at_most: 2m }, if: 'message.text == "yes"', do: [{ send_message: "got {{ len(messages) }}" }] }
`)
	d.customer(ana, "yes")
	d.customer(ana, "no")
	d.pass(time.Minute)
	d.expect()
	d.customer(ana, "no")
	d.customer(ana, "yes")
	d.pass(time.Minute)
	d.expect(send + "got 2")
}

// TestGatherThatGrowsWhenItWouldEnd shows that a message that comes just when its gather would end
// joins it, and that a run that waits for the message continues at once, before other conversations
// have their turn.
func TestGatherThatGrowsWhenItWouldEnd(t *testing.T) {
	// Lanes that are due together go by name, which depends on who wrote first.
	for _, known := range [][]string{{ana, bia}, {bia, ana}} {
		d := newDesk(t, `
rules:
  - { id: it, when: message.received, gather: { quiet: 20s, at_most: 2m }, do: [{ send_message: "got {{ len(messages) }}" }] }
  - { id: asks, when: message.received, if: 'message.text == "go"', do: [{ wait_for: { event: message.received, timeout: 5m, claim: false } }, { send_message: thanks }] }
  - id: tells
    when: message.received
    if: message.text == "yes"
    do: [{ send_message: one moment }, { send_message: { to: { phone: "+5511977776666", channel: Main }, text: they said yes } }]
`)
		for _, phone := range known {
			d.customer(phone, "hello")
		}
		d.pass(time.Minute)
		d.expect(send+"got 1", send+"got 1")
		d.customer(ana, "go")
		d.move(d.clock.Now().Add(20 * time.Second))
		d.customer(ana, "yes")
		d.expect(send+"one moment", send+"thanks", send+"they said yes")
		d.pass(time.Minute)
		d.expect(send + "got 2")
	}
}
