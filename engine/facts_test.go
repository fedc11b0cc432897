package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

// labelledMeanwhile lets a customer write "go", and adds a label to the conversation before the
// engine gets the message's event, which does not have the label.
func (d *desk) labelledMeanwhile() {
	d.t.Helper()
	d.onlyRecord()
	w := d.written(ana, "go")
	must(d.client.UpdateConversation(d.t.Context(), w.Conversation.String(), labelled(d, "vip")))
	d.effects()
	d.rest()
}

// TestLabelAfterReading shows that functions see what a step has read anew of the conversation.
func TestLabelAfterReading(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - { send_message: before, if: has_label("vip") }
      - read_conversation
      - { send_message: behind, if: has_label("vip") }
`)
	d.labelledMeanwhile()
	d.expect(send + "behind")
}

// TestSkippedWait shows that a skipped wait has no effect: the facts stay valid, and a question
// before it stays the question.
func TestSkippedWait(t *testing.T) {
	for name, skipped := range map[string]string{"wait": `wait: 5m`, "wait_for": `wait_for: { event: message.received, timeout: 5m }`} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - { `+skipped+`, if: 'conversation.kind == "group"' }
      - { send_message: it has slept, if: has_label("vip") }
`)
			d.labelledMeanwhile()
			d.expect()
			d = newDesk(t, `
rules:
  - id: it
    when: attendance.opened
    do:
      - send_message: "1 sales, 2 support"
      - { `+skipped+`, if: 'conversation.kind == "group"' }
      - read_assignments
      - { wait_for: { event: message.received, timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
			d.fault("GET /conversations/{id}/assignments", "status_before", 503, 5)
			d.customer(ana, "hello")
			d.pass(3 * time.Second)
			d.customer(ana, "1")
			d.pass(time.Hour)
			d.expect(send+"1 sales, 2 support", send+"heard 1")
		})
	}
}

// TestSkippedQuestion shows that a skipped message is not the question.
func TestSkippedQuestion(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - send_message: "Are you sure?"
      - read_assignments
      - { send_message: "Really?", if: message.text == "no" }
      - { wait_for: { event: message.received, timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
	d.fault("GET /conversations/{id}/assignments", "status_before", 503, 5)
	d.customer(ana, "go")
	d.pass(3 * time.Second)
	d.customer(ana, "yes")
	d.pass(time.Hour)
	d.expect(send+"Are you sure?", send+"heard yes")
}

// TestOwnEffectIsKnown shows that changes made for an event are visible to later steps, of the same
// run and of later runs, whether the process dies in between or not.
func TestOwnEffectIsKnown(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	const rule = `
rules:
  - id: it
    when: WHEN
    if: [not has_label("vip")]
    do:
      - { log: "{{ conversation.name }} {{ contact.name }}" }
      - add_labels: [vip]
      - choose: [{ if: has_label("vip"), do: [{ send_message: "labelled {{ contact.name }}" }] }, { else: [{ send_message: not labelled }] }]
  - id: other
    when: WHEN
    if: [not has_label("vip")]
    do:
      - { send_message: the other knows it, if: has_label("vip") }
`
	for when, want := range map[string][]string{
		"message.received":    {patches, send + "labelled Ana Lima"}, // the event carries the conversation, and the other run uses that
		"kanban.card.created": {patches, send + "labelled Ana Lima", send + "the other knows it"},
	} {
		points := 0
		for n := 0; n <= points; n++ {
			r := &reaper{}
			d := newDesk(t, strings.ReplaceAll(rule, "WHEN", when), mortal(r))
			r.mu.Lock()
			r.points, r.at = nil, n
			r.mu.Unlock()
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana Lima", Text: "go"}))
			for range 8 {
				_ = d.Settle(t.Context()) // a delivery without an answer is repeated
				d.awaitArrived(r)
				_, _ = d.engine.Tick(t.Context(), d.clock.Now())
				if r.died() {
					d.revive(r)
				}
				d.move(d.clock.Now().Add(time.Minute))
			}
			if n == 0 {
				points = len(r.points)
			}
			if got := d.effects(); !slices.Equal(got, want) {
				t.Errorf("%s, dead at point %d of %d: %q, want %q", when, n, points, got, want)
			}
		}
	}
}

// TestOwnEffectInALoop shows that a run that moves to another lane for an item sees its changes for
// a finished item.
func TestOwnEffectInALoop(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - for_each:
          in: '["one", "two"]'
          do:
            - { add_labels: [vip], if: item == "one" }
            - { send_message: { text: "vip {{ has_label(\"vip\") }}", to: { phone: "`+bia+`", channel: Main } }, if: item == "two" }
`)
	d.customer(bia, "hello")
	d.customer(ana, "go")
	d.expect(patches, send+"vip true")
}
