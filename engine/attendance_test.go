package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

// TestCloseTheAttendanceOfTheRun shows that a run closes the attendance that was open when it
// began, and leaves the customer's next one open.
func TestCloseTheAttendanceOfTheRun(t *testing.T) {
	closeAna := func(d *desk) {
		d.t.Helper()
		must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
		d.rest()
	}
	t.Run("behind a wait", func(t *testing.T) {
		for _, closed := range []bool{false, true} {
			d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "bye", do: [{ wait: 1h }, { close_attendance: "nobody wrote" }, { log: behind }] }
`)
			d.customer(ana, "bye")
			want := []string{closes + "nobody wrote"}
			if closed {
				closeAna(d)
				d.customer(ana, "hello again")
				want = nil
			}
			d.pass(2 * time.Hour)
			d.expect(want...)
			d.wantStates("it", journal.Done)
		}
	})
	// The second run begins after the first one has closed the attendance, when another is open.
	t.Run("behind another run", func(t *testing.T) {
		d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "bye", do: [{ send_message: "closing" }, { wait: 1h, if: not human_active("1h") }, close_attendance] }
`)
		d.customer(ana, "bye")
		d.pass(time.Minute)
		d.customer(ana, "bye")
		must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "we are done"}))
		closeAna(d)
		d.pass(30 * time.Minute)
		d.customer(ana, "hello again")
		d.pass(2 * time.Hour)
		d.expect(send+"closing", send+"closing")
	})
	t.Run("of what was gathered", func(t *testing.T) {
		d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "bye", gather: { quiet: 1m }, do: [{ wait: 1h }, close_attendance] }
`)
		d.customer(ana, "bye")
		d.pass(2 * time.Minute)
		closeAna(d)
		d.customer(ana, "hello again")
		d.pass(2 * time.Hour)
		d.expect()
	})
	// The first of two runs of one event closes the attendance.
	t.Run("behind a run of the same event", func(t *testing.T) {
		d := newDesk(t, `
rules:
  - { id: first, when: message.received, if: message.text == "bye", do: [close_attendance] }
  - { id: second, when: message.received, if: message.text == "bye", do: [{ wait: 1h }, close_attendance] }
`)
		d.customer(ana, "bye")
		d.pass(time.Minute)
		d.customer(ana, "hello again")
		d.pass(2 * time.Hour)
		d.expect(strings.TrimSpace(closes))
	})
	// The run could not take its first step for hours.
	t.Run("after a pause", func(t *testing.T) {
		d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "bye", do: [{ send_message: "closing" }, close_attendance] }
`)
		d.fault("POST /conversations/{id}/messages", "status_before", 503, 3)
		d.customer(ana, "bye")
		closeAna(d)
		d.customer(ana, "hello again")
		d.pass(2 * time.Hour)
		d.expect(send + "closing")
	})
}
