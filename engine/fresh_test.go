package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// blocked is a service that leaves some requests without an answer until it is released.
type blocked struct {
	these  func(*http.Request) bool
	answer chan struct{}
}

func (b blocked) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.these(r) {
		select {
		case <-b.answer:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

// arrives accepts an event of Ana's and returns it as it is recorded then.
func (d *desk) arrives(id string) *journal.Event {
	d.t.Helper()
	return d.arrivesIn("c1", id)
}

func (d *desk) arrivesIn(conversation, id string) *journal.Event {
	d.t.Helper()
	now := time.Now()
	e := rules.Event{
		Workspace: "default", ID: id, Type: "message.received", Lane: "conversation:" + conversation, CreatedAt: now, ReceivedAt: now,
		Data: map[string]any{"conversation": map[string]any{"id": conversation}, "message": map[string]any{"id": id, "text": "hello"}},
	}
	if fresh := must(d.engine.Accept(d.t.Context(), e)); !fresh[0] {
		d.t.Fatalf("the event %s is known", id)
	}
	return must(d.journal.FindEvent(d.t.Context(), "default", id))
}

// TestDecidedAtOnce shows that an event that can be decided without a call is decided when it is
// recorded, and not twice.
func TestDecidedAtOnce(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ log: heard }] }
`)
	d.live()
	d.until("it runs", func() bool { return d.engine.Runs() })
	if e := d.arrives("m1"); !e.Decided || len(e.Verdicts) != 1 || e.Verdicts[0].Outcome != journal.Fired {
		t.Errorf("it is recorded, and no more: %+v", e)
	}
	if again := must(d.engine.Accept(t.Context(), rules.Event{Workspace: "default", ID: "m1", Type: "message.received", Lane: "conversation:c1"})); again[0] {
		t.Error("it is recorded twice")
	}
	d.wantStates("it", journal.Done)
}

// TestNobodyWaitsForTheService shows that the sender of an event does not wait for the service:
// what rules ask of it is asked after the event is recorded.
func TestNobodyWaitsForTheService(t *testing.T) {
	service := blocked{func(r *http.Request) bool { return r.Method == http.MethodGet }, make(chan struct{})}
	d := newDesk(t, `
rules:
  - { id: asks, when: message.received, if: "not human_active('1h')", do: [{ log: heard }] }
  - { id: plans, when: message.received, do: [{ add_labels: [vip] }] }
`, func(o *deskOptions) { o.transport = service })
	d.live()
	d.until("it runs", func() bool { return d.engine.Runs() })
	if e := d.arrives("m1"); e.Decided {
		t.Error("it is decided, and nobody could be asked")
	}
	close(service.answer)
	d.until("it is decided", func() bool { return must(d.journal.FindEvent(t.Context(), "default", "m1")).Decided })
}

// TestAskedOnceItIsRecorded shows that an event for which the service has to be asked is recorded
// and decided in one visit, without an error on the way.
func TestAskedOnceItIsRecorded(t *testing.T) {
	var log bytes.Buffer
	d := newDesk(t, `
rules:
  - { id: asks, when: message.received, if: "not human_active('1h')", do: [{ log: heard }] }
`, func(o *deskOptions) { o.log = slog.New(slog.NewTextHandler(&log, nil)) })
	stop := d.live()
	d.until("it runs", func() bool { return d.engine.Runs() })
	d.arrives("m1")
	d.until("it is decided", func() bool { return must(d.journal.FindEvent(t.Context(), "default", "m1")).Decided })
	stop() // the log is whole then
	if text := log.String(); strings.Contains(text, "level=ERROR") {
		t.Error(text)
	}
}

// TestNobodyWaitsForWorkers shows that the sender of an event does not wait for a worker either, if
// all of them wait for the service.
func TestNobodyWaitsForWorkers(t *testing.T) {
	service := blocked{func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/messages") }, make(chan struct{})}
	d := newDesk(t, `
rules:
  - { id: asks, when: message.received, do: [{ send_message: { text: hello } }] }
`, func(o *deskOptions) { o.transport, o.workers = service, 2 })
	d.live()
	d.until("it runs", func() bool { return d.engine.Runs() })
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		d.arrivesIn("c"+id, id)
	}
	calls := 0
	for _, r := range d.runs("asks") {
		calls += r.Steps[0].Attempts
	}
	if calls != 2 {
		t.Errorf("%d calls were begun, and there are two workers\n%s", calls, d.trace())
	}
	close(service.answer)
	d.until("all have ended", func() bool {
		return !slices.ContainsFunc(d.states("asks"), func(s journal.State) bool { return !s.Finished() })
	})
}

// A faulty action panics when it plans, the first so many times.
type faulty struct {
	actions.Action
	left *atomic.Int32
}

func (f faulty) Plan(ctx context.Context, s *actions.Step) (actions.Next, error) {
	if f.left.Add(-1) >= 0 {
		panic("an index out of range, say")
	}
	return f.Action.Plan(ctx, s)
}

// TestFault shows that a panic ends neither the process nor the event that caused it: the event is
// recorded, and retried.
func TestFault(t *testing.T) {
	var left atomic.Int32
	left.Store(2)
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: { text: hello } }] }
`, func(o *deskOptions) { o.action = func(a actions.Action) actions.Action { return faulty{a, &left} } })
	d.live()
	d.until("it runs", func() bool { return d.engine.Runs() })
	if e := d.arrives("m1"); e.Decided {
		t.Error("it is decided, by nobody")
	}
	d.until("it is decided", func() bool { return must(d.journal.FindEvent(t.Context(), "default", "m1")).Decided })
	d.until("it is tried again", func() bool { return left.Load() < 0 })
	d.until("it has come to its end", func() bool { return len(d.states("it")) == 1 && d.states("it")[0].Finished() })
}
