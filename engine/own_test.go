package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// TestOwnMessageIsNoPersons shows that a message that a run has just sent is the engine's own to
// its next step.
func TestOwnMessageIsNoPersons(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - send_message: one
      - send_message: two
        if: not human_active("15m")
      - log: "{{ conversation.last_message.by }}"
`)
	d.customer(ana, "hello")
	d.expect(send+"one", send+"two")
}

func TestOwnConversationInAnotherLane(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: manual, do: [{ send_message: hello }, { log: "{{ conversation.kind }}" }] }
  - { id: heard, when: message.sent, do: [{ log: x }] }
`, func(o *deskOptions) { o.safety.PerConversation = duration.Rate{Times: 2, Per: 10 * time.Minute} })
	w := d.customer(ana, "hello")
	for i := range 4 {
		must(d.engine.Accept(t.Context(), rules.Event{
			Workspace: "default", ID: fmt.Sprintf("manual/%d", i), Type: "manual", Rule: "it", Lane: fmt.Sprintf("card:%d", i),
			CreatedAt: d.clock.Now(), ReceivedAt: d.clock.Now(), Data: map[string]any{"conversation_id": w.Conversation.String()},
		}))
		d.rest()
	}
	d.expect(send+"hello", send+"hello")
	for _, o := range d.outcomes("heard") {
		if o != journal.Own {
			t.Errorf("%v", d.outcomes("heard"))
		}
	}
}

// TestExpectedElsewhereIsForgotten shows that the answer to a call removes its marks, so that the
// list of them does not grow for ever.
func TestExpectedElsewhereIsForgotten(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ create_card: { board: Sales, title: x } }] }
`)
	d.customer(ana, "hello")
	d.expect("POST /kanban/cards")
	if left := must(d.journal.Caused(t.Context(), "default", "", []string{"?"}, time.Time{})); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// TestOwnOpeningStartsNothing shows that a conversation that the engine opens counts as its own,
// with the attendance and the card that the service adds.
func TestOwnOpeningStartsNothing(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: { to: { phone: "+5511900001111", channel: Main }, text: hello } }] }
  - { id: heard, when: [attendance.opened, kanban.card.created, conversation.updated, message.sent], do: [{ log: x }] }
`)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.customer(ana, "again") // the conversation exists now
	d.pass(time.Minute)
	verdicts := map[journal.Outcome]int{}
	for _, o := range d.outcomes("heard") {
		verdicts[o]++
	}
	// Ana's attendance, its card, and two updates of her conversation are caused by her.
	if verdicts[journal.Fired] != 4 || verdicts[journal.Own] != 6 {
		t.Errorf("%v\n%s", verdicts, d.trace())
	}
}

// TestOwnMessageWithoutAnAnswer shows that a message whose call has had no answer for long is still
// recognised as the engine's own.
func TestOwnMessageWithoutAnAnswer(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
  - { id: watch, when: message.sent, do: [{ log: "{{ message.by }}" }] }
`)
	d.fault("POST /conversations/{id}/messages", "status_after", 503, 20)
	d.customer(ana, "hello")
	d.pass(5 * time.Minute)
	if got := d.outcomes("watch"); !slices.Equal(got, []journal.Outcome{journal.Own}) {
		t.Errorf("verdicts: %v", got)
	}
	d.pass(24 * time.Hour)
	d.expect(send + "hello")
	d.wantStates("it", journal.Done)
}

// TestOwnMessageWithoutAnAnswerIsNoPersons shows that other rules do not take a message whose call
// has no answer for a person's.
func TestOwnMessageWithoutAnAnswerIsNoPersons(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: a, when: attendance.opened, do: [{ send_message: hello }] }
  - { id: b, when: message.received, do: [{ add_labels: [vip], if: 'not human_active("15m")' }] }
`)
	d.fault("POST /conversations/{id}/messages", "status_after", 503, 3)
	d.customer(ana, "hello")
	d.expect(send+"hello", patches)
}

// senderUnknown is a journal that at first fails to say who sent a message.
type senderUnknown struct {
	fileJournal
	fails atomic.Int32
}

func (j *senderUnknown) Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error) {
	if typ == "message.sent" && len(objects) == 1 && j.fails.Add(-1) >= 0 {
		return nil, errFlaky
	}
	return j.fileJournal.Caused(ctx, workspace, typ, objects, since)
}

// TestOwnMessageThatCannotBeTold shows that a message whose sender cannot be determined, while a
// call has no answer, waits until it can be.
func TestOwnMessageThatCannotBeTold(t *testing.T) {
	var kept *senderUnknown
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
  - { id: watch, when: message.sent, do: [{ add_labels: [vip] }] }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			kept = &senderUnknown{fileJournal: j}
			return kept
		}
	})
	kept.fails.Store(1)
	d.fault("POST /conversations/{id}/messages", "status_after", 503, 20)
	d.customer(ana, "hello")
	d.pass(24 * time.Hour)
	d.expect(send + "hello")
	if got := d.outcomes("watch"); !slices.Equal(got, []journal.Outcome{journal.Own}) || kept.fails.Load() >= 0 {
		t.Errorf("verdicts: %v", got)
	}
}
