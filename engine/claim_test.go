package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// survey asks a question when an attendance is closed. The other rules are about everything that
// the answer to it causes.
const survey = `
rules:
  - id: survey
    when: attendance.closed
    do:
      - send_message: "How did we do, 1 to 5?"
      - { wait_for: { event: message.received, if: 'message.text matches "^[1-5]$"', timeout: 24h }, id: answer }
      - send_message: "{{ answer == nil ? 'No answer' : 'Thank you for ' + answer.message.text }}"
  - { id: greet, when: message.received, do: [{ send_message: greet }] }
  - { id: opened, when: attendance.opened, do: [{ send_message: opened }] }
  - { id: card, when: kanban.card.created, do: [{ send_message: card }] }
  - { id: update, when: conversation.updated, do: [{ send_message: update }] }
`

// quietSurvey has other rules that change nothing.
var quietSurvey = strings.NewReplacer("send_message: greet", "log: x", "send_message: opened", "log: x", "send_message: card", "log: x", "send_message: update", "log: x").Replace(survey)

var surveyed = []string{"greet", "opened", "card", "update"}

// closes lets Bruno close Ana's attendance.
func (d *desk) closes() {
	d.t.Helper()
	must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
}

// last returns the last verdict of each of the other rules.
func (d *desk) last() map[string]journal.Outcome {
	last := make(map[string]journal.Outcome)
	for _, rule := range surveyed {
		if list := d.outcomes(rule); len(list) > 0 {
			last[rule] = list[len(list)-1]
		}
	}
	return last
}

// asked returns a desk on which Ana was asked the question.
func asked(t *testing.T, rules string, change ...func(*deskOptions)) *desk {
	d := newDesk(t, rules, change...)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.effects()
	d.closes()
	d.pass(time.Minute)
	d.expect(send + "How did we do, 1 to 5?")
	return d
}

// permutations returns all orders of n things.
func permutations(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return all
}

// TestAnswerIsClaimed shows that the answer to a question, and what the answer causes, starts no
// other rule, in whatever order the events come, together or one after the other.
func TestAnswerIsClaimed(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	journals := map[string]func(*deskOptions){
		"in a file": func(*deskOptions) {},
		"in a database": func(o *deskOptions) {
			o.journal = func(fileJournal) journal.Journal {
				j, err := postgres.Open(t.Context(), server.Database(t), postgres.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { j.Close() })
				return j
			}
		},
	}
	for name, with := range journals {
		for i, order := range permutations(4) {
			if testing.Short() && i%8 != 0 {
				continue
			}
			for _, gap := range []time.Duration{0, time.Second} {
				if name == "in a database" && (gap == 0 || testing.Short() || *stops <= 2 && i%4 != 0) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%v/%s", name, order, gap), func(t *testing.T) {
					d := asked(t, survey, with)
					events := d.capture()
					must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "5"}))
					got := events()
					if len(got) != 4 {
						t.Fatalf("the answer caused %d events, want 4", len(got))
					}
					for _, i := range order {
						must(d.sink(t.Context(), got[i]))
						d.pass(gap)
					}
					d.pass(time.Minute)
					d.expect(send + "Thank you for 5")
				})
			}
		}
	}
}

// capture keeps the events that come from now on from the engine. The function that it returns ends
// this and returns them.
func (d *desk) capture() func() []rules.Event {
	d.t.Helper()
	var kept []rules.Event
	accept := d.sink
	d.sink = func(_ context.Context, events ...rules.Event) ([]bool, error) {
		kept = append(kept, events...)
		return make([]bool, len(events)), nil
	}
	return func() []rules.Event {
		d.rest()
		d.sink = accept
		return kept
	}
}

// TestWhatIsNotClaimed shows that a claim covers the answer, and nothing else.
func TestWhatIsNotClaimed(t *testing.T) {
	t.Parallel()
	fired := map[string]journal.Outcome{"greet": journal.Fired, "opened": journal.Fired, "card": journal.Fired, "update": journal.Fired}
	replaced := func(before, after string) string { return strings.Replace(quietSurvey, before, after, 1) }
	for name, c := range map[string]struct {
		rules string
		text  string
		then  func(*desk)
		want  map[string]journal.Outcome
	}{
		"a message that is no answer":           {quietSurvey, "hello again", nil, fired},
		"claim: false":                          {replaced("timeout: 24h", "timeout: 24h, claim: false"), "5", nil, map[string]journal.Outcome{"greet": journal.Fired, "opened": journal.Fired, "card": journal.Fired}},
		"the wait of a shadow rule":             {replaced("- id: survey", "- id: survey\n    stage: shadow"), "5", nil, fired},
		"the customer's next message":           {quietSurvey, "5", func(d *desk) { d.customer(ana, "4") }, map[string]journal.Outcome{"greet": journal.Fired, "opened": journal.Claimed, "card": journal.Claimed, "update": journal.Fired}},
		"what a person does next":               {quietSurvey, "5", func(d *desk) { d.pass(time.Minute); d.transfer("Sales") }, map[string]journal.Outcome{"greet": journal.Claimed, "opened": journal.Claimed, "card": journal.Claimed, "update": journal.Fired}},
		"a rule that takes it all the same":     {replaced("id: opened,", "id: opened, claimed: run,"), "5", nil, map[string]journal.Outcome{"greet": journal.Claimed, "opened": journal.Fired, "card": journal.Claimed}},
		"the answer to a question that it ends": {replaced("when: attendance.closed", "when: attendance.closed\n    cancel_on: [message.received]"), "5", nil, fired},
		"the next attendance": {quietSurvey, "5", func(d *desk) {
			d.pass(time.Minute)
			d.closes()
			d.pass(48 * time.Hour)
			d.customer(ana, "5")
		}, fired},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.rules)
			d.customer(ana, "hello")
			d.pass(time.Minute)
			d.closes()
			d.pass(time.Minute)
			d.customer(ana, c.text)
			if c.then != nil {
				d.pass(10 * time.Second)
				c.then(d)
			}
			d.pass(time.Minute)
			for rule, want := range c.want {
				if got := d.last()[rule]; got != want {
					t.Errorf("%s: %s, want %s\n%s", rule, got, want, d.trace())
				}
			}
		})
	}
}

// TestCardIsNotClaimed shows that a card starts rules although an answer came a moment before: a
// rule made it, or a person did, and the answer opened no attendance.
func TestCardIsNotClaimed(t *testing.T) {
	t.Parallel()
	const menu = `
rules:
  - id: menu
    when: message.received
    if: message.text == "hello"
    do:
      - send_message: "Sales or support?"
      - wait_for: { event: message.received, timeout: 1h }
      - create_card: { board: Sales, title: "A lead", conversation: "{{ conversation.id }}" }
  - { id: greet, when: message.received, do: [{ log: x }] }
  - { id: card, when: kanban.card.created, from: any, if: card.board_name == "Sales", do: [{ log: x }] }
`
	d := newDesk(t, menu)
	w := d.customer(ana, "hello")
	d.pass(time.Minute)
	d.customer(ana, "sales")
	d.pass(time.Second)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "By hand", Conversation: w.Conversation.String()}))
	d.pass(time.Minute)
	d.wantOutcomes("greet", journal.Fired, journal.Claimed)
	d.wantOutcomes("card", journal.Fired, journal.Fired)
}

// TestAnswerRightAfterAMessage shows that the first of two messages of one instant has opened the
// attendance, which the second, the answer, does not claim.
func TestAnswerRightAfterAMessage(t *testing.T) {
	t.Parallel()
	d := asked(t, quietSurvey)
	d.customer(ana, "hello again")
	d.customer(ana, "5")
	d.pass(time.Minute)
	d.wantOutcomes("greet", journal.Fired, journal.Fired, journal.Claimed)
	d.wantOutcomes("opened", journal.Fired, journal.Fired)
	d.wantOutcomes("card", journal.Fired, journal.Fired)
}

// TestClaimSurvives shows that an answer is claimed once, although the engine stops between its
// events, or the rule was on hold when it came.
func TestClaimSurvives(t *testing.T) {
	t.Parallel()
	t.Run("a stop", func(t *testing.T) {
		d := asked(t, quietSurvey)
		events := d.capture()
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "5"}))
		for _, e := range events() {
			must(d.sink(t.Context(), e))
			d.pass(time.Second)
			d.restart()
		}
		d.pass(time.Minute)
		d.expect(send + "Thank you for 5")
		for rule, outcome := range d.last() {
			if outcome != journal.Claimed {
				t.Errorf("%s: %s, want claimed", rule, outcome)
			}
		}
	})
	t.Run("a hold", func(t *testing.T) {
		d := asked(t, quietSurvey)
		if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "survey", "x"); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Minute)
		d.customer(ana, "5")
		d.pass(time.Minute)
		d.customer(ana, "3")
		d.pass(time.Minute)
		d.expect()
		must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "survey"))
		d.pass(time.Minute)
		d.expect(send + "Thank you for 5")
		d.wantOutcomes("greet", journal.Fired, journal.Claimed, journal.Fired)
	})
}

// TestSurveyClosesWhatItsAnswerOpened shows that a rule closes the attendance that the answer to
// its question has opened, and that this close starts no rule, not even the same one.
func TestSurveyClosesWhatItsAnswerOpened(t *testing.T) {
	d := asked(t, strings.Replace(quietSurvey, "  - { id: greet", "      - close_attendance: { conversation: '{{ conversation.id }}' }\n  - { id: greet", 1))
	d.customer(ana, "5")
	d.pass(time.Minute)
	d.expect(send+"Thank you for 5", "POST /conversations/{id}/attendance/close")
	d.pass(48 * time.Hour)
	d.expect()
	d.wantOutcomes("survey", journal.Fired, journal.Own)
}
