package backfill_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/webhook"
)

var friday = time.Date(2026, 11, 13, 9, 0, 0, 0, time.UTC)

// An anyJournal is what an engine and a backfill need.
type anyJournal interface {
	journal.Journal
	journal.Reader
	journal.Finder
	Close() error
}

// A desk is a company in a sandbox, whose deliveries may be lost, with an engine and a backfill,
// all on one simulated clock.
type desk struct {
	*sandbox.Sandbox
	t       *testing.T
	address sandbox.Address
	key     service.Secret
	set     *rules.Set
	events  []string // that are subscribed
	open    func() anyJournal
	change  func(*backfill.Options)
	log     *slog.Logger

	recovery time.Duration // of waits that expired while no engine was up; 0 disables that

	transport http.RoundTripper

	mu      sync.Mutex
	now     time.Time
	down    bool // the engine is down
	journal anyJournal
	engine  *engine.Engine
	source  *backfill.Source
	client  *service.Client
	counted map[string]int // found, by type

	receiver http.Handler // of deliveries
	secret   service.Secret
}

type deskOptions struct {
	sandbox sandbox.Options
	events  []string // default all that can be subscribed
	open    func() anyJournal
	tune    func(*backfill.Options)
	log     *slog.Logger

	recovery  time.Duration
	transport http.RoundTripper // of the engine's calls
}

func newDesk(t *testing.T, text string, change ...func(*deskOptions)) *desk {
	t.Helper()
	desktest.InTurn(t, 6, "TestStoppedInTheMiddle", "TestOneEngineAtATime", "TestLeaseLost", "TestKilledAndAlone", "TestOutage")
	file := filepath.Join(t.TempDir(), "quando.db")
	o := deskOptions{
		sandbox: sandbox.Options{Frozen: friday, Seed: 7, AllowLoopback: true, KanbanEvents: true},
		open:    func() anyJournal { return must(sqlite.Open(t.Context(), file, sqlite.Options{})) },
	}
	for _, f := range change {
		f(&o)
	}
	d := &desk{t: t, now: friday, set: desktest.Compile(t, text), open: o.open, change: o.tune, log: o.log, recovery: o.recovery, counted: map[string]int{}, events: o.events}
	d.Sandbox, d.address = desktest.Start(t, func(with *sandbox.Options) { *with = o.sandbox })
	d.key, d.transport = service.Secret(d.address.APIKey), o.transport
	d.start()
	t.Cleanup(func() { _ = d.journal.Close() })
	if d.events == nil {
		d.events = must(d.client.ListEvents(t.Context()))
	}
	if len(d.events) > 0 {
		d.register()
	}
	return d
}

// clock is the common time.
func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// move moves the clock.
func (d *desk) move(to time.Time) {
	d.t.Helper()
	d.mu.Lock()
	d.now = to
	d.mu.Unlock()
	if _, err := d.SetClock(d.t.Context(), to); err != nil {
		d.t.Fatal(err)
	}
}

// sleep advances the clock for a call that waits.
func (d *desk) sleep(ctx context.Context, length time.Duration) error {
	d.move(d.clock().Add(length))
	return ctx.Err()
}

// start starts an engine on the journal.
func (d *desk) start() {
	d.t.Helper()
	j := d.open()
	client := must(service.New(service.Options{BaseURL: d.address.BaseURL, APIKey: d.key, Now: d.clock, Timeout: 5 * time.Second, Transport: d.transport, Sleep: d.sleep}))
	var e *engine.Engine
	w := desktest.Workspace(builtin.Options{Client: client, Location: time.UTC}, func() *engine.Engine { return e })
	var s *backfill.Source
	w.Recovery, w.Away = d.recovery, func() { s.Missed("no engine was there for a while") }
	e = must(engine.New(engine.Options{Journal: j, Keep: 30 * 24 * time.Hour}, w))
	if err := e.SetRules("default", d.set); err != nil {
		d.t.Fatal(err)
	}
	with := d.options(j, e, client, "one")
	with.Looked = func(ctx context.Context, until time.Time) {
		if err := e.Recovered(ctx, "default", until); err != nil {
			d.t.Error(err)
		}
	}
	s = must(backfill.New(with))
	d.signIn(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.journal, d.engine, d.client, d.source, d.down = j, e, client, s, false
}

// signIn records that an engine is up, as a running one does.
func (d *desk) signIn(e *engine.Engine) {
	d.t.Helper()
	if err := e.SignIn(d.t.Context(), d.clock()); err != nil {
		d.t.Fatal(err)
	}
}

// options are those of a backfill on a journal.
func (d *desk) options(j anyJournal, e *engine.Engine, client *service.Client, holder string) backfill.Options {
	o := backfill.Options{
		Workspace: "default", Client: client, Journal: shared{j, e}, Needs: d.set.Listens, Now: d.clock, Holder: holder, Logger: d.log,
		Undelivered: func(typ string) bool { return !slices.Contains(d.events, typ) },
		Count: func(typ string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.counted[typ]++
		},
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if d.change != nil {
		d.change(&o)
	}
	return o
}

// shared is the journal as a backfill requires it.
type shared struct {
	anyJournal
	engine *engine.Engine
}

func (s shared) AcceptFound(ctx context.Context, found ...rules.Finding) ([]bool, error) {
	return s.engine.AcceptFound(ctx, found...)
}

func (s shared) Known(ctx context.Context, workspace, lane string, types []string, since time.Time) ([]rules.Event, error) {
	list, err := s.Happened(ctx, workspace, lane, types, since, 10000)
	var out []rules.Event
	for _, e := range list {
		out = append(out, e.Event)
	}
	return out, err
}

func (s shared) CreatedIn(ctx context.Context, workspace, card string) (string, error) {
	own, err := s.Caused(ctx, workspace, "kanban.card.created", []string{card}, time.Time{})
	if len(own) == 0 {
		return "", err
	}
	return own[0].Stage, err
}

// register subscribes to the sandbox's events. While the engine is down there is no answer.
func (d *desk) register() {
	d.t.Helper()
	receiver := must(webhook.New(webhook.Options{
		Workspace: "default", Secrets: func(time.Time) []service.Secret { return []service.Secret{d.secret} },
		Sink: func(ctx context.Context, events ...rules.Event) ([]bool, error) {
			d.mu.Lock()
			e := d.engine
			now := d.now
			d.mu.Unlock()
			for i := range events {
				events[i].ReceivedAt = now
			}
			return e.Accept(ctx, events...)
		},
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		down := d.down
		d.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		receiver.ServeHTTP(w, r)
	}))
	d.t.Cleanup(server.Close)
	hook := must(d.client.RegisterWebhook(d.t.Context(), service.NewWebhook{Name: "engine", URL: server.URL, Events: d.events}))
	d.receiver, d.secret = receiver, hook.Secret
}

// deliver delivers a custom event, and returns the status of the answer.
func (d *desk) deliver(id, typ string, at time.Time, data map[string]any) int {
	d.t.Helper()
	body := must(json.Marshal(map[string]any{"id": id, "type": typ, "created_at": at.UTC().Format(time.RFC3339Nano), "data": data}))
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(d.secret))
	mac.Write([]byte(timestamp + "." + string(body)))
	r := httptest.NewRequest(http.MethodPost, "/webhook", bytes.NewReader(body))
	r.Header.Set("X-Service-Timestamp", timestamp)
	r.Header.Set("X-Service-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	d.receiver.ServeHTTP(w, r)
	return w.Code
}

// stop ends the engine.
func (d *desk) stop() {
	d.t.Helper()
	d.mu.Lock()
	d.down = true
	d.mu.Unlock()
	if err := d.journal.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// rest runs everything that is due. It returns when the backfill is due next.
func (d *desk) rest() (next time.Time) {
	d.t.Helper()
	d.settle()
	d.mu.Lock()
	down := d.down
	d.mu.Unlock()
	if down {
		return d.clock().Add(time.Hour)
	}
	d.signIn(d.engine)
	next = d.source.Tick(d.t.Context())
	for range 10 {
		due, err := d.engine.Tick(d.t.Context(), d.clock())
		if err != nil {
			d.t.Fatalf("tick: %v", err)
		}
		d.settle()
		if due.IsZero() || due.After(d.clock()) {
			if !due.IsZero() && due.Before(next) {
				next = due
			}
			break
		}
	}
	return next
}

func (d *desk) settle() {
	d.t.Helper()
	if err := d.Settle(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// pass advances the clock, with everything that is due on the way.
func (d *desk) pass(length time.Duration) {
	d.t.Helper()
	end := d.clock().Add(length)
	for d.clock().Before(end) {
		next := d.rest()
		if due, ok := d.Due(); ok && due.Before(next) {
			next = due
		}
		if !next.After(d.clock()) {
			next = d.clock().Add(time.Second)
		}
		if next.After(end) {
			next = end
		}
		if soon := d.clock().Add(10 * time.Second); d.recovery > 0 && next.After(soon) {
			next = soon // an engine that is silent for longer counts as down
		}
		d.move(next)
	}
	d.rest()
}

// fault adds a fault to the sandbox.
func (d *desk) fault(operation, kind string, share float64, count, status int) {
	d.t.Helper()
	if err := d.AddFault(sandbox.Fault{Operation: operation, Kind: kind, Share: share, Count: count, Status: status}); err != nil {
		d.t.Fatal(err)
	}
}

// customer sends a message of a customer.
func (d *desk) customer(n int, text string) sandbox.Written {
	d.t.Helper()
	return must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", 10000000+n), Name: fmt.Sprint("Customer ", n), Text: text}))
}

// all returns all recorded events, oldest first.
func (d *desk) all() []*journal.Event {
	d.t.Helper()
	return must(d.journal.ListEvents(d.t.Context(), journal.EventFilter{Forward: true, Limit: 100000}))
}

// of returns the events of a type.
func (d *desk) of(typ string) (list []*journal.Event) {
	for _, e := range d.all() {
		if e.Type == typ {
			list = append(list, e)
		}
	}
	return list
}

// verdicts counts the verdicts of a rule.
func (d *desk) verdicts(rule string) map[journal.Outcome]int {
	counts := map[journal.Outcome]int{}
	for _, e := range d.all() {
		for _, v := range e.Verdicts {
			if v.Rule == rule {
				counts[v.Outcome]++
			}
		}
	}
	return counts
}

// identities counts the events by type and identity.
func (d *desk) identities() map[string]int {
	p := service.DefaultProfile()
	counts := map[string]int{}
	for _, e := range d.all() {
		if id := p.EventIdentity(e.Type, e.Data); id != "" {
			counts[e.Type+" "+id]++
		}
	}
	return counts
}

func (d *desk) trace() string {
	var b strings.Builder
	for _, e := range d.all() {
		fmt.Fprintf(&b, "%s %s %s %s %v\n", e.CreatedAt.Format("15:04:05"), e.Type, e.ID, e.Lane, e.Verdicts)
	}
	return b.String()
}

func unmarshal(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
