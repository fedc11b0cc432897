package backfill_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/backfill"
)

const bothRules = `
rules:
  - { id: on-received, when: message.received, do: [{ log: heard }] }
  - { id: on-opened, when: attendance.opened, do: [{ log: opened }] }
  - { id: on-moved, when: kanban.card.moved, do: [{ log: moved }] }
`

// A missing scope is logged once, and the rest is found. After it is granted, what was missed
// meanwhile is found too.
func TestMissingScope(t *testing.T) {
	var log bytes.Buffer
	d := newDesk(t, bothRules, func(o *deskOptions) { o.log = slog.New(slog.NewTextHandler(&log, nil)) })
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	d.fault("GET /conversations/{id}/messages", "status_before", 0, 0, 403)
	d.customer(1, "hello")
	d.pass(30 * time.Minute)
	if len(d.of("attendance.opened")) != 1 || len(d.of("message.received")) != 0 {
		t.Errorf("found:\n%s", d.trace())
	}
	if said := strings.Count(log.String(), "the key lacks the scope messages:read, so messages that no webhook told are not found"); said != 1 {
		t.Errorf("said %d times:\n%s", said, log.String())
	}
	if problem := d.source.State().Problem; !strings.Contains(problem, "messages:read") {
		t.Errorf("the problem is told as %q", problem)
	}
	d.ClearFaults()
	d.pass(30 * time.Minute)
	if len(d.of("message.received")) != 1 || d.source.State().Problem != "" {
		t.Errorf("found:\n%s\nproblem: %s", d.trace(), d.source.State().Problem)
	}
}

// Refusals, pauses and failures of the service end nothing.
func TestTroubleEndsNothing(t *testing.T) {
	for name, trouble := range map[string]func(d *desk){
		"key refused":       func(d *desk) { d.fault("*", "status_before", 0, 0, 401) },
		"not there":         func(d *desk) { d.fault("*", "status_before", 0, 0, 503) },
		"lists are missing": func(d *desk) { d.fault("GET /conversations", "status_before", 0, 0, 404) },
		"dropped":           func(d *desk) { d.fault("*", "drop_before", 0, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, bothRules)
			d.pass(time.Minute)
			d.fault("delivery", "lose", 0, 0, 0)
			trouble(d)
			d.customer(1, "hello")
			d.pass(20 * time.Minute)
			if d.source.State().Problem == "" {
				t.Error("nothing is said")
			}
			d.ClearFaults()
			d.pass(20 * time.Minute)
			if len(d.of("message.received")) != 1 || len(d.of("attendance.opened")) != 1 || d.source.State().Problem != "" {
				t.Errorf("found:\n%s\n%s", d.trace(), d.source.State().Problem)
			}
		})
	}
}

// A broken service fails for one thing, and always.
type broken struct {
	mu   sync.Mutex
	path string
}

func (b *broken) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path == "" || !strings.HasSuffix(r.URL.Path, b.path) {
		return http.DefaultTransport.RoundTrip(r)
	}
	return &http.Response{StatusCode: 500, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func (b *broken) set(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.path = path
}

// One unreadable object does not keep the others from being found; when it becomes readable, its
// events are found too.
func TestOneThingIsBroken(t *testing.T) {
	for name, path := range map[string]func(d *desk, w sandbox.Written) string{
		"messages of a conversation": func(_ *desk, w sandbox.Written) string {
			return "/conversations/" + w.Conversation.String() + "/messages"
		},
		"a conversation": func(_ *desk, w sandbox.Written) string { return "/conversations/" + w.Conversation.String() },
		"an attendance":  func(_ *desk, w sandbox.Written) string { return "/attendances/" + w.Attendance.String() },
		"a contact": func(d *desk, w sandbox.Written) string {
			return "/contacts/" + must(d.client.GetConversation(d.t.Context(), w.Conversation.String())).ContactID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &broken{}
			d := newDesk(t, settledRules, func(o *deskOptions) { o.transport = b })
			first := d.customer(1, "before")
			for n := range 4 {
				d.customer(2+n, "before")
			}
			d.pass(30 * time.Minute)
			d.fault("delivery", "lose", 0, 0, 0)
			b.set(path(d, first))
			for n := range 10 {
				d.customer(n, "hello")
				if n < 5 {
					must(d.TeamClose(sandbox.TeamClose{Conversation: fmt.Sprint("Customer ", n), Person: "Bruno"}))
				}
			}
			d.pass(20 * time.Minute)
			if got := len(d.of("message.received")); got < 14 {
				t.Errorf("%d of 15 messages are known", got)
			}
			if got := len(d.of("attendance.closed")); got < 4 {
				t.Errorf("%d of 5 closings are known", got)
			}
			b.set("")
			d.pass(20 * time.Minute)
			if got := [3]int{len(d.of("message.received")), len(d.of("attendance.opened")), len(d.of("attendance.closed"))}; got != [3]int{15, 10, 5} {
				t.Errorf("messages, opened and closed %v:\n%s", got, d.trace())
			}
			if problem := d.source.State().Problem; problem != "" {
				t.Errorf("the problem stays: %s", problem)
			}
		})
	}
}

const settledRules = `
rules:
  - { id: on-received, when: message.received, do: [{ log: heard }] }
  - { id: on-opened, when: attendance.opened, do: [{ log: opened }] }
  - { id: on-closed, when: attendance.closed, do: [{ log: closed }] }
`

// A stopped service cancels its caller after so many calls.
type stopped struct {
	left atomic.Int64
	stop context.CancelFunc
}

func (s *stopped) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/v1/contacts/") && s.left.Add(-1) == 0 {
		s.stop()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// An interrupted pass keeps what it has found, and the next one finds the rest.
func TestStoppedInTheMiddle(t *testing.T) {
	s := &stopped{}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	d := newDesk(t, bothRules, func(o *deskOptions) { o.transport = s })
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	const n = 180
	for i := range n {
		d.customer(i, "hello")
	}
	d.move(d.clock().Add(10 * time.Minute))
	s.left.Store(n - 10)
	d.source.Tick(ctx)
	kept := len(d.of("attendance.opened"))
	if kept < n/2 || kept == n {
		t.Errorf("%d of %d are kept", kept, n)
	}
	s.left.Store(0)
	d.pass(10 * time.Minute)
	if got := len(d.of("attendance.opened")); got != n {
		t.Errorf("%d of %d are found", got, n)
	}
}

// Every third call fails: a pass completes nevertheless.
func TestFlakyService(t *testing.T) {
	d := newDesk(t, bothRules)
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	d.fault("*", "status_before", 0.3, 0, 503)
	for n := range 30 {
		d.customer(n, "hello")
	}
	d.pass(10 * time.Minute)
	if got := len(d.of("message.received")); got != 30 {
		t.Errorf("%d of 30 are found", got)
	}
}

// A pass waits out a pause that the service asks for, and continues.
func TestTooManyRequests(t *testing.T) {
	d := newDesk(t, bothRules, func(o *deskOptions) { o.sandbox.RateLimit = 20 })
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	for n := range 30 {
		d.customer(n, "hello")
	}
	d.pass(20 * time.Minute)
	if got := len(d.of("message.received")); got != 30 {
		t.Errorf("%d of 30 are found", got)
	}
}

// lease makes another engine hold the lease.
func (d *desk) lease(holder string, now time.Time) {
	d.t.Helper()
	if err := d.journal.SetCursor(d.t.Context(), "backfill/default/lease", fmt.Sprint(now.Add(2*time.Minute).UnixMicro(), " ", holder)); err != nil {
		d.t.Fatal(err)
	}
}

// An engine with a journal of its own does not wait for the lease of its predecessor, which was
// killed during a pass.
func TestKilledAndAlone(t *testing.T) {
	for _, alone := range []bool{true, false} {
		d := newDesk(t, bothRules, func(o *deskOptions) { o.tune = func(o *backfill.Options) { o.Alone = alone } })
		now := d.clock()
		d.lease("killed", now)
		d.source.Tick(t.Context())
		if looked := !d.source.State().Ended.IsZero(); looked != alone {
			t.Errorf("alone %v: looked %v", alone, looked)
		}
	}
}

// Of two engines one makes passes. When it dies during a pass, the other continues.
func TestOneEngineAtATime(t *testing.T) {
	d := newDesk(t, bothRules)
	d.pass(time.Minute)
	other := must(backfill.New(d.options(d.journal, d.engine, d.client, "two")))
	other.Tick(t.Context())
	first := other.State().Ended
	if first.IsZero() {
		t.Fatal("the second engine has not looked at its start")
	}
	d.pass(10 * time.Minute)
	other.Tick(t.Context())
	if !other.State().Ended.Equal(first) {
		t.Error("both engines look")
	}
	// The first one dies during a pass.
	d.fault("delivery", "lose", 0, 0, 0)
	d.customer(1, "hello")
	d.move(d.clock().Add(time.Minute))
	now := d.clock()
	d.lease("one", now)
	other.Wake("test")
	other.Tick(t.Context())
	if !other.State().Ended.Equal(first) {
		t.Error("both engines look at once")
	}
	later := now.Add(3 * time.Minute)
	d.move(later)
	other.Tick(t.Context())
	if other.State().Ended.Equal(first) || len(d.of("message.received")) != 1 {
		t.Errorf("nobody goes on: %+v", other.State())
	}
}

// An engine that was suspended during a pass, and finds another holding the lease when it resumes,
// stops.
func TestLeaseLost(t *testing.T) {
	l := &list{most: 100}
	d := newDesk(t, talkRulesOnly, func(o *deskOptions) { o.transport = l })
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	d.customer(1, "hello")
	d.move(d.clock().Add(8 * time.Minute))
	l.read(d)
	l.after = func(*list, int) {
		now := d.clock().Add(5 * time.Minute)
		d.move(now)
		d.lease("two", now)
	}
	d.source.Tick(t.Context())
	if len(d.all()) > 0 || l.pages != 1 {
		t.Errorf("it went on, with %d pages:\n%s", l.pages, d.trace())
	}
	l.after = nil
	d.pass(10 * time.Minute)
	if got := len(d.of("message.received")); got != 1 {
		t.Errorf("%d found when the other engine was gone", got)
	}
}

// A pass yields to rule runs, and keeps its own rate.
func TestLiveWorkGoesFirst(t *testing.T) {
	behind, slept := time.Second, time.Duration(0)
	calls := &watched{}
	d := newDesk(t, bothRules, calls.watch, func(o *deskOptions) {
		o.tune = func(b *backfill.Options) {
			b.Behind = func(context.Context) (time.Duration, error) { return behind, nil }
			b.Sleep = func(_ context.Context, d time.Duration) error {
				if slept += d; slept >= 3*time.Second {
					behind = 0
				}
				return nil
			}
		}
	})
	d.source.Tick(t.Context())
	if slept < 3*time.Second || slept > 4*time.Second {
		t.Errorf("it waited %s for the work of rules", slept)
	}
	slept = 0
	paced := d.options(d.journal, d.engine, d.client, "two")
	paced.Rate, paced.Behind = 2, nil
	s := must(backfill.New(paced))
	s.Tick(t.Context())
	if n := s.State().Calls; n < 2 || slept != time.Duration(n-1)*500*time.Millisecond {
		t.Errorf("%d calls at 2 in a second waited %s", n, slept)
	}
}

// A message whose conversation is gone, and an attendance that is, keep nothing else from being
// found.
func TestGoneMeanwhile(t *testing.T) {
	d := newDesk(t, bothRules)
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	d.customer(1, "hello")
	d.customer(2, "hello")
	if err := d.AddFault(sandbox.Fault{Operation: "GET /conversations/{id}/messages", Kind: "status_before", Status: 404, Count: 1}); err != nil {
		t.Fatal(err)
	}
	d.pass(6 * time.Minute)
	if got := len(d.of("message.received")); got == 0 {
		t.Error("nothing is found")
	}
}

// A rule that is late for a message that was found does not answer it.
func TestLate(t *testing.T) {
	d := newDesk(t, `rules: [{ id: on-received, when: message.received, do: [{ send_message: hello }] }]`)
	d.pass(time.Minute)
	d.stop()
	d.customer(1, "long ago")
	d.pass(45 * time.Minute)
	d.customer(2, "just now")
	d.pass(10 * time.Minute)
	d.start()
	d.pass(time.Minute)
	if v := d.verdicts("on-received"); v[journal.Late] != 1 || v[journal.Fired] != 1 {
		t.Errorf("%v\n%s", v, d.trace())
	}
}
