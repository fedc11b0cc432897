package ruletest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// desk is a rule set whose every weakness shows in its effects: one rule sends and transfers, the
// other would react to that if it took the engine's effects for those of others.
const desk = `
rules:
  - id: escalate
    when: attendance.opened
    cancel_on: [{ event: message.sent, if: message.by == "team" }]
    do:
      - wait: 15m
      - send_message: Somebody will be with you.
      - transfer: Supervisors
  - id: watch
    when: [conversation.updated, message.sent]
    if: conversation.sector_name == "Supervisors" or event.type == "message.sent"
    do: [{ add_labels: [vip] }]
tests:
  - name: it
    start: 2026-11-13T17:50:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - { customer: Marina, says: Hello }
      - { at: "18:04", expect: [] }
      - { at: "18:15", expect: [send_message, transfer] }
      - { at: "19:00", expect: [] }
    faults: %s
`

// answered is a story in which a person comes before the engine.
const answered = `
rules:
  - id: escalate
    when: attendance.opened
    cancel_on: [{ event: message.sent, if: message.by == "team" }]
    do:
      - wait: 15m
      - transfer: Supervisors
tests:
  - name: it
    start: 2026-11-13T17:50:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - { customer: Marina, says: Hello }
      - { at: +5s, team: Bruno, to: Marina, says: Hello Marina }
      - { at: "19:00", expect: [] }
    faults: %s
`

// punctual is the story of the desk, which leaves no more time than the wait takes.
var punctual = strings.Replace(desk, `"18:15"`, `"18:06"`, 1)

// TestFaultsOfSoundEngine shows that an engine without a bug holds under the faults.
func TestFaultsOfSoundEngine(t *testing.T) {
	for _, story := range []string{desk, answered} {
		r := tell(t, fmt.Sprintf(story, "all"))
		r.passes(t)
		if r.Tellings < 20 && !testing.Short() {
			t.Errorf("the story was told %d times", r.Tellings)
		}
	}
	r := tell(t, fmt.Sprintf(punctual, "{ deliver: late }"))
	r.passes(t)
}

// TestFaultsFindWeakEngines plants a bug into the engine for each fault, which no story finds
// without the fault. That the same stories hold without the bug is TestFaultsOfSoundEngine.
func TestFaultsFindWeakEngines(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	kept := func(wrap func(journal.Journal) journal.Journal) func(*Options) {
		return func(o *Options) { o.journal = wrap }
	}
	action := func(wrap func(actions.Action) actions.Action) func(*Options) {
		return func(o *Options) { o.action = wrap }
	}
	tests := map[string]struct {
		story, faults, fault string
		plant                func(*Options)
	}{
		"answers before it has recorded": {desk, "{ crash: every_step }", "crash every_step",
			kept(func(j journal.Journal) journal.Journal { return &hasty{Journal: j} })},
		"calls before it has recorded the intent": {desk, "{ crash: every_step }", "crash every_step",
			kept(func(j journal.Journal) journal.Journal { return &careless{Journal: j} })},
		"repeats without a look, after a crash": {desk, "{ crash: every_step }", "crash every_step",
			action(func(a actions.Action) actions.Action { return blind{a} })},
		"repeats without a look, after an error": {desk, "{ service: 503_after }", "service 503_after",
			action(func(a actions.Action) actions.Action { return blind{a} })},
		"makes a new key for each call": {desk, "{ service: 503_after }", "service 503_after",
			action(func(a actions.Action) actions.Action { return &fickle{Action: a} })},
		"takes an error for the end": {desk, "{ service: 503_before }", "service 503_before",
			action(func(a actions.Action) actions.Action { return faint{a} })},
		"takes a pause for the end": {desk, "{ service: 429 }", "service 429",
			action(func(a actions.Action) actions.Action { return faint{a} })},
		"knows no duplicates": {desk, "{ deliver: twice }", "deliver twice",
			kept(func(j journal.Journal) journal.Journal { return &forgetful{Journal: j} })},
		"counts a wait from when it heard": {punctual, "{ deliver: late }", "deliver late",
			kept(func(j journal.Journal) journal.Journal { return late{j} })},
		"does not look for what came before": {answered, "{ deliver: reordered }", "deliver reordered",
			kept(func(j journal.Journal) journal.Journal { return noHistoryJournal{j} })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := tell(t, fmt.Sprintf(test.story, test.faults), test.plant)
			r.fails(t, "under the fault: "+test.fault)
			if r.Fault != test.fault || strings.HasPrefix(r.Fault, "crash") != (len(r.Crashes) > 0) {
				t.Errorf("found under %q with crashes %q", r.Fault, r.Crashes)
			}
			unharmed := tell(t, fmt.Sprintf(test.story, test.faults), test.plant, func(o *Options) { o.NoFaults = true })
			unharmed.passes(t)
		})
	}
}

// hasty says that events are recorded before they are.
type hasty struct {
	journal.Journal
	mu     sync.Mutex
	events []rules.Event
}

func (j *hasty) Accept(_ context.Context, events []rules.Event) ([]bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, events...)
	return make([]bool, len(events)), nil
}

func (j *hasty) Claim(ctx context.Context, now time.Time, most int, except []string) ([]*journal.Lane, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.events) > 0 {
		first := j.events[:1]
		j.events = j.events[1:]
		if _, err := j.Journal.Accept(ctx, first); err != nil {
			return nil, err
		}
	}
	return j.Journal.Claim(ctx, now, most, except)
}

// careless records an intent only together with its result.
type careless struct {
	journal.Journal
	kept []*journal.Change
}

func (j *careless) Save(ctx context.Context, lane *journal.Lane, c *journal.Change) error {
	if !c.Release && len(c.Starts) == 0 {
		own := *c
		j.kept = append(j.kept, &own)
		return nil
	}
	for len(j.kept) > 0 {
		first := j.kept[0]
		j.kept = j.kept[1:]
		if err := j.Journal.Save(ctx, lane, first); err != nil {
			return err
		}
	}
	return j.Journal.Save(ctx, lane, c)
}

// blind repeats every call without checking its result.
type blind struct{ actions.Action }

func (blind) Settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return actions.Settlement{Verdict: actions.Repeat}, nil
}

// fickle has a new key for each message that it sends.
type fickle struct {
	actions.Action
	n int
}

var clientID = regexp.MustCompile(`"client_id":"[0-9a-f]{8}`)

func (a *fickle) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	a.n++
	i.Request = clientID.ReplaceAll(i.Request, fmt.Appendf(nil, `"client_id":"%08x`, a.n))
	return a.Action.Do(ctx, s, i)
}

// faint gives up at the first error.
type faint struct{ actions.Action }

func (a faint) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	r, err := a.Action.Do(ctx, s, i)
	if err != nil {
		return r, actions.Permanent(fmt.Errorf("%v", err)) //nolint:errorlint // its marks are to be lost
	}
	return r, nil
}

// forgetful takes every delivery for a new event.
type forgetful struct {
	journal.Journal
	n int
}

func (j *forgetful) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	for i := range events {
		j.n++
		events[i].ID += fmt.Sprint("-", j.n)
	}
	return j.Journal.Accept(ctx, events)
}

// late takes events to have happened when they are heard of.
type late struct{ journal.Journal }

func (j late) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	for i := range events {
		events[i].CreatedAt = events[i].ReceivedAt
	}
	return j.Journal.Accept(ctx, events)
}

// noHistoryJournal has no memory of what happened.
type noHistoryJournal struct{ journal.Journal }

func (noHistoryJournal) Happened(context.Context, string, string, []string, time.Time, int) ([]*journal.Event, error) {
	return nil, nil
}

// TestRestless has an engine that claims the same lane endlessly.
func TestRestless(t *testing.T) {
	r := tell(t, fmt.Sprintf(desk, "all"), func(o *Options) {
		o.journal = func(j journal.Journal) journal.Journal { return restlessJournal{j} }
	})
	r.fails(t, "the rules do not come to rest at 2026-11-13T17:50:00-03:00")
}

type restlessJournal struct{ journal.Journal }

func (j restlessJournal) Save(ctx context.Context, lane *journal.Lane, c *journal.Change) error {
	c.Next = c.At
	return j.Journal.Save(ctx, lane, c)
}

// TestRestlessCalls has an engine that repeats a call endlessly.
func TestRestlessCalls(t *testing.T) {
	r := tell(t, fmt.Sprintf(desk, "all"), func(o *Options) {
		o.action = func(a actions.Action) actions.Action { return staleAction{a} }
	})
	r.fails(t, "the rules do not come to rest at 2026-11-13T18:05:00-03:00")
}

type staleAction struct{ actions.Action }

func (staleAction) Plan(context.Context, *actions.Step) (actions.Next, error) {
	return actions.Next{Intent: &actions.Intent{}}, nil
}

func (a staleAction) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	if _, err := a.Action.Do(ctx, s, i); errors.Is(err, errRestless) {
		return actions.Receipt{}, err
	}
	return actions.Receipt{}, actions.Stale(errors.New("it has changed"))
}

// opening is a story in which a message goes to a phone that has no conversation yet, and a card is
// made.
const opening = `
rules:
  - id: it
    when: message.received
    do: [STEP]
tests:
  - name: it
    start: 2026-11-13T17:50:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Duty, phone: "+5511900001111" }] }
    steps:
      - { customer: Marina, says: Hello }
      - { at: WITHIN, expect: EXPECT }
      - { at: +1h, expect: [] }
    faults: { service: [FAULTS] }
`

// TestFaultsEnd runs stories in which one step makes many calls: a fault strikes them once, and the
// step ends well within the ten minutes that a story leaves for it.
func TestFaultsEnd(t *testing.T) {
	for name, c := range map[string][2]string{
		"open_conversation": {`open_conversation: { channel: Main, phone: "+5511900001111" }`, `[open_conversation]`},
		"send_message":      {`send_message: { to: { channel: Main, phone: "+5511900001111" }, text: hello }`, `[open_conversation, send_message]`},
		"create_contact":    {`create_contact: { name: Bia, phone: "+5511977776666" }`, `[create_contact]`},
		"create_card":       {`create_card: { board: Sales, title: A card }`, `[create_card]`},
	} {
		t.Run(name, func(t *testing.T) {
			story := strings.NewReplacer("[STEP]", "[{ "+c[0]+" }]", "EXPECT", c[1], "WITHIN", "+5m", "FAULTS", "503_before, 503_after, 429").Replace(opening)
			r := tell(t, story)
			r.passes(t)
		})
	}
}

// TestStepFaultsBesideFaults has a step of the story that lets calls fail, beside each fault of the
// service: together they are only more of the same.
func TestStepFaultsBesideFaults(t *testing.T) {
	for name, c := range map[string][3]string{
		"create_card":  {`create_card: { board: Sales, title: A card }`, `[create_card]`, "POST /kanban/cards"},
		"send_message": {`send_message: hello`, `[send_message]`, "POST /conversations/{id}/messages"},
		"add_labels":   {`add_labels: [vip]`, `[add_labels]`, "PATCH /conversations/{id}"},
		"open":         {`open_conversation: { channel: Main, phone: "+5511900001111" }`, `[open_conversation]`, "POST /conversations"},
	} {
		if testing.Short() && name != "send_message" {
			continue
		}
		for fault, within := range map[string]string{
			"kind: status_before, count: 6": "+1h", "kind: drop_before, count: 6": "+1h", "kind: drop_before, count: 1": "+10m", "kind: status_after, count: 1": "+10m", "kind: drop_after, count: 1": "+10m",
		} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				story := strings.NewReplacer("[STEP]", "[{ "+c[0]+" }]", "EXPECT", c[1], "WITHIN", within, "FAULTS", "503_before, 503_after, 429, conflict",
					"customer: Marina,", fmt.Sprintf("fault: { operation: %q, %s }, customer: Marina,", c[2], fault)).Replace(opening)
				r := tell(t, story)
				r.passes(t)
			})
		}
	}
}
