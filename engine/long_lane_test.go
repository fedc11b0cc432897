package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// backlog writes so many messages in a conversation that its lane takes several visits, and closes
// the attendance at the end. None of it is decided yet.
func (d *desk) backlog() (messages int) {
	d.t.Helper()
	messages = 3*journal.MostEvents + 1
	for i := range messages {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana Lima", Text: fmt.Sprint(i)}))
	}
	must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
	if err := d.Settle(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return messages
}

// TestLongLane shows that a lane's events are handled in order before its runs continue, however
// many there are.
func TestLongLane(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "go", cancel_on: [attendance.closed], do: [{ wait: 5m }, { send_message: late }] }
  - { id: each, when: message.received, if: message.text != "go", mode: parallel, do: [{ send_message: "{{ message.text }}" }] }
`)
	d.customer(ana, "go")
	d.onlyRecord()
	messages := d.backlog()
	d.move(d.clock.Now().Add(10 * time.Minute))
	d.rest()
	var want []string
	for i := range messages {
		want = append(want, send+fmt.Sprint(i))
	}
	d.expect(want...)
	d.wantStates("it", journal.Cancelled)
}

// TestManyTicks shows that of many queued ticks only the last one runs.
func TestManyTicks(t *testing.T) {
	d := newDesk(t, "rules:\n  - { id: report, when: { every: 1h }, do: [{ log: x }] }\n")
	var ticks []rules.Event
	const n = 3*journal.MostEvents + 1
	for i := range n {
		at := friday.Add(time.Duration(i-n) * time.Hour)
		ticks = append(ticks, rules.Event{
			Workspace: "default", ID: "report/" + at.UTC().Format(time.RFC3339), Type: "schedule", Rule: "report", Lane: "schedule:report", CreatedAt: at, ReceivedAt: d.clock.Now(), Data: map[string]any{},
		})
	}
	must(d.journal.Accept(t.Context(), ticks))
	d.rest()
	want := append(slices.Repeat([]journal.Outcome{journal.Late}, n-1), journal.Fired)
	if got := d.outcomes("report"); !slices.Equal(got, want) {
		t.Errorf("verdicts: %v", got)
	}
}

// TestEndingFarBehind shows that a run does not continue past an event that cannot be decided yet,
// if an event behind it may end the run, even one far behind.
func TestEndingFarBehind(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: attendance.opened, cancel_on: [attendance.closed], do: [{ wait: 5m }, { send_message: late }] }
  - { id: asks, when: conversation.updated, if: attendance.status == "open" and conversation.sector_name == "Sales", do: [{ log: x }] }
`)
	d.customer(ana, "hello")
	d.pass(4 * time.Minute)
	d.fault("GET /conversations/{id}/attendance", "status_before", 503, 12)
	d.onlyRecord()
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", To: "Carla", Sector: "Sales"}))
	d.backlog()
	d.pass(time.Hour)
	d.expect()
	d.wantStates("it", journal.Cancelled)
}

// TestDueBeforeTheBacklog shows that events that come after a run was due do not delay it, however
// many there are: if they come faster than they are decided, the run would wait for ever.
func TestDueBeforeTheBacklog(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "go", do: [{ wait: 5m }, { send_message: waited }] }
  - { id: burst, when: message.received, gather: { quiet: 5m, at_most: 5m }, do: [{ send_message: "gathered {{ len(messages) }}" }] }
  - { id: each, when: message.received, if: message.text != "go", mode: parallel, do: [{ send_message: "{{ message.text }}" }] }
`)
	d.customer(ana, "go")
	d.onlyRecord()
	d.move(d.clock.Now().Add(6 * time.Minute))
	messages := d.backlog()
	d.rest()
	want := []string{send + "gathered 1", send + "waited"}
	for i := range messages {
		want = append(want, send+fmt.Sprint(i))
	}
	d.expect(want...)
	d.pass(5 * time.Minute)
	d.expect(send + fmt.Sprintf("gathered %d", messages))
}

// TestHeldBeforeTheBacklog shows that a held run does not continue before the events that came
// meanwhile are handled.
func TestHeldBeforeTheBacklog(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "go", cancel_on: [attendance.closed], do: [{ wait: 5m }, { send_message: late }] }
`)
	d.customer(ana, "go")
	now := d.clock.Now()
	if err := d.engine.Pause(t.Context(), now, "default", "it", "for lunch"); err != nil {
		t.Fatal(err)
	}
	d.pass(10 * time.Minute)
	d.wantStates("it", journal.Held)
	if err := d.engine.Pause(t.Context(), now, "default", "", "for lunch"); err != nil {
		t.Fatal(err)
	}
	d.onlyRecord()
	d.backlog()
	d.pass(time.Minute)
	must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
	must(d.engine.Resume(t.Context(), d.clock.Now(), "default", ""))
	d.rest()
	d.expect()
	d.wantStates("it", journal.Cancelled)
}

// TestEndingInTheBacklog shows that events that are recorded before a run continues are handled
// first, even if the run was due before they came and there are more than a visit loads.
func TestEndingInTheBacklog(t *testing.T) {
	t.Run("of a wait", func(t *testing.T) {
		d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "go", cancel_on: [attendance.closed], do: [{ wait: 5m }, { send_message: late }] }
  - { id: free, when: message.received, if: message.text == "go", do: [{ wait: 5m }, { send_message: in time }] }
`)
		d.customer(ana, "go")
		d.onlyRecord()
		d.move(d.clock.Now().Add(6 * time.Minute))
		d.backlog()
		d.rest()
		d.expect(send + "in time")
		d.wantStates("it", journal.Cancelled)
	})
	t.Run("of a step that is repeated", func(t *testing.T) {
		d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: message.text == "go", cancel_on: [attendance.closed], do: [read_assignments, { send_message: late }] }
`)
		d.fault("GET /conversations/{id}/assignments", "status_before", 503, 1)
		d.customer(ana, "go")
		d.onlyRecord()
		d.move(d.clock.Now().Add(6 * time.Minute))
		d.backlog()
		d.rest()
		d.expect()
		d.wantStates("it", journal.Cancelled)
	})
}
