package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// TestAnswerBeforeTheWait shows that an answer counts even if the run could not wait for it yet: a
// call between the question and the wait was repeated, everything was paused, or the engine was
// stopped.
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
		d.customer(ana, "yes") // before the question
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

// TestAnswerThatComesLate shows that an event that came late, but in order, is handled as if it had
// come in time.
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
	d.wantStates("it", journal.Stopped)
}

// TestAnswerIsHeardOnce shows that one answer is not taken for two, even if the service's clock is
// ahead and the answer seems to have come after the wait that it ended.
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

const menu = `
rules:
  - id: menu
    when: attendance.opened
    do:
      - send_message: "1 sales, 2 support"
      - { wait_for: { event: message.received, timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`

// TestMessageBeforeTheQuestion shows that what the customer wrote before the question is no answer
// to it, in whatever order deliveries come and whatever the clocks say.
func TestMessageBeforeTheQuestion(t *testing.T) {
	const question = send + "1 sales, 2 support"
	for name, ahead := range map[string]time.Duration{"the same clock": 0, "the service's clock is ahead": 3 * time.Second, "the service's clock is behind": -3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			for _, late := range []time.Duration{0, time.Second, time.Minute} {
				d := newDesk(t, menu, func(o *deskOptions) { o.ahead = ahead })
				opening := d.holdBack("message.received")
				d.customer(ana, "hello")
				d.expect(question)
				d.pass(late)
				opening()
				d.pass(time.Second)
				d.expect()
				d.wantStates("menu", journal.Waiting)
				d.customer(ana, "1")
				d.expect(send + "heard 1")
			}
		})
	}
	t.Run("in order", func(t *testing.T) {
		d := newDesk(t, menu)
		d.customer(ana, "hello")
		d.pass(time.Hour)
		d.expect(question, send+"nothing")
	})
	// The event may come long after the message was written.
	t.Run("told of afterwards", func(t *testing.T) {
		d := newDesk(t, menu)
		accept := d.sink
		d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
			for i := range events {
				if events[i].Type == "message.received" {
					events[i].CreatedAt = events[i].CreatedAt.Add(10 * time.Second)
				}
			}
			return accept(ctx, events...)
		}
		d.customer(ana, "hello")
		d.pass(time.Hour)
		d.expect(question, send+"nothing")
	})
	// The message existed before its call was answered: a message in between is the answer, and one
	// before it is not.
	t.Run("the call is repeated", func(t *testing.T) {
		for _, answered := range []bool{true, false} {
			d := newDesk(t, menu)
			d.fault("POST /conversations/{id}/messages", "status_after", 503, 1)
			opening := d.holdBack("message.received")
			d.customer(ana, "hello")
			d.pass(2 * time.Second)
			opening()
			want := send + "nothing"
			if answered {
				d.written(ana, "1")
				want = send + "heard 1"
			}
			d.pass(time.Hour)
			d.expect(question, want)
		}
	})
}

// TestMessageToSomebodyElse shows that a message to another conversation is not the question.
func TestMessageToSomebodyElse(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: menu
    when: message.received
    if: message.text == "go"
    do:
      - send_message: "Are you sure?"
      - send_message: { to: { phone: "+5511966665555", channel: Main }, text: "they were asked" }
      - { wait_for: { event: message.received, timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511966665555", Name: "Caio", Text: "hello"}))
	d.rest()
	d.fault("GET /conversations", "status_before", 503, 4)
	d.customer(ana, "go")
	d.pass(2 * time.Second)
	d.expect(send + "Are you sure?")
	d.customer(ana, "yes")
	d.pass(time.Hour)
	d.expect(send+"they were asked", send+"heard yes")
}

// TestAnswerToTheRunBefore shows that a run that was queued does not take the answer that the run
// before it got for its own, also where it writes to another conversation before it waits.
func TestAnswerToTheRunBefore(t *testing.T) {
	// The wait counts from the event, so that of the second run is over when it begins.
	for _, first := range []string{"log: hello", "wait: 1s"} {
		t.Run(first, func(t *testing.T) {
			d := newDesk(t, `
rules:
  - id: menu
    when: message.received
    if: message.text == "go"
    do:
      - `+first+`
      - send_message: { to: { phone: "+5511966665555", channel: Main }, text: "they were asked" }
      - { wait_for: { event: message.received, if: 'message.text != "go"', timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511966665555", Name: "Caio", Text: "hello"}))
			d.rest()
			d.customer(ana, "go")
			d.customer(ana, "go")
			d.pass(3 * time.Second)
			d.expect(send + "they were asked")
			d.customer(ana, "yes")
			d.expect(send+"heard yes", send+"they were asked")
			d.pass(time.Minute)
			d.customer(ana, "no")
			d.expect(send + "heard no")
		})
	}
}

// TestTwoAnswersInARow shows that two waits in a row get two messages, even of one instant, and
// that the second wait ignores those that the first one skipped.
func TestTwoAnswersInARow(t *testing.T) {
	const rule = `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - { wait_for: { event: message.received, if: 'message.text in ["one", "two"]', timeout: 5m }, id: yes_one }
      - { wait_for: { event: message.received, timeout: 5m }, id: yes_two }
      - choose: [{ if: yes_two != nil, do: [{ send_message: "{{ yes_one.message.text }} {{ yes_two.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`
	for _, tt := range []struct {
		says []string
		want string
	}{
		{[]string{"well", "one", "two"}, "one two"},
		{[]string{"one", "two"}, "one two"},
		{[]string{"one", "well"}, "one well"},
		{[]string{"well", "one"}, "nothing"},
	} {
		d := newDesk(t, rule)
		d.customer(ana, "go")
		d.pass(10 * time.Second)
		for _, text := range tt.says {
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: text}))
		}
		d.pass(time.Hour)
		d.expect(send + tt.want)
	}
}

// TestAnswerAfterTheDeadline shows that what is written after the deadline is no answer, even if
// the engine has not looked since.
func TestAnswerAfterTheDeadline(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{4 * time.Minute, "heard 1"}, {6 * time.Minute, "nothing"}} {
		d := newDesk(t, menu)
		d.customer(ana, "hello")
		d.pass(time.Second)
		d.effects()
		d.onlyRecord()
		d.move(d.clock.Now().Add(tt.after))
		d.written(ana, "1")
		d.move(d.clock.Now().Add(10 * time.Minute))
		d.restart()
		d.pass(time.Minute)
		d.expect(send + tt.want)
	}
}

// holdBack delays events of some types until the returned function is called.
func (d *desk) holdBack(types ...string) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	accept := d.sink
	var held []rules.Event
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		if slices.ContainsFunc(events, func(e rules.Event) bool { return slices.Contains(types, e.Type) }) {
			d.mu.Lock()
			defer d.mu.Unlock()
			held = append(held, events...)
			return make([]bool, len(events)), nil
		}
		return accept(ctx, events...)
	}
	return func() {
		d.t.Helper()
		d.mu.Lock()
		d.sink = accept
		d.mu.Unlock()
		for i := range held {
			held[i].ReceivedAt = d.clock.Now()
		}
		must(accept(d.t.Context(), held...))
		d.rest()
	}
}

// TestFirstStepOfARunThatHadToWait shows that a wait_for that is the first step of a delayed run,
// behind another run or the end of a gather, gets the events since the one that started the run,
// and none from before it.
func TestFirstStepOfARunThatHadToWait(t *testing.T) {
	t.Run("queued", func(t *testing.T) {
		for _, more := range []int{0, 2 * journal.MostEvents} {
			d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - { wait_for: { event: message.received, if: 'message.text not in ["go", "well"]', timeout: 5m }, id: answer }
      - wait: 10m
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
			d.customer(ana, "go")
			d.pass(time.Minute)
			d.customer(ana, "one")
			d.pass(time.Minute)
			d.customer(ana, "go") // it begins when the first one is over
			d.pass(time.Minute)
			for range more {
				d.customer(ana, "well")
			}
			d.customer(ana, "two")
			d.pass(30 * time.Minute)
			d.expect(send+"heard one", send+"heard two")
		}
	})
	t.Run("gathered", func(t *testing.T) {
		for _, last := range []bool{true, false} {
			d := newDesk(t, `
rules:
  - id: it
    when: message.received
    gather: { quiet: 1m }
    do:
      - { wait_for: { event: message.sent, timeout: 5m }, id: answer }
      - choose: [{ if: answer != nil, do: [{ send_message: "heard {{ answer.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
			reply := func() {
				d.pass(15 * time.Second)
				must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "I am here"}))
				d.pass(15 * time.Second)
			}
			want := send + "nothing"
			d.customer(ana, "hello")
			if !last {
				reply()
			}
			d.customer(ana, "is anybody there?")
			if last {
				reply()
				want = send + "heard I am here"
			}
			d.pass(time.Hour)
			d.expect(want)
		}
	})
}

// TestTwoAnswersWhileStopped shows that messages that came while everything was paused are handled
// one after the other, by one wait each.
func TestTwoAnswersWhileStopped(t *testing.T) {
	for _, rounds := range []int{1, 3} {
		d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - { wait_for: { event: message.received, timeout: 30m }, id: yes_one }
      - { wait_for: { event: message.received, timeout: 5m }, id: yes_two }
      - choose: [{ if: yes_two != nil, do: [{ send_message: "{{ yes_one.message.text }} {{ yes_two.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
		if err := d.engine.Pause(t.Context(), d.clock.Now(), "", "", "x"); err != nil {
			t.Fatal(err)
		}
		d.customer(ana, "go")
		for i := range 2 * rounds {
			d.customer(ana, []string{"one", "two", "three", "four", "five", "six"}[i])
			d.pass(time.Duration(i) * 5 * time.Second)
		}
		d.pass(10 * time.Minute)
		must(d.engine.Resume(t.Context(), d.clock.Now(), "", ""))
		d.pass(time.Second)
		d.expect(send + "one two")
	}
}

// TestTwoAnswersBeforeTheRunBegins shows that messages that came while a run was gathering are
// handled one after the other too.
func TestTwoAnswersBeforeTheRunBegins(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: attendance.opened
    gather: { quiet: 40s }
    do:
      - { wait_for: { event: message.received, if: message.text == "one", timeout: 5m }, id: yes_one }
      - { wait_for: { event: message.received, timeout: 5m }, id: yes_two }
      - choose: [{ if: yes_two != nil, do: [{ send_message: "{{ yes_one.message.text }} {{ yes_two.message.text }}" }] }, { else: [{ send_message: nothing }] }]
`)
	for _, text := range []string{"hello", "one", "two"} {
		d.customer(ana, text)
		d.pass(10 * time.Second)
	}
	d.pass(time.Hour)
	d.expect(send + "one two")
}
