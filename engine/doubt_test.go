package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// TestGivenUpAfterALook gives up after one attempt whose answer is lost. Before that it looks: the
// step has failed only where the attempt had no effect.
func TestGivenUpAfterALook(t *testing.T) {
	for _, test := range []struct {
		fault string
		step  string
		state journal.State
		done  []string
	}{
		{"status_after", "send_message: hello", journal.Done, []string{send + "hello"}},
		{"status_before", "send_message: hello", journal.FailedRun, []string{send + "sorry"}},
		{"status_after", "create_card: { board: Sales, title: card }", journal.Done, []string{"POST /kanban/cards"}},
		{"status_before", "create_card: { board: Sales, title: card }", journal.FailedRun, []string{send + "sorry"}},
	} {
		t.Run(test.step+" "+test.fault, func(t *testing.T) {
			d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - `+test.step+`
        retry: { times: 1 }
    on_error:
      - send_message: sorry
`)
			operation := "POST /conversations/{id}/messages"
			if strings.HasPrefix(test.step, "create_card") {
				operation = "POST /kanban/cards"
			}
			d.fault(operation, test.fault, 503, 1)
			d.customer(ana, "hello")
			d.pass(5 * time.Minute)
			d.wantStates("it", test.state)
			d.expect(test.done...)
		})
	}
}

// TestGivenUpWithoutALook gives up where the key may not read messages: the step has failed then,
// and the run does not wait for a scope that its verbs do not name.
func TestGivenUpWithoutALook(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - send_message: hello
        retry: { times: 1 }
`)
	d.fault("POST /conversations/{id}/messages", "status_before", 503, 1)
	d.fault("GET /conversations/{id}/messages", "status_before", 403, 1)
	d.customer(ana, "hello")
	d.pass(5 * time.Minute)
	d.wantStates("it", journal.FailedRun)
}

// TestRetryOfAnUnsureCall retries a step that failed although an earlier attempt may have had its
// effect: the same call is made again, by its key, and no second card.
func TestRetryOfAnUnsureCall(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - create_card: { board: Sales, title: card }
`)
	d.fault("POST /kanban/cards", "status_after", 503, 1)
	d.customer(ana, "hello")
	d.fault("POST /kanban/cards", "status_before", 400, 1)
	d.pass(5 * time.Minute)
	d.wantStates("it", journal.FailedRun)
	d.expect("POST /kanban/cards")
	d.ask("it", journal.AskRetry)
	d.pass(5 * time.Minute)
	d.wantStates("it", journal.Done)
	d.expect()
}

// TestUnsureCallIsNotRendered loses the answer to a call, and then what its arguments name is gone.
// The step has not failed for that: its call may have had its effect, which a person decides.
func TestUnsureCallIsNotRendered(t *testing.T) {
	orders := 0
	erp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if orders++; orders == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer erp.Close()
	for _, test := range []struct {
		step   string
		effect []string
	}{
		{`send_message: "hello {{ contact.name }}"`, []string{send + "hello Ana Lima"}},
		{fmt.Sprintf(`http_request: { url: "%s/order", json: { name: "{{ contact.name }}" } }`, erp.URL), nil},
	} {
		d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - wait: 1m
      - `+test.step+`
    on_error:
      - send_message: sorry
`, func(o *deskOptions) {
			o.http = []builtin.HTTPHost{{Host: must(url.Parse(erp.URL)).Host, Private: true}}
		})
		d.customer(ana, "hi")
		d.fault("POST /conversations/{id}/messages", "status_after", 503, 1)
		d.pass(61 * time.Second)
		d.fault("GET /contacts/{id}", "status_before", 404, 1)
		d.pass(5 * time.Minute)
		d.wantStates("it", journal.Uncertain)
		d.expect(test.effect...)
	}
	if orders != 1 {
		t.Errorf("the order was placed %d times", orders)
	}
}

// TestMutedWhileUnsure mutes a conversation while it is not known whether a message was sent. The
// message counts as the engine's own all the same, when its event comes late.
func TestMutedWhileUnsure(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
  - { id: echo, when: message.sent, do: [{ send_message: { text: echo }, even_if_muted: true }] }
`)
	late := true
	d.mu.Lock()
	accept := d.sink
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		if late && events[0].Type != "message.received" {
			return nil, errors.New("the disk is full")
		}
		return accept(ctx, events...)
	}
	d.mu.Unlock()
	d.fault("POST /conversations/{id}/messages", "status_after", 503, 1)
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana Lima", Text: "hi"}))
	d.rest()
	mute := journal.Mute{Workspace: "default", Lane: d.runs("it")[0].Lane, Rule: "x", Since: d.clock.Now(), Until: d.clock.Now().Add(time.Hour)}
	if err := d.journal.Mute(t.Context(), journal.MuteChange{Mute: mute}); err != nil {
		t.Fatal(err)
	}
	d.pass(20 * time.Second)
	d.wantStates("it", journal.Done)
	late = false
	d.pass(10 * time.Minute)
	d.expect(send + "hello")
}

// TestCardOfAnotherConversation creates a card for a conversation that the run has taken up. Its
// event, which comes in the lane of that conversation before the answer, is the engine's own.
func TestCardOfAnotherConversation(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    if: 'message.text == "go"'
    do:
      - read_conversation: { conversation: { phone: "+5511977776666", channel: Main } }
      - create_card: { board: Sales, title: card, conversation: "{{ conversation.id }}" }
  - { id: echo, when: kanban.card.created, if: 'card.title == "card"', do: [{ log: x }] }
`)
	d.customer(bia, "hi")
	d.customer(ana, "hi")
	d.pass(time.Minute)
	d.fault("POST /kanban/cards", "status_after", 503, 1)
	d.customer(ana, "go")
	d.pass(5 * time.Minute)
	d.wantStates("it", journal.Done)
	d.wantOutcomes("echo", journal.Own)
}

// renewedHold is a journal in which another engine prolongs a pause right after it was read.
type renewedHold struct {
	fileJournal
	now     func() time.Time
	renewed bool
}

func (j *renewedHold) Holds(ctx context.Context) ([]journal.Hold, error) {
	list, err := j.fileJournal.Holds(ctx)
	if !j.renewed && len(list) == 1 && !j.now().Before(list[0].Until) {
		j.renewed = true
		h := list[0]
		h.Until = j.now().Add(10 * time.Minute)
		_, err = j.Hold(ctx, h)
	}
	return list, err
}

// TestPauseOfAnotherEngine ends a pause that the service had asked for, while another engine is
// told to pause for longer: that pause stays.
func TestPauseOfAnotherEngine(t *testing.T) {
	var held *renewedHold
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			held = &renewedHold{fileJournal: j}
			return held
		}
	})
	held.now = d.clock.Now
	must(d.journal.Hold(t.Context(), journal.Hold{Workspace: "default", Kind: journal.HoldRate, Reason: "429", Since: d.clock.Now(), Until: d.clock.Now().Add(time.Second)}))
	d.pass(2 * time.Second)
	if !held.renewed {
		t.Fatal("the pause was not prolonged")
	}
	d.customer(ana, "hi")
	d.expect()
	d.pass(11 * time.Minute)
	d.expect(send + "hello")
}
