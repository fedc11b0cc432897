package engine_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// many is more than the engine reads of a lane at once.
const many = 250

// chatter lets a customer write many messages at one instant, and last at the end.
func (d *desk) chatter(last string) {
	d.t.Helper()
	for i := range many {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana Lima", Text: fmt.Sprint("well ", i)}))
	}
	d.customer(ana, last)
}

// TestAnswerBehindManyMessages shows that a wait gets its answer even if many messages came between
// the question and the answer, before the run could wait.
func TestAnswerBehindManyMessages(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - send_message: "Are you sure?"
      - read_assignments
      - { wait_for: { event: message.received, if: message.text == "yes", timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
	d.fault("GET /conversations/{id}/assignments", "status_before", 503, 5)
	d.customer(ana, "go")
	d.pass(3 * time.Second)
	d.expect(send + "Are you sure?")
	d.chatter("yes")
	d.pass(time.Hour)
	d.expect(send + "heard yes")
}

// TestEndingBehindManyMessages shows that an event of cancel_on that came before the event it
// cancels is found among many others.
func TestEndingBehindManyMessages(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: attendance.opened, cancel_on: [{ event: message.received, if: message.text == "never mind" }], do: [{ wait: 5m }, { send_message: hello }] }
`)
	accept := d.sink
	var late []rules.Event
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		for _, e := range events {
			if e.Type == "attendance.opened" {
				late = append(late, e)
				return make([]bool, len(events)), nil
			}
		}
		return accept(ctx, events...)
	}
	d.chatter("never mind")
	must(accept(t.Context(), late...))
	d.pass(time.Hour)
	d.expect()
	d.wantStates("it", journal.Cancelled)
}

// TestEchoBehindManyEvents shows that the effects of a call are recognised when the service reports
// them twice, even if it reported much else just before.
func TestEchoBehindManyEvents(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: conversation.updated, if: conversation.sector_name == "Sales", limit: { times: 9, per: 1h }, do: [{ send_message: "You are with Sales" }] }
`)
	accept := d.sink
	var one rules.Event
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		for _, e := range events {
			if one = e; e.Type == "conversation.updated" {
				e.ID += " again"
				if _, err := accept(ctx, e); err != nil {
					return nil, err
				}
			}
		}
		return accept(ctx, events...)
	}
	d.customer(ana, "hello")
	d.pass(time.Minute)
	for i := range many {
		e := one
		e.ID, e.CreatedAt, e.ReceivedAt, e.Data = fmt.Sprint("other ", i), d.clock.Now(), d.clock.Now(), maps.Clone(e.Data)
		e.Data["unread"] = i%2 == 0
		must(accept(t.Context(), e))
	}
	d.rest()
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", Sector: "Sales"}))
	d.pass(time.Hour)
	d.expect(send+"You are with Sales", send+"You are with Sales") // the service reported the transfer twice
}
