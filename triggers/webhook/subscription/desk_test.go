package subscription

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// A desk is a subscription under test, with the service, a journal and a receiver.
type desk struct {
	*testing.T
	sandbox *sandbox.Sandbox
	address sandbox.Address
	client  *service.Client
	journal *sqlite.Journal
	folder  string
	url     string
	log     bytes.Buffer
	logger  *slog.Logger

	mu       sync.Mutex
	receiver http.Handler // nil refuses everything
	ahead    time.Duration
	repairs  []Repair
	missing  [][]string
	outcomes map[webhook.Outcome]int
	failing  atomic.Bool
	moves    atomic.Bool // the receiver's clock is ahead too, and not only that of the subscription
}

func newDesk(t *testing.T, change ...func(*sandbox.Options)) *desk {
	t.Helper()
	d := &desk{T: t, folder: t.TempDir(), outcomes: map[webhook.Outcome]int{}}
	d.logger = slog.New(slog.NewTextHandler(&d.log, nil))
	without := func(o *sandbox.Options) { o.KanbanEvents = false }
	d.sandbox, d.address = desktest.Start(t, append([]func(*sandbox.Options){without}, change...)...)
	d.client = must(service.New(service.Options{BaseURL: d.address.BaseURL, APIKey: service.Secret(d.address.APIKey)}))
	d.journal = must(sqlite.Open(t.Context(), d.path("journal.db"), sqlite.Options{}))
	t.Cleanup(func() { _ = d.journal.Close() })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		h := d.receiver
		d.mu.Unlock()
		if h == nil || d.failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	d.url = server.URL + "/webhook"
	return d
}

func (d *desk) path(name string) string { return filepath.Join(d.folder, name) }

func (d *desk) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Add(d.ahead)
}

// received is the receiver's clock.
func (d *desk) received() time.Time {
	if d.moves.Load() {
		return d.now()
	}
	return time.Now()
}

// open returns a subscription as an engine has it, and connects the receiver to it.
func (d *desk) open(change ...func(*Options)) *Subscription {
	d.Helper()
	o := Options{
		Workspace: "default", Client: d.client, Cursors: d.journal, Keys: KeyFile(d.path("quando.key")), URL: d.url, Alone: true, Now: d.now,
		Logger: d.logger,
		Repaired: func(r Repair) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.repairs = append(d.repairs, r)
		},
		Missing: func(events []string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.missing = append(d.missing, events)
		},
	}
	for _, f := range change {
		f(&o)
	}
	s := must(New(o))
	receiver := must(webhook.New(webhook.Options{
		Workspace: "default", Sink: d.accept, Secrets: s.Secrets, Renew: s.Renew, Now: d.received,
		Count: func(o webhook.Outcome) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.outcomes[o]++
		},
	}))
	d.mu.Lock()
	d.receiver = receiver
	d.mu.Unlock()
	return s
}

// compile returns a rule set, each of whose rules is started by an event.
func compile(t testing.TB, events ...string) *rules.Set {
	t.Helper()
	text := "rules:\n"
	for i, name := range events {
		text += fmt.Sprintf("  - { id: r%d, when: %q, do: [{ log: x }] }\n", i, name)
	}
	if len(events) == 0 {
		text = "rules: []\n"
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set
}

// tend runs one check.
func (d *desk) tend(s *Subscription) {
	d.Helper()
	if err := s.Tend(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// hooks returns the webhooks of the company.
func (d *desk) hooks() []service.Webhook {
	d.Helper()
	return must(d.client.ListWebhooks(d.Context()))
}

// writes sends a customer's message, and waits until everything due was delivered.
func (d *desk) writes(text string) {
	d.Helper()
	if _, err := d.sandbox.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Name: "Ana", Text: text}); err != nil {
		d.Fatal(err)
	}
	if err := d.sandbox.Settle(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// counted returns how many deliveries had an outcome.
func (d *desk) counted(o webhook.Outcome) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outcomes[o]
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// accept is a triggers.Sink.
func (d *desk) accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
	return d.journal.Accept(ctx, events)
}
