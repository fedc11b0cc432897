package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// fault asks the sandbox for a fault.
func (d *desk) fault(operation, kind string, status, count int) {
	d.t.Helper()
	if err := d.AddFault(sandbox.Fault{Operation: operation, Kind: kind, Status: status, Count: count}); err != nil {
		d.t.Fatal(err)
	}
}

func TestTransferThatWasAnsweredWithAnErrorAfterItsEffect(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ transfer: { sector: Sales, reason: because } }] }
`)
	d.fault("POST /conversations/{id}/transfer", "status_after", 503, 1)
	d.customer(ana, "hello")
	d.wantStates("it", journal.Running)
	d.pass(time.Minute)
	d.expect(transfers + "because")
	d.wantStates("it", journal.Done)
}

// TestTheNextAttendanceIsNotClosed shows that a customer's new attendance is left open that begins
// while the close of the one before is uncertain.
func TestTheNextAttendanceIsNotClosed(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: 'message.text == "bye"', do: [{ close_attendance: { reason: because } }] }
`)
	d.customer(ana, "hello")
	d.fault("POST /conversations/{id}/attendance/close", "status_before", 503, 1)
	d.customer(ana, "bye")
	d.wantStates("it", journal.Running)
	must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
	d.customer(ana, "one more thing")
	d.pass(time.Hour)
	d.expect()
	if list := must(d.client.ListAttendances(t.Context(), service.AttendanceQuery{Status: "open"})); len(list.Items) != 1 {
		t.Errorf("%d open attendances", len(list.Items))
	}
	if state := d.runs("it")[0].State; !state.Finished() {
		t.Errorf("the run is %s\n%s", state, d.trace())
	}
}

// TestAPersonIsNotOverruled shows that a person who moved the conversation meanwhile is not
// overruled.
func TestAPersonIsNotOverruled(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ transfer: { sector: Sales, reason: because } }, { log: and on }] }
`)
	d.fault("POST /conversations/{id}/transfer", "status_before", 503, 1)
	d.customer(ana, "hello")
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", To: "Carla"}))
	d.pass(time.Hour)
	d.expect()
	run := d.runs("it")[0]
	if run.State != journal.Done || run.Steps[0].State != journal.StepSuperseded {
		t.Errorf("%s\n%s", run.State, d.trace())
	}
}

// TestPauseAfterTooManyRequests shows that no engine of the workspace calls while the service asks
// for a pause, and that everything continues then.
func TestPauseAfterTooManyRequests(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: "hello {{ contact.name }}" }] }
`)
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: 429, RetryAfter: 30, Count: 1}); err != nil {
		t.Fatal(err)
	}
	d.customer(ana, "hello")
	d.customer(bia, "hello")
	d.pass(29 * time.Second)
	d.expect()
	d.restart() // the pause outlives the process
	d.pass(500 * time.Millisecond)
	d.expect()
	d.pass(2 * time.Second)
	d.expectInAnyOrder(send+"hello Ana Lima", send+"hello Bia Reis")
	for _, r := range d.runs("it") {
		if r.State != journal.Done || r.Steps[0].Attempts != 1 {
			t.Errorf("%s\n%s", r.State, d.trace())
		}
	}
}

// TestRefusedKey shows that a refused key holds everything and loses nothing.
func TestRefusedKey(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: "hello {{ contact.name }}" }] }
`)
	key := must(d.NewKey(sandbox.NewKey{Name: "second", Scopes: sandbox.Scopes}))
	d.key = service.Secret(key.APIKey)
	d.restart()
	d.customer(ana, "hello")
	d.expect(send + "hello Ana Lima")
	if err := d.RevokeKey(key.ID); err != nil {
		t.Fatal(err)
	}
	d.customer(ana, "are you there?")
	d.customer(bia, "hello")
	d.pass(10 * time.Minute)
	d.expect()
	if holds := must(d.journal.Holds(t.Context())); len(holds) != 1 || holds[0].Kind != journal.HoldKey {
		t.Errorf("holds: %+v", holds)
	}
	d.key = service.Secret(d.address.APIKey)
	d.restart()
	d.pass(time.Minute)
	d.expectInAnyOrder(send+"hello Ana Lima", send+"hello Bia Reis")
	d.wantStates("it", journal.Done, journal.Done, journal.Done)
}

// TestMissingScope shows that a scope that the key lacks holds only what needs it, until the key
// has the scope.
func TestMissingScope(t *testing.T) {
	t.Parallel()
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ transfer: { sector: Sales, reason: because } }] }
  - { id: other, when: message.received, do: [{ send_message: "hello {{ contact.name }}" }] }
`)
	d.fault("POST /conversations/{id}/transfer", "status_before", 403, 0)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.customer(bia, "hello")
	d.pass(time.Hour)
	d.move(d.clock.Now().Add(26 * time.Hour)) // longer than a call is repeated
	d.pass(time.Minute)
	d.expect(send+"hello Ana Lima", send+"hello Bia Reis")
	d.wantStates("it", journal.Held, journal.Held)
	d.restart()
	d.ClearFaults()
	d.pass(time.Minute)
	d.expectInAnyOrder(transfers+"because", transfers+"because")
	d.wantStates("it", journal.Done, journal.Done)
}

// TestPausedWhileAScopeIsMissing shows that the lane of a paused rule that lacks a scope is not due
// all the time.
func TestPausedWhileAScopeIsMissing(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ transfer: { sector: Sales, reason: because } }] }
`)
	d.fault("POST /conversations/{id}/transfer", "status_before", 403, 1)
	d.customer(ana, "hello")
	d.wantStates("it", journal.Held)
	if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "too loud"); err != nil {
		t.Fatal(err)
	}
	d.move(d.clock.Now().Add(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if next, err := d.engine.Tick(ctx, d.clock.Now()); err != nil || !next.IsZero() {
		t.Fatalf("it is due at %v: %v", next, err)
	}
	must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
	d.rest()
	d.expect(transfers + "because")
	d.wantStates("it", journal.Done)
}

func TestCards(t *testing.T) {
	const rule = `
rules:
  - id: it
    when: attendance.closed
    do:
      - find_card: { board: Sales, q: "{{ contact.phone }}", expect: one }
      - move_card: { to: Follow-up, only_from: Proposal }
`
	move := func(stages ...string) func(*desk) {
		return func(d *desk) {
			for _, stage := range stages {
				must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: stage, Person: "Bruno"}))
			}
		}
	}
	for _, c := range []struct {
		name, stage string
		prepare     func(*desk) // before the attendance is closed
		meanwhile   func(*desk) // when the call has been planned
		effects     []string
		step        journal.StepState
	}{
		{"it is moved", "Proposal", nil, nil, []string{moves}, journal.StepDone},
		{"it is there already", "Follow-up", nil, nil, nil, journal.StepDone},
		{"it is somewhere else", "Lead", nil, nil, nil, journal.StepSkipped},
		{"the service is not there", "Proposal", func(d *desk) { d.fault("POST /kanban/cards/{id}/move", "status_before", 503, 1) }, nil, []string{moves}, journal.StepDone},
		{"the answer was lost, and the key is pending", "Proposal", func(d *desk) { d.fault("POST /kanban/cards/{id}/move", "drop_after", 0, 1) }, nil, []string{moves}, journal.StepDone},
		{"its version moves on", "Proposal", nil, move("Lead", "Proposal"), []string{moves}, journal.StepDone},
		{"a person moves it on", "Proposal", nil, move("Won"), nil, journal.StepSkipped},
		{"a person moves it there", "Proposal", nil, move("Follow-up"), nil, journal.StepDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d *desk
			var once sync.Once
			d = newDesk(t, rule, func(o *deskOptions) {
				o.action = func(a actions.Action) actions.Action {
					return interrupted{a, func() {
						if c.meanwhile != nil {
							once.Do(func() { c.meanwhile(d) })
						}
					}}
				}
			})
			w := d.customer(ana, "hello")
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: c.stage, Title: "Order", Conversation: w.Conversation.String()}))
			if c.prepare != nil {
				c.prepare(d)
			}
			must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
			d.pass(time.Hour)
			d.expect(c.effects...)
			run := d.runs("it")[0]
			if run.State != journal.Done || run.Steps[1].State != c.step {
				t.Errorf("%s\n%s", run.State, d.trace())
			}
		})
	}
}

// An interrupted action does something before its call.
type interrupted struct {
	actions.Action
	before func()
}

func (a interrupted) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	a.before()
	return a.Action.Do(ctx, s, i)
}

// TestSafetyBound has a rule that answers every message, against a customer who does so, too.
func TestSafetyBound(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: "I am a robot" }] }
  - { id: other, when: message.received, do: [{ log: heard }] }
`, func(o *deskOptions) { o.safety.PerConversation = duration.Rate{Times: 5, Per: 10 * time.Minute} })
	for range 20 {
		d.customer(ana, "so am I")
		d.pass(time.Second)
	}
	if n := len(d.effects()); n != 5 {
		t.Errorf("%d messages were sent", n)
	}
	holds := must(d.journal.Holds(t.Context()))
	if len(holds) != 1 || holds[0].Kind != journal.HoldSafety || holds[0].Rule != "it" {
		t.Errorf("holds: %+v", holds)
	}
	if got := d.outcomes("it"); got[5] != journal.Fired || got[6] != journal.Paused || got[19] != journal.Paused {
		t.Errorf("verdicts: %v", got)
	}
	if got := d.outcomes("other"); got[19] != journal.Fired {
		t.Errorf("another rule: %v", got)
	}
	d.pass(20 * time.Minute)
	d.expect()
	must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
	d.rest()
	d.expect(send + "I am a robot") // the message that was held
}

// TestRunKeepsItsVersion shows that a run ends with the rule's version that it began with, whatever
// is loaded meanwhile.
func TestRunKeepsItsVersion(t *testing.T) {
	const text = `
rules:
  - { id: it, when: message.received, do: [{ wait: 10m }, { send_message: "VERSION" }] }
`
	d := newDesk(t, text)
	d.customer(ana, "hello")
	d.set = desktest.Compile(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: "another" }] }
`)
	if err := d.engine.SetRules("default", d.set); err != nil {
		t.Fatal(err)
	}
	d.customer(bia, "hello")
	d.expect(send + "another")
	d.restart()
	d.pass(time.Hour)
	d.expect(send + "VERSION")
	d.wantStates("it", journal.Done, journal.Done)
}

// TestUncertainCall shows that a person resolves a call to another system that was cut off: its
// outcome is unknown.
func TestUncertainCall(t *testing.T) {
	for _, c := range []struct {
		ask   journal.AskKind
		calls int
	}{{journal.AskDone, 1}, {journal.AskRepeat, 2}} {
		t.Run(string(c.ask), func(t *testing.T) {
			r, other := &reaper{}, newOutside(t)
			d := newDesk(t, fmt.Sprintf(`
rules:
  - id: it
    when: message.received
    do: [{ http_request: { method: POST, url: "%s/order", json: { text: "{{ message.text }}" } } }, { send_message: ordered }]
`, other.URL), mortal(r), other.allow)
			d.onlyRecord()
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "one pizza"}))
			if err := d.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.mu.Lock()
			r.points, r.at = nil, 4 // before save, after save, before the call, after the call
			r.mu.Unlock()
			if _, err := d.engine.Tick(t.Context(), d.clock.Now()); !errors.Is(err, errDead) || r.points[3] != "after http" {
				t.Fatal(err, r.points)
			}
			d.revive(r)
			d.pass(time.Hour)
			d.wantStates("it", journal.Uncertain)
			d.expect()
			if err := d.journal.Ask(t.Context(), d.clock.Now(), d.runs("it")[0].ID, journal.Ask{What: c.ask, At: d.clock.Now()}); err != nil {
				t.Fatal(err)
			}
			d.rest()
			d.wantStates("it", journal.Done)
			d.expect(send + "ordered")
			if other.calls != c.calls || len(other.keys) != 1 {
				t.Errorf("%d calls with %d keys", other.calls, len(other.keys))
			}
			told := must(engine.DetailOf(d.runs("it")[0].Steps[0]))
			if len(told.Calls) != 1 || !told.Calls[0].Made || told.Calls[0].Request == nil {
				t.Errorf("what was sent is not told: %+v", told.Calls)
			}
			counts := must(d.journal.Counts(t.Context(), journal.CountFilter{}))
			if i := slices.IndexFunc(counts, func(c journal.Count) bool { return c.What == journal.CountEffects }); i < 0 || counts[i].N != 2 {
				t.Errorf("both calls had their effects, and counted is %+v", counts)
			}
		})
	}
}
