package engine_test

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

var (
	flood        = flag.Int("flood", 0, "how many events TestFloodTimes floods one of 200 workspaces with; 0 is not at all")
	floodWorkers = flag.Int("workers", 0, "lanes that TestFloodTimes works on at once; 0 is as many as usual")
)

// A hall is one engine with many workspaces, each with its own client, rules and directory, and
// recorded events to give to them.
type hall struct {
	t      *testing.T
	engine *engine.Engine
	events []rules.Event // each from another conversation

	mu      sync.Mutex
	decided []string                 // the workspaces of the decided events, in order
	took    map[string]time.Duration // from an event to its effect, by the event's id
	ids     map[int64]rules.Event    // by sequence number
}

func (h *hall) Decided(e *journal.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decided = append(h.decided, e.Workspace)
	h.ids[e.Seq] = e.Event
}

func (h *hall) Changed(r *journal.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.ids[r.Event]; ok && r.State == journal.Done {
		h.took[e.ID] = time.Since(e.ReceivedAt)
	}
}

func (*hall) Began(*journal.Run, *journal.Event)          {}
func (*hall) Called(string, string, time.Duration, error) {}
func (*hall) Held(journal.Hold)                           {}
func (*hall) Lifted(journal.Hold)                         {}
func (h *hall) count(of func(workspace string) bool) (count int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.decided {
		if of(w) {
			count++
		}
	}
	return count
}

// room returns the name of a workspace; the first one is flooded.
func room(i int) string { return fmt.Sprintf("w%03d", i) }

func quiet(workspace string) bool { return workspace != room(0) }

func newHall(t *testing.T, j anyJournal, rooms, conversations, workers int, rule string) *hall {
	t.Helper()
	h := &hall{t: t, took: map[string]time.Duration{}, ids: map[int64]rules.Event{}}
	s := must(sandbox.New(sandbox.Options{AllowLoopback: true, Seed: 3}))
	t.Cleanup(func() { _ = s.Close() })
	at := must(s.Start(t.Context(), "127.0.0.1:0"))
	client := must(service.New(service.Options{BaseURL: at.BaseURL, APIKey: service.Secret(at.APIKey)}))
	secret := service.Secret("")
	receiver := httptest.NewServer(must(webhook.New(webhook.Options{
		Workspace: "default", Secrets: func(time.Time) []service.Secret { return []service.Secret{secret} },
		Sink: func(_ context.Context, events ...rules.Event) ([]bool, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, events...)
			return make([]bool, len(events)), nil
		},
	})))
	hook := must(client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "hall", URL: receiver.URL, Events: []string{"message.received"}}))
	secret = hook.Secret
	for i := range conversations {
		must(s.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", i), Name: "Somebody", Text: fmt.Sprint(i)}))
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	receiver.Close()
	if len(h.events) != conversations {
		t.Fatalf("%d events of %d conversations", len(h.events), conversations)
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(rule))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	var list []engine.Workspace
	for i := range rooms {
		client := must(service.New(service.Options{BaseURL: at.BaseURL, APIKey: service.Secret(at.APIKey), MaxWait: -1}))
		o := builtin.Options{Client: client, Directory: service.NewDirectory(client)}
		list = append(list, engine.Workspace{Name: room(i), Actions: must(actions.NewRegistry(must(builtin.New(o))...)), Desk: must(builtin.NewDesk(o))})
	}
	h.engine = must(engine.New(engine.Options{Journal: j, Workers: workers, Observer: h}, list...))
	for _, w := range list {
		if err := h.engine.SetRules(w.Name, set); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// give records events of a workspace, each in another conversation, beginning with the n-th.
func (h *hall) give(workspace, id string, n, count int) {
	h.t.Helper()
	var list []rules.Event
	for i := range count {
		e := h.events[(n+i)%len(h.events)]
		e.Workspace, e.ID, e.ReceivedAt, e.CreatedAt = workspace, fmt.Sprintf("%s %s %d", workspace, id, i), time.Now(), time.Now()
		list = append(list, e)
	}
	must(h.engine.Accept(h.t.Context(), list...))
}

// run runs the engine until the test is over.
func (h *hall) run() (stop func()) {
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error)
	go func() { done <- h.engine.Run(ctx) }()
	return func() { cancel(); <-done }
}

// inBoth runs a test with a journal in a file and with one in a database.
func inBoth(t *testing.T, test func(*testing.T, anyJournal)) {
	for name, p := range map[string]process{
		"in a file":     {Journal: filepath.Join(t.TempDir(), "journal.db")},
		"in a database": {Journal: postgrestest.Shared(t).Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			j := must(p.open(t.Context(), false))
			defer j.Close()
			test(t, j)
		})
	}
}

// TestFlood gives one workspace far more work than the engine can do, and then 199 others one event
// each: these are decided before the backlog of the first, which gets its turns like any other.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	inBoth(t, func(t *testing.T, j anyJournal) {
		const workers = 4
		h := newHall(t, j, 200, 400, workers, "rules:\n  - { id: it, when: message.received, do: [{ send_message: hello }] }\n")
		h.give(room(0), "flood", 0, 400)
		defer h.run()()
		await := func(n int, of func(string) bool) {
			t.Helper()
			for deadline := time.Now().Add(time.Minute); h.count(of) < n; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d of %d events are decided", h.count(of), n)
				}
			}
		}
		await(20, func(w string) bool { return !quiet(w) })
		for i := 1; i < 200; i++ {
			h.give(room(i), "one", i, 1)
		}
		began := h.count(func(string) bool { return true })
		await(199, quiet)
		h.mu.Lock()
		defer h.mu.Unlock()
		// A workspace without a lane in progress has the next turn, so the flooded workspace gets at most
		// every other turn. By age, all its events would have come first.
		flooding, rest := 0, 199
		for i, w := range h.decided {
			switch {
			case quiet(w):
				rest--
			case i >= began && rest > 0:
				flooding++
			}
		}
		if flooding > 199 {
			t.Errorf("%d events of the workspace that floods came before the last of the others", flooding)
		}
		t.Logf("%d events were decided before, %d of the workspace that floods came in between", began, flooding)
	})
}

// TestFloodTimes measures the time from an event to its effect in 199 workspaces, alone and while
// another is flooded.
func TestFloodTimes(t *testing.T) {
	if *flood == 0 {
		t.Skip("make flood measures it")
	}
	inBoth(t, func(t *testing.T, j anyJournal) {
		h := newHall(t, j, 200, 1000, *floodWorkers, "rules:\n  - { id: it, when: message.received, do: [{ send_message: hello }] }\n")
		defer h.run()()
		h.round("warm", 1)
		alone := h.round("alone", 3)
		for i := range *flood / 500 {
			h.give(room(0), fmt.Sprint("flood", i), i*500, 500)
		}
		before := h.count(func(w string) bool { return !quiet(w) })
		flooded := h.round("flooded", 3)
		worked := h.count(func(w string) bool { return !quiet(w) }) - before
		for _, p := range []int{50, 99} {
			t.Logf("p%d from event to effect: %s alone, %s while another workspace floods (%.1f times)", p, at(alone, p), at(flooded, p), float64(at(flooded, p))/float64(at(alone, p)))
		}
		t.Logf("meanwhile %d events of the workspace that floods were decided, of %d", worked, *flood)
	})
}

// at returns a percentile.
func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100].Round(100 * time.Microsecond)
}

// round gives every quiet workspace so many events, one every 10 ms over all of them, and returns
// the times to their effects, shortest first.
func (h *hall) round(name string, times int) (list []time.Duration) {
	h.t.Helper()
	for n := range times {
		for i := 1; i < 200; i++ {
			h.give(room(i), fmt.Sprint(name, n), i, 1)
			time.Sleep(10 * time.Millisecond)
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); len(list) < times*199; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("%d of %d have had their effect", len(list), times*199)
		}
		list = nil
		h.mu.Lock()
		for n := range times {
			for i := 1; i < 200; i++ {
				if d, ok := h.took[fmt.Sprintf("%s %s%d 0", room(i), name, n)]; ok {
					list = append(list, d)
				}
			}
		}
		h.mu.Unlock()
	}
	slices.Sort(list)
	return list
}
