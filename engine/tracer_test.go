package engine_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
)

// traceLog is a tracer that keeps a line for each part.
type traceLog struct {
	mu    sync.Mutex
	parts []string
	from  int
}

func (l *traceLog) Trace(p engine.Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf("%s %s", p.Kind, p.Event.Type)
	switch p.Kind {
	case engine.PartRun:
		line = fmt.Sprintf("run %s, again %d, took %s", p.Run.State, p.RunAgain, p.Ended.Sub(p.Began))
	case engine.PartStep:
		line = fmt.Sprintf("step %s %s, again %d of %d, took %s", p.Step.Path, p.Step.State, p.StepAgain, p.RunAgain, p.Ended.Sub(p.Began))
	case engine.PartCall, engine.PartSettle:
		line = fmt.Sprintf("%s %s of %s: %s, again %d", p.Kind, p.Call, p.Step.Path, actions.Sum(p.Err), p.StepAgain)
	}
	l.parts = append(l.parts, line)
}

// expect compares the parts since the last check, for events of a type.
func (l *traceLog) expect(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var got []string
	for _, line := range l.parts[l.from:] {
		if line != "match attendance.opened" && line != "match kanban.card.created" && line != "match message.sent" && line != "match conversation.updated" {
			got = append(got, line)
		}
	}
	l.from = len(l.parts)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTracer shows that every part is traced once, when it is recorded, however often the run was
// interrupted meanwhile.
func TestTracer(t *testing.T) {
	l := &traceLog{}
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - { choose: [{ if: 'contact.name != ""', do: [{ send_message: "hello {{ contact.name }}" }, { wait: 1h }, { transfer: { sector: Sales, reason: because } }] }] }
`, func(o *deskOptions) { o.tracer = l })
	d.fault("POST /conversations/{id}/messages", "status_after", 503, 1)
	d.customer(ana, "hello")
	d.pass(time.Minute)
	l.expect(t,
		"match message.received", "step 1 done, again 0 of 0, took 0s", "call send of 1.1.1: uncertain, again 0",
		"settle send of 1.1.1: ok, again 0", "call send of 1.1.1: ok, again 0", "step 1.1.1 done, again 0 of 0, took 10s",
	)
	d.restart()
	d.fault("POST /conversations/{id}/transfer", "status_before", 422, 1)
	d.pass(time.Hour)
	l.expect(t,
		"step 1.1.2 done, again 0 of 0, took 1h0m0s", "call transfer of 1.1.3: failed, again 0", "step 1.1.3 failed, again 0 of 0, took 0s", "run failed, again 0, took 1h0m10s",
	)
	d.ask("it", journal.AskRetry)
	d.rest()
	l.expect(t, "call transfer of 1.1.3: ok, again 1", "step 1.1.3 done, again 1 of 1, took 50s", "run done, again 1, took 1h1m0s")
}

// TestTracerOfACancelledRun shows that a run that is cancelled while it waits is traced with its
// present step.
func TestTracerOfACancelledRun(t *testing.T) {
	l := &traceLog{}
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ log: x }, { wait: 1h }] }
`, func(o *deskOptions) { o.tracer = l })
	d.customer(ana, "hello")
	l.expect(t, "match message.received", "step 1 done, again 0 of 0, took 0s")
	d.restart()
	d.pass(time.Minute)
	d.ask("it", journal.AskCancel)
	d.rest()
	l.expect(t, "step 2 waiting, again 0 of 0, took 1m0s", "run cancelled, again 0, took 1m0s")
}
