package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// An answer counts also when the run could not yet wait for it: a call between the question and the wait was repeated, everything was stopped, or the engine was.
func TestAnswerBeforeTheWait(t *testing.T) {
	const rule = `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - send_message: "Are you sure?"
      - read_assignments
      - { wait_for: { event: [message.received, message.sent], if: 'message.text in ["yes", "Are you sure?"]', timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`
	const question = send + "Are you sure?"
	ask := func(t *testing.T) *desk {
		d := newDesk(t, rule)
		d.fault("GET /conversations/{id}/assignments", "status_before", 503, 5)
		d.customer(ana, "yes") // before it is asked
		d.pass(2 * time.Second)
		d.customer(ana, "go")
		d.pass(3 * time.Second)
		d.expect(question)
		return d
	}
	t.Run("a call is repeated", func(t *testing.T) {
		d := ask(t)
		d.customer(ana, "yes")
		d.pass(time.Hour)
		d.expect(send + "heard yes")
	})
	t.Run("no answer", func(t *testing.T) {
		d := ask(t)
		d.pass(time.Hour)
		d.expect(send + "nothing")
	})
	t.Run("everything is stopped", func(t *testing.T) {
		d := ask(t)
		if err := d.engine.Pause(t.Context(), d.clock.Now(), "", "", "x"); err != nil {
			t.Fatal(err)
		}
		d.customer(ana, "yes")
		d.pass(10 * time.Minute)
		must(d.engine.Resume(t.Context(), d.clock.Now(), "", ""))
		d.pass(time.Hour)
		d.expect(send + "heard yes")
	})
	t.Run("the engine was stopped", func(t *testing.T) {
		d := ask(t)
		d.onlyRecord()
		d.written(ana, "yes")
		d.move(d.clock.Now().Add(10 * time.Minute))
		d.restart()
		d.pass(time.Hour)
		d.expect(send + "heard yes")
	})
}

// What came late, but in its order, is heard as if it had come in time.
func TestAnswerThatComesLate(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: attendance.opened
    do:
      - { wait_for: { event: message.sent, if: message.by == "team", timeout: 15m }, id: answer }
      - stop_if: answer != nil
      - transfer: { sector: Sales }
`)
	if err := d.engine.Pause(t.Context(), d.clock.Now(), "", "", "x"); err != nil {
		t.Fatal(err)
	}
	d.customer(ana, "hello")
	d.pass(2 * time.Minute)
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "I am here"}))
	d.pass(10 * time.Minute)
	must(d.engine.Resume(t.Context(), d.clock.Now(), "", ""))
	d.pass(time.Hour)
	d.expect()
	d.wantStates("it", engine.Stopped)
}

// One answer is not taken for two, also where the service's clock is ahead and the answer seems to have come after the wait that it ended.
func TestAnswerIsHeardOnce(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - { wait_for: { event: message.received, timeout: 5m }, id: yes_one }
      - { wait_for: { event: message.received, timeout: 5m }, id: yes_two }
      - choose: [{ if: yes_two != nil, do: [{ send_message: "heard {{ yes_two.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
	accept := d.sink
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		for i := range events {
			events[i].CreatedAt = events[i].CreatedAt.Add(3 * time.Second)
		}
		return accept(ctx, events...)
	}
	d.customer(ana, "go")
	d.pass(10 * time.Second)
	d.customer(ana, "one")
	d.pass(time.Hour)
	d.expect(send + "nothing")
}
