package engine_test

import (
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
)

func fivePerConversation(o *deskOptions) {
	o.safety.PerConversation = duration.Rate{Times: 5, Per: 10 * time.Minute}
}

// TestBoundOfOneConversation shows that a customer who keeps writing puts the rule on hold in that
// conversation only.
func TestBoundOfOneConversation(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: "I am a robot" }] }
`, fivePerConversation)
	for range 20 {
		d.customer(ana, "so am I")
		d.pass(time.Second)
	}
	if n := len(d.effects()); n != 5 {
		t.Errorf("%d messages were sent to the one who writes too much", n)
	}
	d.customer(bia, "hello")
	d.expect(send + "I am a robot")
	d.pass(time.Hour)
	d.customer(ana, "are you there?")
	d.expect() // until a person resumes it
	must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
	d.rest()
	d.customer(ana, "are you there?")
	d.expect(send+"I am a robot", send+"I am a robot") // also for the message that was held
}

// TestResumedAtABound shows that a rule that a person resumes at its bound continues at once: the
// run that was held does not put it on hold again.
func TestResumedAtABound(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: "I am a robot" }] }
`, fivePerConversation)
	for range 7 {
		d.customer(ana, "so am I")
	}
	d.effects()
	must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
	d.rest()
	d.expect(send + "I am a robot")
	if holds := must(d.journal.Holds(t.Context())); len(holds) > 0 {
		t.Errorf("stopped again: %+v", holds)
	}
	for range 4 {
		d.customer(ana, "so am I")
	}
	if n := len(d.effects()); n != 4 {
		t.Errorf("%d messages were sent, counted anew", n)
	}
}

// TestBoundFilledByAnother shows that a rule that has sent nothing is not put on hold by the
// messages of another: it waits until a slot is free.
func TestBoundFilledByAnother(t *testing.T) {
	for name, bound := range map[string]func(*deskOptions){
		"conversation": fivePerConversation,
		"workspace":    func(o *deskOptions) { o.safety.Messages = duration.Rate{Times: 5, Per: 10 * time.Minute} },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `
rules:
  - { id: loud, when: message.received, do: [{ send_message: "I am a robot" }] }
  - { id: quiet, when: message.received, if: says("human"), do: [{ send_message: "Somebody will call you" }] }
`, bound)
			for range 6 {
				d.customer(ana, "so am I")
			}
			d.effects()
			d.customer(ana, "a human, please")
			d.expect()
			d.wantStates("quiet", journal.Held)
			for _, h := range must(d.journal.Holds(t.Context())) {
				if h.Rule != "loud" {
					t.Errorf("stopped: %+v", h)
				}
			}
			d.pass(11 * time.Minute)
			d.expect(send + "Somebody will call you")
			d.wantStates("quiet", journal.Done)
		})
	}
}
