package engine_test

import (
	"strings"
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

// TestMuteNamesItsRun shows that a mute says which run it is of, also if that is the first step of
// a run whose event is not recorded yet, and that a skipped step says until when.
func TestMuteNamesItsRun(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ mute: 1h }, { send_message: never }] }
`)
	d.customer(ana, "hello")
	d.expect()
	mutes := must(d.journal.Mutes(t.Context(), d.clock.Now()))
	runs := d.runs("it")
	if len(mutes) != 1 || len(runs) != 1 || mutes[0].Run != runs[0].ID || mutes[0].Rule != "it" || !mutes[0].Until.Equal(mutes[0].Since.Add(time.Hour)) {
		t.Fatalf("the mute %+v is of the run %+v", mutes, runs)
	}
	run := must(d.journal.FindRun(t.Context(), runs[0].ID))
	if step := run.Steps[1]; step.State != journal.StepSkipped || !strings.Contains(string(step.Record), "the conversation is muted until") {
		t.Errorf("the message: %s %s", step.State, step.Record)
	}
	d.pass(2 * time.Hour)
	if mutes := must(d.journal.Mutes(t.Context(), d.clock.Now())); len(mutes) > 0 {
		t.Errorf("still muted: %+v", mutes)
	}
}
