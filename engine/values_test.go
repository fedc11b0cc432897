package engine_test

import (
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// TestNumbersThatAreNone shows that a customer who writes a text such as NaN, which only a machine
// takes for a number, does not stop the conversation.
func TestNumbersThatAreNone(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - stop_if: float(message.text) < 5
      - choose: [{ if: float(message.text) > 5, do: [{ send_message: more }] }]
`)
	d.customer(ana, "inf")
	d.expect(send + "more")
	d.wantStates("it", journal.Done)
}

// TestLargeNumbers shows that an integer keeps all of its digits.
func TestLargeNumbers(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - set: { n: "{{ int(message.text) }}" }
      - wait: 1m
      - send_message: "{{ n }}"
`)
	d.customer(ana, "9007199254740993")
	d.restart()
	d.pass(time.Hour)
	d.expect(send + "9007199254740993")
}

// TestTimesThatCannotBeRecorded shows that a time that cannot be recorded fails the step that needs
// it, and no other.
func TestTimesThatCannotBeRecorded(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: sets, when: message.received, do: [{ set: { at: '{{ date(message.text) + duration("48h") }}' } }, { send_message: "{{ at }}" }] }
  - { id: waits, when: message.received, do: [{ wait: { until: 'date(message.text) + duration("48h")' } }] }
`)
	d.customer(ana, "9999-12-31")
	d.wantStates("sets", journal.FailedRun)
	d.wantStates("waits", journal.FailedRun)
}
