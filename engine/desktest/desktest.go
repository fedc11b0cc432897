// Package desktest starts a messaging desk for tests: the service in a sandbox, a clock that the
// test moves, and what an engine needs to work there. Tests only.
package desktest

import (
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers"
	"github.com/quandohq/quando/triggers/webhook"
)

// Must returns a value, and panics where there is an error instead.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A Clock stands still until it is set.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the clock.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }

// Start starts a sandbox until the test ends. Without options of its own it has the small company
// of a seed, delivers to this machine, and raises events of cards.
func Start(t testing.TB, change ...func(*sandbox.Options)) (*sandbox.Sandbox, sandbox.Address) {
	t.Helper()
	o := sandbox.Options{Seed: 7, AllowLoopback: true, KanbanEvents: true}
	for _, f := range change {
		f(&o)
	}
	s := Must(sandbox.New(o))
	t.Cleanup(func() { _ = s.Close() })
	return s, Must(s.Start(t.Context(), "127.0.0.1:0"))
}

// Compile compiles the text of a rule file that has no mistakes.
func Compile(t testing.TB, text string) *rules.Set {
	t.Helper()
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set
}

// Workspace returns the workspace "default" with the builtin verbs, each of which may be wrapped.
// It asks the engine, once there is one, which messages are its own.
func Workspace(o builtin.Options, e func() *engine.Engine, wrap ...func(actions.Action) actions.Action) engine.Workspace {
	if o.Directory == nil {
		o.Directory = service.NewDirectory(o.Client)
	}
	o.Own = func(ctx context.Context, m service.Message) (bool, error) {
		return e().Owns(ctx, "default", m.ID, m.ClientID)
	}
	list := Must(builtin.New(o))
	for _, f := range wrap {
		for i := range list {
			list[i] = f(list[i])
		}
	}
	return engine.Workspace{Name: "default", Actions: Must(actions.NewRegistry(list...)), Desk: Must(builtin.NewDesk(o)), Location: o.Location}
}

// Register registers a webhook for events. Its deliveries are verified, and given to a sink as
// received at the clock's time.
func Register(t testing.TB, client *service.Client, events []string, now func() time.Time, sink triggers.Sink) {
	t.Helper()
	var secret service.Secret
	server := httptest.NewServer(Must(webhook.New(webhook.Options{
		Workspace: "default", Secrets: func(time.Time) []service.Secret { return []service.Secret{secret} },
		Sink: func(ctx context.Context, events ...rules.Event) ([]bool, error) {
			for i := range events {
				events[i].ReceivedAt = now()
			}
			return sink(ctx, events...)
		},
	})))
	t.Cleanup(server.Close)
	secret = Must(client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "engine", URL: server.URL, Events: events})).Secret
}
