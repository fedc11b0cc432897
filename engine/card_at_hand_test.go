package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

// TestNoCardFound shows that if a search finds no card, the steps that would work on it are skipped
// and do not touch the event's own card. TestMovedCardAfterAWait shows that a rule knows after a
// wait too which stage the card has left, and reads what has changed since.
func TestMovedCardAfterAWait(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: kanban.card.moved
    if: card.from_stage_name == "Lead"
    do:
      - wait: 1h
      - send_message: "{{ card.from_stage_name }} to {{ card.stage_name }}: {{ card.title }}, by {{ card.moved_by != nil }}"
`)
	w := d.customer(ana, "hello")
	card := must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "An order", Conversation: w.Conversation.String()}))
	must(d.MoveCard(sandbox.MoveCard{Card: card.ID.String(), Stage: "Proposal", Person: "Bruno"}))
	d.pass(time.Minute)
	must(d.EditCard(sandbox.EditCard{Card: card.ID.String(), Title: "Two orders", Person: "Bruno"}))
	d.pass(2 * time.Hour)
	d.expect(send + "Lead to Proposal: Two orders, by true")
}

func TestNoCardFound(t *testing.T) {
	for name, look := range map[string]string{
		"none fits":          `find_card: { board: Sales, q: nobody }`,
		"it had to be there": `{ find_card: { board: Sales, q: nobody, expect: one }, on_error: continue }`,
		"it is not created":  `{ create_card: { board: Sales, title: "{{ card.title }}", stage: Nowhere }, on_error: continue }`,
	} {
		for _, wait := range []string{"", "      - wait: 5m\n"} {
			t.Run(name+wait, func(t *testing.T) {
				d := newDesk(t, `
rules:
  - id: it
    when: kanban.card.created
    if: card.title == "Ana's order"
    do:
      - `+look+`
`+wait+`      - move_card: { to: Follow-up }
      - update_card: { title: "{{ card.title }}!" }
      - send_message: "no card: {{ card == nil }}"
      - create_card: { board: Sales, title: Another }
      - move_card: { to: Proposal }
`)
				w := d.customer(ana, "hello")
				must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Proposal", Title: "Ana's order", Conversation: w.Conversation.String()}))
				d.pass(time.Hour)
				d.expect(send+"no card: true", "POST /kanban/cards", moves)
				d.wantStates("it", journal.Done)
				steps := d.runs("it")[0].Steps
				for _, s := range steps[len(steps)-5 : len(steps)-3] {
					if s.State != journal.StepSkipped || !strings.Contains(string(s.Record), "no card") {
						t.Errorf("%s is %s: %s", s.Verb, s.State, s.Record)
					}
				}
			})
		}
	}
}
