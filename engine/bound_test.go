package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
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

// TestInternalVerdict shows that the verdict on an event in a chat of our own says whose it is. If
// the desk cannot tell now, the rules wait for it; if it never can, they start.
func TestInternalVerdict(t *testing.T) {
	const text = `
rules:
  - { id: customers, when: message.received, do: [log: x] }
  - { id: everybody, when: message.received, internal: run, do: [log: x] }
`
	for name, c := range map[string]struct {
		errs []error // of the first calls
		want journal.Outcome
	}{
		"known":         {nil, journal.Internal},
		"known later":   {[]error{errors.New("503"), errors.New("503")}, journal.Internal},
		"no such scope": {[]error{actions.Denied(errors.New("contacts:read"))}, journal.Fired},
		"never known":   {[]error{actions.Permanent(errors.New("gone"))}, journal.Fired},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, text, func(o *deskOptions) {
				o.safety.Internal = func(_ context.Context, about actions.Subject, _ func() (any, error)) (string, error) {
					if len(c.errs) > 0 {
						err := c.errs[0]
						c.errs = c.errs[1:]
						return "", err
					}
					return map[bool]string{true: "Carla"}[about.Conversation != ""], nil
				}
			})
			d.customer(ana, "ok")
			d.pass(time.Minute)
			d.wantOutcomes("customers", c.want)
			d.wantOutcomes("everybody", journal.Fired)
			for _, e := range must(d.journal.ListEvents(t.Context(), journal.EventFilter{Rule: "customers", Limit: 1})) {
				if v := e.Verdicts[0]; c.want == journal.Internal && v.Error != "the chat of Carla is one of our own" {
					t.Errorf("%s: %s", v.Rule, v.Error)
				}
			}
		})
	}
}
