package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service/sandbox"
)

// marked has steps whose events come in a lane that is not known before the call has an answer,
// with that call.
var marked = map[string]struct{ step, call string }{
	"create_card":       {`create_card: { board: Sales, title: Another }`, "POST /kanban/cards"},
	"open_conversation": {`open_conversation: { channel: Main, phone: "+5511900001111" }`, "POST /conversations"},
	"send_message/to":   {`send_message: { text: hello, to: { phone: "+5511900001111", channel: Main } }`, "POST /conversations"},
}

// overheard returns a rule that takes a step when Ana writes go, and one that fires for the events
// that such a step causes, unless they are the engine's own.
func overheard(step, more string) string {
	return fmt.Sprintf(`
rules:
  - { id: it, when: message.received, if: 'message.text == "go"', %s do: [{ %s }, { log: done }] }
  - { id: heard, when: [attendance.opened, kanban.card.created, conversation.updated], do: [{ log: x }] }
`, more, step)
}

// fired returns how often the watching rule took an event for another sender's.
func (d *desk) fired() (n int) {
	d.t.Helper()
	for _, o := range d.outcomes("heard") {
		if o == journal.Fired {
			n++
		}
	}
	return n
}

// undecided returns how many events wait to be decided.
func (d *desk) undecided() (n int) {
	d.t.Helper()
	for _, e := range must(d.journal.ListEvents(d.t.Context(), journal.EventFilter{Limit: 1000})) {
		if !e.Decided {
			n++
		}
	}
	return n
}

// TestOwnAfterUncertainAnswers shows that the effects of a call are recognised, however often the
// call had no clear answer before it had its effect, and however long it has none after that, and
// that other events do not wait for it.
func TestOwnAfterUncertainAnswers(t *testing.T) {
	steps := maps.Clone(marked)
	steps["create_card/here"] = struct{ step, call string }{`create_card: { board: Sales, title: Another, conversation: "{{ conversation.id }}" }`, "POST /kanban/cards"}
	steps["add_labels"] = struct{ step, call string }{`add_labels: [vip]`, patches}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		for _, c := range []struct{ before, after int }{{0, 1}, {0, 8}, {3, 1}, {6, 1}, {6, 3}, {9, 1}} {
			if testing.Short() && c.before != 9 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d before, %d after", name, c.before, c.after), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, overheard(steps[name].step, ""))
				d.customer(ana, "hello")
				d.pass(time.Minute)
				others := d.fired()
				if c.before > 0 {
					d.fault(steps[name].call, "status_before", 503, c.before)
				}
				d.fault(steps[name].call, "drop_after", 0, c.after)
				d.customer(ana, "go")
				d.pass(2 * time.Hour)
				d.wantStates("it", journal.Done)
				if n := d.fired() - others; n != 1 || d.undecided() > 0 { // that her conversation has news is her own doing
					t.Errorf("%d events of the engine's own doing were taken for somebody else's, %d are undecided\n%s", n-1, d.undecided(), d.trace())
				}
			})
		}
	}
}

// An overtaken action finds that another sender has changed the object of its calls.
type overtaken struct{ actions.Action }

func (overtaken) Settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return actions.Settlement{Verdict: actions.Overtook, Why: phrases.Text("somebody else was faster")}, nil
}

// TestNobodyWaitsForCallThatIsOver shows that no event waits for a call that has ended, whatever
// the end was.
func TestNobodyWaitsForCallThatIsOver(t *testing.T) {
	uncertain := func(d *desk, call string) { d.fault(call, "status_before", 503, 1) }
	refusal := func(status int) func(*desk, string) {
		return func(d *desk, call string) { d.fault(call, "status_before", status, 1) }
	}
	ask := func(what journal.AskKind) func(*desk) {
		return func(d *desk) {
			if err := d.journal.Ask(d.t.Context(), d.clock.Now(), d.runs("it")[0].ID, journal.Ask{What: what, At: d.clock.Now()}); err != nil {
				d.t.Fatal(err)
			}
			d.rest()
		}
	}
	for end, c := range map[string]struct {
		retry  string
		rule   string
		before func(*desk, string)
		then   func(*desk)
		action func(actions.Action) actions.Action
		state  journal.State
	}{
		"it is refused":              {before: refusal(400), state: journal.FailedRun},
		"its object is gone":         {before: refusal(404), state: journal.FailedRun},
		"it is repeated later":       {before: refusal(408), state: journal.Running},
		"a scope is missing":         {before: refusal(403), state: journal.Held},
		"it is given up":             {retry: ", retry: { times: 1 }", before: uncertain, then: func(d *desk) { d.pass(11 * time.Second) }, state: journal.FailedRun},
		"somebody else was faster":   {before: uncertain, then: func(d *desk) { d.pass(11 * time.Second) }, action: func(a actions.Action) actions.Action { return overtaken{a} }, state: journal.Done},
		"a person cancels its run":   {before: uncertain, then: ask(journal.AskCancel), state: journal.Cancelled},
		"an event cancels its run":   {rule: "cancel_on: [attendance.closed],", before: uncertain, then: func(d *desk) { must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"})); d.rest() }, state: journal.Cancelled},
		"it is refused after a stop": {before: uncertain, then: func(d *desk) { d.restart(); d.ClearFaults(); refusal(400)(d, "*"); d.pass(11 * time.Second) }, state: journal.FailedRun},
	} {
		for i, name := range slices.Sorted(maps.Keys(marked)) {
			if testing.Short() && i > 0 {
				break
			}
			t.Run(end+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, overheard(marked[name].step+c.retry, c.rule), func(o *deskOptions) { o.action = c.action })
				d.customer(ana, "hello")
				d.pass(time.Minute)
				c.before(d, marked[name].call)
				d.customer(ana, "go")
				if c.then != nil {
					c.then(d)
				}
				d.wantStates("it", c.state)
				d.customer(bia, "hello")
				if n := d.undecided(); n > 0 {
					t.Errorf("%d events of another customer wait for the call\n%s", n, d.trace())
				}
			})
		}
	}
}

// TestOwnOfRunThatEnded shows that the effects of a call without an answer are recognised even if
// its run has ended meanwhile.
func TestOwnOfRunThatEnded(t *testing.T) {
	// A person closes Ana's attendance right after the call.
	fired := func(t *testing.T, name, fault string, state journal.State) int {
		d := newDesk(t, overheard(marked[name].step, "cancel_on: [attendance.closed],"))
		d.customer(ana, "hello")
		d.pass(time.Minute)
		if fault != "" {
			d.fault(marked[name].call, fault, 503, 1)
		}
		d.customer(ana, "go")
		must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
		d.rest()
		d.wantStates("it", state)
		d.pass(time.Hour)
		if n := d.undecided(); n > 0 {
			t.Errorf("%d events are undecided\n%s", n, d.trace())
		}
		return d.fired()
	}
	for _, name := range slices.Sorted(maps.Keys(marked)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			others := fired(t, name, "", journal.Done)
			for _, fault := range []string{"status_after", "drop_after"} {
				if n := fired(t, name, fault, journal.Cancelled); n != others {
					t.Errorf("%s: %d events were taken for somebody else's, of which %d are", fault, n, others)
				}
			}
		})
	}
}

// TestOwnAfterDeath shows that the effects of a call are recognised wherever the process dies, and
// that no event waits for the call once its run is over.
func TestOwnAfterDeath(t *testing.T) {
	told := func(t *testing.T, name string, n int) (points, fired int) {
		r := &reaper{}
		d := newDesk(t, overheard(marked[name].step, ""), mortal(r))
		d.customer(ana, "hello")
		d.pass(time.Minute)
		r.mu.Lock()
		r.points, r.at = nil, n
		r.mu.Unlock()
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana Lima", Text: "go"}))
		for range 60 {
			if err := d.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.awaitArrived(r)
			if _, err := d.engine.Tick(t.Context(), d.clock.Now()); err != nil && !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			if r.died() {
				d.revive(r)
			}
			d.move(d.clock.Now().Add(30 * time.Second))
		}
		d.wantStates("it", journal.Done)
		points = len(r.points)
		r.mu.Lock()
		r.at = 0
		r.mu.Unlock()
		d.customer(bia, "hello")
		if n := d.undecided(); n > 0 {
			t.Errorf("%d events are undecided\n%s", n, d.trace())
		}
		return points, d.fired()
	}
	for _, name := range slices.Sorted(maps.Keys(marked)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points, others := told(t, name, 0)
			for n := 1; n <= points; n += everyPoint() {
				if _, fired := told(t, name, n); fired != others {
					t.Errorf("dead at point %d: %d events were taken for somebody else's, of which %d are", n, fired, others)
				}
			}
		})
	}
}

// TestOwnMessageOfRunThatEnded shows that a message that a cancelled run has sent, and whose event
// comes later, is not taken for a person's.
func TestOwnMessageOfRunThatEnded(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
  - { id: watch, when: message.sent, do: [{ log: "{{ message.by }}" }] }
`)
	accept := d.sink
	var late []rules.Event
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		if events[0].Type != "message.received" {
			late = append(late, events...)
			return make([]bool, len(events)), nil
		}
		return accept(ctx, events...)
	}
	d.fault("POST /conversations/{id}/messages", "drop_after", 0, 1)
	d.customer(ana, "hello")
	if err := d.journal.Ask(t.Context(), d.clock.Now(), d.runs("it")[0].ID, journal.Ask{What: journal.AskCancel, At: d.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	d.rest()
	d.wantStates("it", journal.Cancelled)
	d.pass(2 * time.Minute)
	for i := range late {
		late[i].ReceivedAt = d.clock.Now()
	}
	must(accept(t.Context(), late...))
	d.rest()
	if got := d.outcomes("watch"); !slices.Equal(got, []journal.Outcome{journal.Own}) {
		t.Errorf("verdicts: %v\n%s", got, d.trace())
	}
}

// unreadableSteps is a journal that has a step in each run that cannot be decoded.
type unreadableSteps struct {
	fileJournal
	on atomic.Bool
}

func (j *unreadableSteps) Claim(ctx context.Context, now time.Time, most int, except []string) ([]*journal.Lane, error) {
	lanes, err := j.fileJournal.Claim(ctx, now, most, except)
	for _, lane := range lanes {
		for _, r := range lane.Runs {
			if j.on.Load() {
				r.Steps = slices.Insert(r.Steps, 0, &journal.Step{N: 99, Path: "torn", State: journal.StepOpen, Record: []byte(`{`)})
			}
		}
	}
	return lanes, err
}

// calling does something while a call is in flight.
type calling struct {
	actions.Action
	then func()
}

func (a calling) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	a.then()
	return a.Action.Do(ctx, s, i)
}

// TestOpenCallThatCannotBeRead shows that an event that a call may have caused is not decided if
// the call's record cannot be decoded, even if that shows only after another call was settled.
func TestOpenCallThatCannotBeRead(t *testing.T) {
	kept := &unreadableSteps{}
	var d *desk
	d = newDesk(t, overheard(`create_card: { board: Sales, title: Another, conversation: "{{ conversation.id }}" }`, ""), func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			kept.fileJournal = j
			return kept
		}
		o.action = func(a actions.Action) actions.Action {
			return calling{a, func() {
				if !kept.on.Load() {
					return
				}
				if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "enough"); err != nil {
					t.Error(err)
				}
			}}
		}
	})
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.fault("POST /kanban/cards", "status_after", 503, 1)
	d.customer(ana, "go")
	d.move(d.clock.Now().Add(11 * time.Second))
	waiting := d.undecided()
	kept.on.Store(true)
	if _, err := d.engine.Tick(t.Context(), d.clock.Now()); err == nil || !strings.Contains(err.Error(), "the record of step torn cannot be read") {
		t.Errorf("a record that cannot be read is not told: %v", err)
	}
	if n := d.undecided(); waiting == 0 || n != waiting {
		t.Errorf("%d of %d events that waited were decided\n%s", waiting-n, waiting, d.trace())
	}
}
