package backfill_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/backfill"
)

const cardRules = `
rules:
  - { id: on-created, when: kanban.card.created, do: [{ log: created }] }
  - { id: on-moved, when: kanban.card.moved, do: [{ log: "{{ event.data.from_stage_id }} {{ card.stage_id }}" }] }
  - { id: on-completed, when: kanban.card.completed, do: [{ log: completed }] }
`

func subscribed(can bool) func(*deskOptions) {
	return func(o *deskOptions) { o.sandbox.KanbanEvents = can }
}

// fired returns how often the rules on cards fired.
func (d *desk) fired() [3]int {
	return [3]int{d.verdicts("on-created")[journal.Fired], d.verdicts("on-moved")[journal.Fired], d.verdicts("on-completed")[journal.Fired]}
}

func (d *desk) wantFired(created, moved, completed int) {
	d.t.Helper()
	if got := d.fired(); got != [3]int{created, moved, completed} {
		d.t.Errorf("fired on created, moved, completed %v, want %v\n%s", got, [3]int{created, moved, completed}, d.trace())
	}
}

// A card moves from stage to stage, and back, and the rule fires once for each, whether card events
// can be subscribed to or not.
func TestMovedOncePerMove(t *testing.T) {
	for _, can := range []bool{true, false} {
		t.Run(fmt.Sprint("subscribed ", can), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, cardRules, subscribed(can))
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Old"}))
			d.pass(30 * time.Second)
			if !can {
				d.wantFired(0, 0, 0) // it existed at the first start
			}
			created := d.fired()[0]
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Order"}))
			d.pass(16 * time.Second)
			d.wantFired(created+1, 0, 0)
			moved := 0
			for _, stage := range []string{"Proposal", "Lead", "Proposal", "Won", "Follow-up", "Won"} {
				for _, card := range []string{"Order", "Old"} {
					must(d.MoveCard(sandbox.MoveCard{Card: card, Stage: stage, Person: "Bruno"}))
					moved++
				}
				d.pass(16 * time.Second)
				d.wantFired(created+1, moved, d.fired()[2])
			}
			must(d.EditCard(sandbox.EditCard{Card: "Order", Description: "another order"}))
			d.pass(30 * time.Minute)
			d.wantFired(created+1, moved, 4)
			if found := d.counted["kanban.card.moved"]; found != map[bool]int{true: 0, false: moved}[can] {
				t.Errorf("%d moves were found", found)
			}
		})
	}
}

// A card is moved every 20 seconds while a pass over many conversations takes minutes: no webhook
// delivers that, and the rule fires once for each move.
func TestMovedDuringALongPass(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	var d *desk
	var next time.Time // of the card's moves; zero is that it stays where it is
	stages := []string{"Proposal", "Lead", "Proposal", "Won"}
	moved := 0
	d = newDesk(t, cardRules+"  - { id: on-received, when: message.received, do: [{ log: received }] }\n", subscribed(false), func(o *deskOptions) {
		o.tune = func(b *backfill.Options) {
			b.Rate = 1
			b.Sleep = func(_ context.Context, length time.Duration) error {
				d.move(d.clock().Add(length))
				if !next.IsZero() && moved < len(stages) && !d.clock().Before(next) {
					must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: stages[moved], Person: "Bruno"}))
					next = d.clock().Add(20 * time.Second)
					moved++
				}
				return nil
			}
		}
	})
	d.pass(time.Minute)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Order"}))
	d.fault("delivery", "lose", 0, 0, 0)
	for n := range 120 {
		d.customer(n, "hello")
	}
	d.pass(time.Minute)
	before := d.fired()
	next = d.clock().Add(4 * time.Minute)
	d.pass(15 * time.Minute)
	if moved != len(stages) || d.verdicts("on-received")[journal.Fired] != 120 {
		t.Fatalf("the card was moved %d times, and %d messages were found", moved, d.verdicts("on-received")[journal.Fired])
	}
	d.wantFired(before[0], before[1]+len(stages), before[2]+1)
}

// Of three moves between two scans any may be lost: the rule fires once for each that can be known.
func TestLostMoves(t *testing.T) {
	stages := []string{"Proposal", "Follow-up", "Won"}
	for lost := range 8 {
		t.Run(fmt.Sprintf("%03b", lost), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, cardRules)
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Order"}))
			d.pass(10 * time.Minute)
			want, run := 0, false
			for i, stage := range stages {
				if lost>>i&1 == 1 {
					d.fault("delivery", "lose", 0, 0, 0)
					if !run { // consecutive lost moves look like one
						want++
					}
					run = true
				} else {
					want++
					run = false
				}
				must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: stage, Person: "Bruno"}))
				d.pass(5 * time.Second)
				d.ClearFaults()
			}
			d.pass(30 * time.Minute)
			d.wantFired(1, want, 1)
		})
	}
}

// A delivery that comes after its move was found is the same move, and the next one to the same
// stage is another.
func TestMoveToldLate(t *testing.T) {
	d := newDesk(t, cardRules)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Order"}))
	d.pass(10 * time.Minute)
	d.fault("delivery", "drop_before", 0, 0, 0) // each attempt, for half an hour
	must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: "Proposal", Person: "Bruno"}))
	d.pass(30 * time.Minute)
	d.wantFired(1, 1, 0)
	d.ClearFaults()
	d.pass(8 * time.Hour)
	d.wantFired(1, 1, 0)
	for _, stage := range []string{"Lead", "Proposal"} {
		must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: stage, Person: "Bruno"}))
	}
	d.pass(30 * time.Minute)
	d.wantFired(1, 3, 0)
}

// Cards that are created and moved between scans, as those of attendances that are soon closed.
func TestCreatedAndMovedBetweenLooks(t *testing.T) {
	for _, can := range []bool{true, false} {
		t.Run(fmt.Sprint("subscribed ", can), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, cardRules, subscribed(can))
			d.pass(time.Minute)
			d.fault("delivery", "lose", 0, 0, 0)
			d.customer(1, "hello")
			must(d.TeamClose(sandbox.TeamClose{Conversation: "Customer 1", Person: "Bruno"}))
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Proposal", Title: "Begins later"}))
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Won", Title: "Won at once"}))
			d.pass(10 * time.Minute)
			d.wantFired(3, 1, 1)
		})
	}
}

// The engine's own changes of cards are recognized when they are found, also when the card was
// changed afterwards.
func TestOwnMoves(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: attendance.closed
    do:
      - create_card: { board: Sales, stage: Proposal, title: "Deal {{ contact.name }}" }
        id: made
      - move_card: { card: "{{ made.id }}", to: Follow-up }
  - { id: on-created, when: kanban.card.created, if: 'card.title startsWith "Deal"', do: [{ log: created }] }
  - { id: on-moved, when: kanban.card.moved, if: 'card.title startsWith "Deal"', do: [{ log: moved }] }
  - { id: on-completed, when: kanban.card.completed, do: [{ log: completed }] }
`, subscribed(false))
	d.pass(time.Minute)
	for n := range 2 {
		d.customer(n, "hello")
		must(d.TeamClose(sandbox.TeamClose{Conversation: fmt.Sprint("Customer ", n), Person: "Bruno"}))
		if n == 0 {
			d.pass(5 * time.Minute)
			continue
		}
		// No scan until the card has been edited.
		d.settle()
		must(d.engine.Tick(t.Context(), d.clock()))
		d.move(d.clock().Add(10 * time.Minute))
		must(d.EditCard(sandbox.EditCard{Card: "Deal Customer 1", Description: "soon"}))
		d.pass(5 * time.Minute)
	}
	d.wantFired(0, 0, 0)
	for _, rule := range []string{"on-created", "on-moved"} {
		if own := d.verdicts(rule)[journal.Own]; own != 2 {
			t.Errorf("%s: %d are own\n%s", rule, own, d.trace())
		}
	}
	must(d.MoveCard(sandbox.MoveCard{Card: "Deal Customer 1", Stage: "Lead", Person: "Bruno"}))
	d.pass(time.Minute)
	d.wantFired(0, 1, 0)
}

// If card events can be subscribed to, changes younger than two minutes are left to webhooks;
// otherwise none are.
func TestFreshCards(t *testing.T) {
	for _, can := range []bool{true, false} {
		d := newDesk(t, cardRules, subscribed(can))
		d.pass(11 * time.Minute)
		d.fault("delivery", "lose", 0, 0, 0)
		must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Order"}))
		d.source.Wake("test")
		d.pass(time.Minute)
		if got := len(d.of("kanban.card.created")); got != map[bool]int{true: 0, false: 1}[can] {
			t.Errorf("subscribed %v: %d are told after a minute", can, got)
		}
		d.pass(10 * time.Minute)
		if got := len(d.of("kanban.card.created")); got != 1 {
			t.Errorf("subscribed %v: %d are told", can, got)
		}
		if e := d.of("kanban.card.created")[0]; !e.Found() || !slices.Contains([]string{"card:" + cardID(e)}, e.Lane) {
			t.Errorf("%+v", e)
		}
	}
}

// A new card that is changed right before each pass waits for one before which it was not, and is
// found then, however long ago it was created.
func TestNewCardThatKeepsChanging(t *testing.T) {
	d := newDesk(t, cardRules, subscribed(true))
	d.pass(11 * time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Order"}))
	for n := range 5 {
		d.pass(3 * time.Minute)
		must(d.EditCard(sandbox.EditCard{Card: "Order", Description: fmt.Sprint("change ", n)}))
		d.pass(2 * time.Minute)
	}
	d.wantFired(0, 0, 0)
	must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: "Proposal", Person: "Bruno"}))
	d.pass(20 * time.Minute)
	d.wantFired(1, 1, 0)
}

func cardID(e *journal.Event) string {
	card, _ := e.Data["card"].(map[string]any)
	id, _ := card["id"].(string)
	return id
}
