package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// wantOutcomes compares the verdicts that a rule gave.
func (d *desk) wantOutcomes(rule string, want ...journal.Outcome) {
	d.t.Helper()
	if got := d.outcomes(rule); !slices.Equal(got, want) {
		d.t.Errorf("verdicts of %s: %v, want %v\n%s", rule, got, want, d.trace())
	}
}

// transfer lets Bruno hand Ana's conversation to a sector.
func (d *desk) transfer(sector string) {
	d.t.Helper()
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", Sector: sector}))
}

// TestChangeThatIsOlderThanACall shows that an event that was recorded before a call is not
// attributed to the call, whatever it shows.
func TestChangeThatIsOlderThanACall(t *testing.T) {
	const text = `
rules:
  - { id: it, when: message.received, if: 'message.text == "go"', do: [{ set_sector: Sales }] }
  - { id: watch, when: conversation.updated, do: [{ log: x }] }
`
	for name, fault := range map[string]string{"answered": "", "repeated": "status_before", "answered later": "status_after"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, text)
			d.onlyRecord()
			d.customer(ana, "hello")
			d.pass(time.Minute)
			if fault != "" {
				d.fault("PUT /conversations/{id}/sector", fault, 503, 1)
			}
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "go"}))
			d.transfer("Sales")
			d.transfer("Support")
			d.pass(time.Hour)
			d.expect("PUT /conversations/{id}/sector")
			// Ana wrote twice, Bruno moved her twice, and the call comes last.
			d.wantOutcomes("watch", journal.Fired, journal.Fired, journal.Fired, journal.Fired, journal.Own)
		})
	}
}

// TestLateChangeThatShowsAnEmptyField shows that an event that is delivered late is recognised by
// what it shows, because its number tells nothing. An empty field is not what the call has set.
func TestLateChangeThatShowsAnEmptyField(t *testing.T) {
	for name, step := range map[string]string{"sector": "set_sector: Sales", "person": "transfer: { person: Bruno }"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ `+step+` }] }
  - { id: watch, when: conversation.updated, do: [{ log: x }] }
`)
			accept := d.sink
			var late []rules.Event
			d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
				if events[0].Type == "conversation.updated" && len(late) == 0 {
					late = events // the event of Ana's change comes after the call, and before the event of the call
					return make([]bool, len(events)), nil
				}
				if events[0].Type == "conversation.updated" {
					must(accept(ctx, late...))
				}
				return accept(ctx, events...)
			}
			d.customer(ana, "hello")
			d.pass(time.Minute)
			d.wantOutcomes("watch", journal.Fired, journal.Own)
		})
	}
}

// TestMarkReadOfWhatIsRead shows that a conversation that is already read is not marked as read
// again, and that people's changes then count as theirs.
func TestMarkReadOfWhatIsRead(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ mark_read: }, { mark_read: }] }
  - { id: watch, when: conversation.updated, do: [{ log: x }] }
`)
	d.customer(ana, "hello")
	d.expect("POST /conversations/{id}/read")
	d.pass(3 * time.Second)
	d.transfer("Sales")
	d.pass(time.Minute)
	d.wantOutcomes("watch", journal.Fired, journal.Own, journal.Fired)
}

// TestMarkReadWithoutTheScopeToLook shows that a key that may not read conversations can still mark
// them as read.
func TestMarkReadWithoutTheScopeToLook(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ mark_read: }] }
  - { id: watch, when: conversation.updated, do: [{ log: x }] }
`)
	d.fault("GET /conversations/{id}", "status_before", 403, 0)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.expect("POST /conversations/{id}/read")
	d.wantStates("it", journal.Done)
	d.wantOutcomes("watch", journal.Fired, journal.Own)
}

// TestChangesAfterAClose shows that a person's change of a conversation, or move of one of its
// cards, right after a rule has closed its attendance counts as the person's; the move of the
// attendance's own card is the engine's.
func TestChangesAfterAClose(t *testing.T) {
	for name, c := range map[string]struct {
		done  bool // the attendance's card was already in the stage it moves to
		moved []journal.Outcome
	}{
		"its card goes with it": {false, []journal.Outcome{journal.Own, journal.Fired}},
		"its card stays":        {true, []journal.Outcome{journal.Fired, journal.Fired}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: 'message.text == "bye"', do: [{ close_attendance: because }] }
  - { id: closed, when: attendance.closed, do: [{ log: x }] }
  - { id: moved, when: kanban.card.moved, do: [{ log: x }] }
  - { id: watch, when: conversation.updated, do: [{ log: x }] }
`)
			w := d.customer(ana, "hello")
			for card, err := range d.client.Cards(t.Context(), service.CardQuery{}) {
				if must(card, err); c.done && card.AttendanceID == w.Attendance.String() {
					must(d.MoveCard(sandbox.MoveCard{Card: card.ID, Stage: "Done", Person: "Bruno"}))
				}
			}
			card := must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Offer", Conversation: ana}))
			d.customer(ana, "bye")
			d.expect(closes + "because")
			d.pass(3 * time.Second)
			must(d.MoveCard(sandbox.MoveCard{Card: card.ID.String(), Stage: "Won", Person: "Bruno"}))
			d.transfer("Sales")
			d.pass(time.Minute)
			d.wantOutcomes("closed", journal.Own)
			d.wantOutcomes("moved", c.moved...)
			d.wantOutcomes("watch", journal.Fired, journal.Fired, journal.Fired)
		})
	}
}

// TestChangeAfterAnOpening shows that a customer who answers at once in a conversation that a rule
// has opened gets a reaction.
func TestChangeAfterAnOpening(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, if: 'message.text == "go"', do: [{ open_conversation: { channel: Main, phone: "`+bia+`" } }] }
  - { id: watch, when: conversation.updated, if: 'conversation.name != "Ana Lima"', do: [{ log: x }] }
`)
	d.customer(ana, "go")
	d.pass(3 * time.Second)
	d.customer(bia, "hello")
	d.pass(time.Minute)
	d.wantOutcomes("watch", journal.False, journal.Fired)
}

// TestOwnChangeOfWhatIsNotShown shows that a change that no event of the service shows does not
// tell which call caused an event.
func TestOwnChangeOfWhatIsNotShown(t *testing.T) {
	profile := service.DefaultProfile()
	profile.Conversation.SectorID = nil
	d := newDesk(t, `
rules:
  - { id: it, when: kanban.card.created, if: 'card.title == "Offer"', do: [{ set_sector: Sales }] }
  - { id: watch, when: conversation.updated, do: [{ log: x }] }
`, func(o *deskOptions) { o.profile = &profile })
	d.customer(ana, "hello")
	d.pass(time.Minute)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Offer", Conversation: ana}))
	d.pass(time.Minute)
	d.expect("PUT /conversations/{id}/sector")
	d.wantOutcomes("watch", journal.Fired, journal.Own)
}
