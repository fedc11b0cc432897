package process

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// TestUnreached: an engine that no webhook leads to keeps saying so, until one is registered, and
// never again once a delivery was accepted. Rules on a schedule need none.
func TestUnreached(t *testing.T) {
	s, err := sandbox.New(sandbox.Options{Seed: 1, AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Service.BaseURL, c.Service.APIKey = address.BaseURL, service.Secret(address.APIKey)
	u, err := NewUnit(c, config.NamedWorkspace{Workspace: &c.Workspace, Name: "default"}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	compile := func(when string) *rules.Set {
		set, problems := rules.Compile([]*rules.File{rules.Parse("r.yaml", []byte("rules: [{ id: r, when: "+when+", do: [{ log: hello }] }]\n"))}, rules.Options{Catalog: builtin.Catalog()})
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		return set
	}
	watch := func(set *rules.Set) (said *clitest.Buffer, stop func()) {
		said = &clitest.Buffer{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			u.tellUnreached(ctx, 5*time.Millisecond, func() *rules.Set { return set }, slog.New(slog.NewTextHandler(said, nil)))
			close(done)
		}()
		return said, func() { cancel(); <-done }
	}
	times := func(said *clitest.Buffer) int { return strings.Count(said.String(), "NO WEBHOOK LEADS HERE") }
	quiet := func(what string, set *rules.Set) {
		t.Helper()
		said, stop := watch(set)
		time.Sleep(50 * time.Millisecond)
		stop()
		if n := times(said); n > 0 {
			t.Errorf("%s: told %d times", what, n)
		}
	}
	listens := compile("message.received")
	said, stop := watch(listens)
	clitest.Eventually(t, func() (bool, string) { return times(said) >= 2, said.String() })
	stop()
	quiet("rules on a schedule", compile("{ cron: \"0 9 * * *\" }"))

	c.Service.Webhook.PublicURL = "http://127.0.0.1:1/webhook"
	hook, err := u.Client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "other", URL: "http://127.0.0.1:2/webhook", Events: []string{"message.received"}})
	if err != nil {
		t.Fatal(err)
	}
	said, stop = watch(listens)
	clitest.Eventually(t, func() (bool, string) { return times(said) >= 2, "another engine's webhook is not ours" })
	stop()
	c.Service.Webhook.PublicURL = hook.URL
	quiet("a webhook that leads here", listens)

	c.Service.Webhook.PublicURL = ""
	if err := u.Client.DeleteWebhook(t.Context(), hook.ID); err != nil {
		t.Fatal(err)
	}
	u.notesDelivery(func(webhook.Outcome) {})(webhook.Recorded)
	quiet("after a delivery", listens)
}
