package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode    string
		effects []string
		states  []journal.State
	}{
		{"queued", []string{send + "after one", send + "after two", send + "after three"}, []journal.State{journal.Done, journal.Done, journal.Done}},
		{"single", []string{send + "after one"}, []journal.State{journal.Done}},
		{"restart", []string{send + "after three"}, []journal.State{journal.Cancelled, journal.Cancelled, journal.Done}},
		{"parallel", []string{send + "after one", send + "after two", send + "after three"}, []journal.State{journal.Done, journal.Done, journal.Done}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			d := newDesk(t, fmt.Sprintf(`
rules:
  - id: it
    when: message.received
    mode: %s
    do: [{ log: x }, { wait: 10m }, { send_message: "after {{ message.text }}" }]
`, c.mode))
			for _, text := range []string{"one", "two", "three"} {
				d.customer(ana, text)
				d.pass(time.Minute)
			}
			d.restart()
			if c.mode == "queued" {
				d.wantStates("it", journal.Waiting, journal.Queued, journal.Queued)
			}
			d.pass(time.Hour)
			d.expect(c.effects...)
			d.wantStates("it", c.states...)
		})
	}
}

// TestBy shows that by may be another key than the conversation.
func TestBy(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    mode: single
    by: conversation.channel
    do: [{ wait: 10m }, { send_message: "hello {{ contact.name }}" }]
  - id: limited
    when: message.received
    limit: { times: 2, per: 1h, by: conversation.kind }
    do: [{ log: "{{ contact.name }}" }]
`)
	d.customer(ana, "hello")
	d.customer(bia, "hello")
	d.customer(bia, "hello")
	d.pass(time.Hour)
	d.expect(send + "hello Ana Lima")
	if got := d.outcomes("it"); !slices.Equal(got, []journal.Outcome{journal.Fired, journal.Skipped, journal.Skipped}) {
		t.Errorf("verdicts: %v", got)
	}
	if got := d.outcomes("limited"); !slices.Equal(got, []journal.Outcome{journal.Fired, journal.Fired, journal.Limited}) {
		t.Errorf("verdicts: %v", got)
	}
}

func TestWaitFor(t *testing.T) {
	const rule = `
rules:
  - id: it
    when: attendance.closed
    do:
      - send_message: "How was it?"
      - wait_for: { event: message.received, if: 'message.text matches "^[0-9]$"', timeout: 24h }
        id: answer
      - choose:
          - if: answer == nil
            do: [{ log: "no answer" }, { stop: nobody answered }]
          - if: int(answer.message.text) >= 4
            do: [{ send_message: "Thank you!" }]
          - else:
              - transfer: { sector: Supervisors, reason: "Rated {{ answer.message.text }}" }
      - log: "{{ steps.answer.message.text }}"
`
	start := func(t *testing.T) *desk {
		d := newDesk(t, rule)
		d.customer(ana, "hello")
		must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
		d.rest()
		d.expect(send + "How was it?")
		d.wantStates("it", journal.Waiting)
		d.restart()
		d.pass(time.Second)
		return d
	}
	t.Run("a good answer", func(t *testing.T) {
		d := start(t)
		d.customer(ana, "let me think")
		d.expect()
		d.restart()
		d.pass(time.Hour)
		d.customer(ana, "5")
		d.expect(send + "Thank you!")
		d.wantStates("it", journal.Done)
	})
	t.Run("a bad answer", func(t *testing.T) {
		d := start(t)
		d.customer(ana, "2")
		d.expect(transfers + "Rated 2")
	})
	t.Run("no answer", func(t *testing.T) {
		d := start(t)
		d.pass(25 * time.Hour)
		d.expect()
		d.wantStates("it", journal.Stopped)
		if reason := d.runs("it")[0].Reason; reason != "nobody answered" {
			t.Errorf("reason %q", reason)
		}
	})
}

func TestForEachAndSet(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - set: { words: "{{ split(message.text, ' ') }}", at: "{{ now() }}" }
      - for_each:
          in: words
          as: word
          do:
            - send_message: "You said {{ word }}"
              if: word != "nothing"
            - wait: 5m
      - send_message: "It was {{ at.Format('15:04') }}"
`)
	d.customer(ana, "one nothing two")
	d.restart()
	d.pass(time.Hour)
	d.expect(send+"You said one", send+"You said two", send+"It was 17:50")
	var paths []string
	for _, s := range d.runs("it")[0].Steps {
		paths = append(paths, s.Path+" "+string(s.State))
	}
	want := []string{"1 done", "2 done", "2[0].1 done", "2[0].2 done", "2[1].1 skipped", "2[1].2 done", "2[2].1 done", "2[2].2 done", "3 done"}
	if !slices.Equal(paths, want) {
		t.Errorf("steps %v, want %v", paths, want)
	}
}

func TestOnError(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - transfer: { sector: Nowhere, reason: x }
        on_error: continue
      - find_card: { board: Sales, q: nobody, expect: one }
      - send_message: never
    on_error:
      - send_message: "Sorry: {{ error }}"
`)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	got := d.effects()
	if len(got) != 1 || !strings.Contains(got[0], "Sorry: step 2 (find_card): ") {
		t.Errorf("effects: %v\n%s", got, d.trace())
	}
	d.wantStates("it", journal.FailedRun)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "for nobody"}))
	if err := d.journal.Ask(t.Context(), d.clock.Now(), d.runs("it")[0].ID, journal.Ask{What: journal.AskRetry, At: d.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	d.rest()
	d.expect(send + "never")
	d.wantStates("it", journal.Done)
}

// TestShadow shows that a shadow run reads and decides, and changes nothing.
func TestShadow(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    stage: shadow
    when: message.received
    limit: { times: 1, per: 1h }
    do:
      - create_card: { board: Sales, title: "{{ message.text }}" }
        id: made
      - move_card: Proposal
      - send_message: "Your card is {{ made.id }}"
  - id: real
    when: message.received
    do: [{ send_message: real }]
`)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.expect(send + "real")
	run := d.runs("it")[0]
	if run.State != journal.Done || run.Stage != rules.Shadow {
		t.Errorf("%s %s", run.State, run.Stage)
	}
	for _, s := range run.Steps {
		if s.State != journal.StepWould {
			t.Errorf("step %s is %s: %s", s.Path, s.State, s.Record)
		}
	}
}

func TestLate(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
  - { id: patient, when: message.received, late: { skip_after: 2h }, do: [{ add_labels: [vip] }] }
`)
	d.onlyRecord()
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "hello"}))
	if err := d.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.move(friday.Add(time.Hour))
	d.rest()
	d.expect(patches)
	if got := d.outcomes("it"); !slices.Equal(got, []journal.Outcome{journal.Late}) {
		t.Errorf("verdicts: %v", got)
	}
}

func TestPauseAndResume(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ wait: 5m }, { send_message: "to {{ message.text }}" }] }
`)
	d.customer(ana, "one")
	if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "too loud"); err != nil {
		t.Fatal(err)
	}
	d.customer(ana, "two")
	d.pass(10 * time.Minute)
	d.expect()
	d.wantStates("it", journal.Held)
	if got := d.outcomes("it"); !slices.Equal(got, []journal.Outcome{journal.Fired, journal.Paused}) {
		t.Errorf("verdicts: %v", got)
	}
	must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "it"))
	d.rest()
	d.expect(send + "to one")

	if err := d.engine.Pause(t.Context(), d.clock.Now(), "", "", "everything"); err != nil {
		t.Fatal(err)
	}
	d.customer(ana, "three")
	d.pass(10 * time.Minute)
	d.expect()
	must(d.engine.Resume(t.Context(), d.clock.Now(), "", ""))
	d.rest()
	d.expect(send + "to three") // it was decided only now, but counts from when it was created
}

// TestAncestry shows that a chain of rules that start each other ends before a rule would start
// itself.
func TestAncestry(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: first, when: message.received, do: [{ send_message: one }] }
  - { id: second, from: any, when: message.sent, do: [{ transfer: { sector: Sales, reason: two } }] }
  - { id: third, from: any, when: conversation.updated, if: conversation.sector_name == "Sales", do: [{ create_card: { board: Sales, title: three } }] }
  - { id: others, when: [message.sent, kanban.card.created], if: 'event.type == "message.sent" or card.board_name == "Sales"', do: [{ send_message: never }] }
`)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.expect(send+"one", transfers+"two", "POST /kanban/cards")
	if got := d.outcomes("others"); !slices.Equal(got, []journal.Outcome{journal.False, journal.Own, journal.Own}) {
		t.Errorf("verdicts of others: %v\n%s", got, d.trace())
	}
	if got := d.runs("third")[0].Ancestry; !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("ancestry: %v", got)
	}
}

func TestTicks(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: sweep
    when: { every: 5m, each: attendances, where: { status: open, assignee: none } }
    if: not has_label("vip")
    limit: { times: 1, per: 1d }
    do: [{ add_labels: [vip] }, { log: "{{ attendance.protocol }} {{ contact.name }}" }]
  - { id: report, when: { every: 1h }, do: [{ log: "{{ event.created_at }}" }] }
`)
	d.customer(ana, "hello")
	d.customer(bia, "hello")
	tick := func(rule string, at time.Time) rules.Event {
		return rules.Event{
			Workspace: "default", ID: rule + "/" + at.UTC().Format(time.RFC3339), Type: "schedule", Rule: rule, Lane: "schedule:" + rule,
			CreatedAt: at, ReceivedAt: d.clock.Now(), Data: map[string]any{},
		}
	}
	for range 3 {
		must(d.engine.Accept(t.Context(), tick("sweep", friday)))
	}
	d.rest()
	d.expect(patches, patches)
	d.wantStates("sweep", journal.Done, journal.Done)
	for _, r := range d.runs("sweep") {
		if !strings.HasPrefix(r.Key, "default/sweep/2026-11-13T20:50:00Z/") || !strings.HasPrefix(r.Home, "conversation:") {
			t.Errorf("key %s, home %s", r.Key, r.Home)
		}
	}
	// Of the missed ticks, only the last runs.
	for i := range 3 {
		must(d.engine.Accept(t.Context(), tick("report", friday.Add(time.Duration(i-3)*time.Hour))))
	}
	d.rest()
	if got := d.outcomes("report"); !slices.Equal(got, []journal.Outcome{journal.Late, journal.Late, journal.Fired}) {
		t.Errorf("verdicts: %v", got)
	}
}

// TestConversationOfATick has a rule by the clock take up conversations: by a phone, and by an
// attendance. Their contacts and attendances are at hand.
func TestConversationOfATick(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: { every: 1h }
    do:
      - read_conversation: { conversation: { phone: "`+bia+`", channel: Main } }
      - send_message: "{{ contact.phone }} {{ attendance.status }}"
      - { id: open_ones, list_attendances: { status: open } }
      - for_each:
          in: open_ones.items
          as: found
          do:
            - read_attendance: "{{ found.id }}"
            - send_message: "{{ contact.phone }} {{ conversation.kind }} {{ attendance.status }}"
`)
	d.customer(ana, "hello")
	d.customer(bia, "hello")
	must(d.engine.Accept(t.Context(), rules.Event{
		Workspace: "default", ID: "it/now", Type: "schedule", Rule: "it", Lane: "schedule:it", CreatedAt: d.clock.Now(), ReceivedAt: d.clock.Now(), Data: map[string]any{},
	}))
	d.pass(time.Minute)
	d.expectInAnyOrder(send+ana+" direct open", send+bia+" direct open", send+bia+" open")
	d.wantStates("it", journal.Done)
}

// TestScheduleIsChanged changes rules while their ticks, or the items of their lists, wait: they
// start what still has such a schedule, and nothing that starts by something else now.
func TestScheduleIsChanged(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: kept, when: { every: 1h }, do: [{ log: before }] }
  - { id: replied, when: { every: 1h }, do: [{ log: before }] }
  - { id: listed, when: { every: 1h, each: attendances }, do: [{ add_labels: [vip] }] }
  - { id: summed, when: { every: 1h, each: attendances }, do: [{ add_labels: [vip] }] }
  - { id: cards, when: { every: 1h, each: attendances }, do: [{ add_labels: [vip] }] }
`)
	waiting := func(rule, item, lane string, data map[string]any) {
		must(d.engine.Accept(t.Context(), rules.Event{
			Workspace: "default", ID: rule + "/2026-11-13T20:00:00Z" + item, Type: "schedule", Rule: rule, Lane: lane, CreatedAt: friday, ReceivedAt: d.clock.Now(), Data: data,
		}))
	}
	for _, rule := range []string{"kept", "replied"} {
		waiting(rule, "", "schedule:"+rule, map[string]any{})
	}
	for _, rule := range []string{"listed", "summed", "cards"} {
		waiting(rule, "/1", "attendance:1", map[string]any{"attendance": map[string]any{"id": "1", "status": "open"}})
	}
	err := d.engine.SetRules("default", desktest.Compile(t, `
rules:
  - { id: kept, when: { every: 2h }, do: [{ log: after }] }
  - { id: replied, when: message.received, do: [{ log: after }] }
  - { id: listed, when: { every: 2h, each: attendances }, do: [{ log: "after" }] }
  - { id: summed, when: { every: 2h }, do: [{ log: after }] }
  - { id: cards, when: { every: 2h, each: cards }, do: [{ log: after }] }
`))
	if err != nil {
		t.Fatal(err)
	}
	d.rest()
	for rule, want := range map[string]journal.Outcome{"kept": journal.Fired, "replied": journal.Late, "listed": journal.Fired, "summed": journal.Late, "cards": journal.Late} {
		if got := d.outcomes(rule); !slices.Equal(got, []journal.Outcome{want}) {
			t.Errorf("%s: %v instead of %s\n%s", rule, got, want, d.trace())
		}
	}
}

// TestEventsOutOfOrder shows that a cancelling event that came first but happened later ends the
// run before it does anything.
func TestEventsOutOfOrder(t *testing.T) {
	d := newDesk(t, sla)
	w := d.customer(ana, "hello")
	lane := actions.ConversationLane(w.Conversation.String())
	opened := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "attendance.opened"}))[0].Event
	closed := opened
	closed.ID, closed.Type, closed.CreatedAt, closed.Lane = "closed", "attendance.closed", opened.CreatedAt.Add(time.Second), lane
	must(d.engine.Accept(t.Context(), closed))
	d.rest()
	d.wantStates("sla", journal.Cancelled)
	again := opened
	again.ID = "opened again"
	must(d.engine.Accept(t.Context(), again))
	d.rest()
	d.wantStates("sla", journal.Cancelled, journal.Cancelled)
	d.pass(24 * time.Hour)
	d.expect()
}

// TestTravel shows that a step that concerns another conversation is taken in that conversation's
// lane.
func TestTravel(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: message.text == "go"
    do:
      - send_message: { text: "to Bia", to: { phone: "`+bia+`", channel: Main } }
      - wait: 1m
      - send_message: "back to {{ contact.name }}"
`)
	d.customer(bia, "hello")
	d.customer(ana, "go")
	d.restart()
	d.pass(time.Hour)
	d.expect(send+"to Bia", send+"back to Ana Lima")
	d.wantStates("it", journal.Done)
}

// TestSkippedStepKeepsTheCard shows that a skipped step leaves the selected card as it was.
func TestSkippedStepKeepsTheCard(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: kanban.card.moved
    do:
      - { update_card: { title: Two }, if: has_label("vip") }
      - send_message: "{{ card.title }} in {{ card.stage_name }}"
`)
	w := d.customer(ana, "hello")
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "One", Conversation: w.Conversation.String()}))
	must(d.MoveCard(sandbox.MoveCard{Card: "One", Stage: "Proposal", Person: "Bruno"}))
	d.rest()
	d.expect(send + "One in Proposal")
}
