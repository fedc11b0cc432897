package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

func (d *desk) written(phone, text string) sandbox.Written {
	d.t.Helper()
	w := must(d.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: "Ana Lima", Text: text}))
	if err := d.Settle(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return w
}

func TestReplacedRunWhoseTimeHasCome(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, mode: restart, do: [{ wait: 5m }, { send_message: "after {{ message.text }}" }] }
`)
	d.customer(ana, "one")
	d.move(friday.Add(time.Minute))
	d.written(ana, "two")
	d.move(friday.Add(20 * time.Minute))
	d.rest()
	d.expect(send + "after two")
	d.wantStates("it", journal.Cancelled, journal.Done)
}

// TestWorkspaceOfAnother shows that the lanes of a workspace of another engine stay due for that
// engine.
func TestWorkspaceOfAnother(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ log: x }] }
`)
	now := d.clock.Now()
	must(d.journal.Accept(t.Context(), []rules.Event{{Workspace: "other", ID: "1", Type: "message.received", Lane: "conversation:1", CreatedAt: now, ReceivedAt: now}}))
	if next := must(d.engine.Tick(t.Context(), now)); !next.IsZero() {
		t.Errorf("there is something to do at %v", next)
	}
	if lanes := must(d.journal.Claim(t.Context(), now, 10, nil)); len(lanes) != 1 || len(lanes[0].Events) != 1 {
		t.Errorf("%d lanes are due for the other engine", len(lanes))
	}
}

// TestTimesBetweenMicroseconds shows that a wait that begins between two microseconds ends when the
// journal says that it is due, and does not stay a moment too early for ever.
func TestTimesBetweenMicroseconds(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ log: x }, { wait: 5m }, { log: x }, { wait_for: { event: message.sent, timeout: 1h } }, { send_message: done }] }
`)
	d.move(friday.Add(1789 * time.Nanosecond))
	d.customer(ana, "hello")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		d.move(must(d.engine.Tick(ctx, d.clock.Now())))
		must(d.engine.Tick(ctx, d.clock.Now()))
	}
	d.expect(send + "done")
	d.wantStates("it", journal.Done)
}
