package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

// ask sends a request to a rule's first run.
func (d *desk) ask(rule string, what journal.AskKind) {
	d.t.Helper()
	if err := d.journal.Ask(d.t.Context(), d.clock.Now(), d.runs(rule)[0].ID, journal.Ask{What: what, At: d.clock.Now()}); err != nil {
		d.t.Fatal(err)
	}
	d.rest()
}

// TestRetryOfARunThatNoStepFailed shows that a failure with on_error: continue stays a failure when
// the run is retried for another reason.
func TestRetryOfARunThatNoStepFailed(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    cancel_on: [{ event: attendance.closed, if: int(contact.name) > 1 }]
    do:
      - find_card: { board: Sales, q: nobody, expect: one }
        on_error: continue
      - wait: 10m
      - send_message: hello
`)
	d.customer(ana, "hello")
	must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
	d.rest()
	d.wantStates("it", journal.FailedRun)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "for nobody"}))
	d.ask("it", journal.AskRetry)
	d.pass(time.Hour)
	d.expect(send + "hello")
	if s := d.runs("it")[0].Steps[0].State; s != journal.StepFailed {
		t.Errorf("the step that was passed over is %s", s)
	}
}

// TestRetryOfARunWhoseEventIsGone shows that a run whose event was pruned fails when it is retried,
// and does not stop others.
func TestRetryOfARunWhoseEventIsGone(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, cancel_on: [attendance.closed], do: [{ wait: 30d }, { transfer: { sector: Nowhere, reason: x } }] }
  - { id: other, when: attendance.closed, do: [{ log: x }] }
`)
	d.customer(ana, "hello")
	d.pass(31 * 24 * time.Hour)
	d.wantStates("it", journal.FailedRun)
	for more := true; more; {
		more = must(d.journal.Prune(t.Context(), d.clock.Now(), 15*24*time.Hour))
	}
	must(d.TeamClose(sandbox.TeamClose{Conversation: ana, Person: "Bruno"}))
	if err := d.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.ask("it", journal.AskRetry)
	d.wantStates("it", journal.FailedRun)
	d.wantStates("other", journal.Done)
}

// TestTextTooLong shows that a text that is too long to be sent fails its step at once, and does
// not delay the steps behind it.
func TestTextTooLong(t *testing.T) {
	for _, text := range []string{"{{ message.text }}", "{{ message.text }}, you wrote"} {
		d := newDesk(t, fmt.Sprintf("rules:\n  - { id: it, when: message.received, do: [{ send_message: %q }] }\n", text))
		d.customer(ana, strings.Repeat("long ", 20_000))
		d.wantStates("it", journal.FailedRun)
		d.customer(ana, "short")
		d.expect(send + strings.Replace(text, "{{ message.text }}", "short", 1))
	}
}
