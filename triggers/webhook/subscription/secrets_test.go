package subscription

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// TestRotation shows that the new secret is accepted at once, and the old one for eight hours if
// configured.
func TestRotation(t *testing.T) {
	d := newDesk(t)
	s := d.open(func(o *Options) { o.Secrets, o.Retired = []service.Secret{"configured"}, 8*time.Hour })
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	old := s.Secrets(d.now())[1]
	until := must(s.Rotate(t.Context(), false))
	d.writes("hello")
	if d.counted(webhook.Recorded) != 1 || len(d.outcomes) != 1 {
		t.Errorf("%v", d.outcomes)
	}
	if left := until.Sub(d.now()); left < 8*time.Hour-time.Minute || left > 8*time.Hour {
		t.Errorf("valid for %s", left)
	}
	valid := func(secret service.Secret) bool {
		for _, one := range s.Secrets(d.now()) {
			if one == secret {
				return true
			}
		}
		return false
	}
	d.ahead = 8*time.Hour - time.Minute
	if !valid(old) || !valid("configured") || len(s.Secrets(d.now())) != 3 {
		t.Error("the old secret is gone too early")
	}
	d.ahead = 8*time.Hour + time.Minute
	if valid(old) || !valid("configured") || len(s.Secrets(d.now())) != 2 {
		t.Error("the old secret is valid for ever")
	}
	d.tend(s)
	if r := must(s.load(t.Context())); len(r.Secrets) != 1 {
		t.Error("the old secret is kept for ever")
	}
}

// TestFound shows what happens to a webhook that was registered by hand.
func TestFound(t *testing.T) {
	for _, tt := range []struct {
		name       string
		configured func(service.Secret) []service.Secret
		repairs    []Repair
		recorded   int // of two deliveries, of which the first comes before the first check
	}{
		{"its secret is configured", func(s service.Secret) []service.Secret { return []service.Secret{s} }, nil, 2},
		{"nobody knows its secret", func(service.Secret) []service.Secret { return nil }, []Repair{Rotated}, 1},
		{"another secret is configured", func(service.Secret) []service.Secret { return []service.Secret{"wrong"} }, []Repair{Rotated}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			hook := must(d.client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "by hand", URL: d.url, Events: []string{"message.received"}}))
			s := d.open(func(o *Options) { o.Secrets = tt.configured(hook.Secret) })
			s.SetRules(compile(t, "message.received"))
			d.writes("one")
			d.tend(s)
			d.writes("two")
			if got := d.counted(webhook.Recorded); got != tt.recorded {
				t.Errorf("%d recorded: %v", got, d.outcomes)
			}
			if diff := cmp.Diff(tt.repairs, d.repairs); diff != "" {
				t.Errorf("repairs (-want +got):\n%s", diff)
			}
			// The first is retried.
			must(d.sandbox.Advance(t.Context(), time.Minute))
			if err := d.sandbox.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d.counted(webhook.Recorded) != 2 {
				t.Errorf("one is lost: %v", d.outcomes)
			}
		})
	}
}

// TestRotatedByHand shows that a secret that was replaced elsewhere is replaced again, but not
// because of forged signatures, and not repeatedly.
func TestRotatedByHand(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	d.writes("hello")
	s.Renew(t.Context(), time.Now()) // as when a signature is wrong
	d.ahead = time.Hour
	d.tend(s)
	if diff := cmp.Diff([]Repair{Registered}, d.repairs); diff != "" {
		t.Errorf("after a forged delivery (-want +got):\n%s", diff)
	}
	must(d.client.RotateSecret(t.Context(), d.hooks()[0].ID))
	d.writes("who are you?")
	d.tend(s)
	must(d.client.RotateSecret(t.Context(), d.hooks()[0].ID))
	d.writes("who are you now?")
	d.tend(s)
	if diff := cmp.Diff([]Repair{Registered, Rotated}, d.repairs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.ahead = 2 * time.Hour
	d.writes("and now?")
	d.tend(s)
	must(d.sandbox.Advance(t.Context(), time.Minute))
	if err := d.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.counted(webhook.Recorded) != 4 {
		t.Errorf("%v", d.outcomes)
	}
}

// TestRotatedByAnother shows that an engine learns of a command's new secret with the first
// delivery signed with it.
func TestRotatedByAnother(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	command := must(New(Options{Workspace: "default", Client: d.client, Cursors: d.journal, Keys: KeyFile(d.path("quando.key")), URL: d.url, Beside: true}))
	must(command.Rotate(t.Context(), false))
	d.writes("hello")
	if d.counted(webhook.Recorded) != 1 || len(d.outcomes) != 1 {
		t.Errorf("%v", d.outcomes)
	}
}

// TestDeliveryWaitsForTheSecret delays the answer to a rotation: a delivery signed with the new
// secret before it is known is recorded nevertheless.
func TestDeliveryWaitsForTheSecret(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	id := d.hooks()[0].ID
	if err := d.sandbox.AddFault(sandbox.Fault{Operation: "POST /integrations/webhooks/{id}/rotate-secret", Kind: "drop_after", Count: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rotate(t.Context(), false); !service.IsUncertain(err) {
		t.Fatalf("the answer was not lost: %v", err)
	}
	// Now the secret is unknown; deliveries are refused, and retried later.
	d.writes("hello")
	if d.counted(webhook.Forged) != 1 || d.counted(webhook.Recorded) != 0 {
		t.Errorf("%v", d.outcomes)
	}
	d.tend(s)
	must(d.sandbox.Advance(t.Context(), time.Minute))
	if err := d.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.counted(webhook.Recorded) != 1 {
		t.Errorf("%v", d.outcomes)
	}
	// While a rotation is in progress, deliveries signed with the new secret wait.
	begun, ok, err := s.beginChange(t.Context(), "rotate", func(*record) bool { return true })
	if !ok || err != nil {
		t.Fatal(err)
	}
	w := must(d.client.RotateSecret(t.Context(), id))
	began := time.Now()
	var wait sync.WaitGroup
	wait.Go(func() { d.writes("hello again") })
	eventually(t, "the delivery waits until the secret is there", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.waiting > 0 && s.read.After(began.Add(rereads))
	})
	if err := s.store(t.Context(), begun, must(s.key(false)), w); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if d.counted(webhook.Recorded) != 2 || d.counted(webhook.Forged) != 1 {
		t.Errorf("%v", d.outcomes)
	}
}

// TestLostAnswers loses the answers to both calls: in the end there is one webhook, and its secret
// is known.
func TestLostAnswers(t *testing.T) {
	for _, operation := range []string{"POST /integrations/webhooks", "POST /integrations/webhooks/{id}/rotate-secret"} {
		for _, kind := range []string{"drop_before", "drop_after", "status_before", "status_after"} {
			t.Run(operation+" "+kind, func(t *testing.T) {
				d := newDesk(t)
				s := d.open()
				s.SetRules(compile(t, "message.received"))
				if strings.HasSuffix(operation, "rotate-secret") {
					d.tend(s)
				}
				if err := d.sandbox.AddFault(sandbox.Fault{Operation: operation, Kind: kind, Status: 503, Count: 1}); err != nil {
					t.Fatal(err)
				}
				var err error
				if strings.HasSuffix(operation, "rotate-secret") {
					_, err = s.Rotate(t.Context(), false)
				} else {
					err = s.Tend(t.Context())
				}
				if err == nil {
					t.Fatal("nothing got lost")
				}
				if strings.HasSuffix(operation, "rotate-secret") && !strings.Contains(err.Error(), "quando webhook rotate again") {
					t.Errorf("nobody is told what to do: %v", err)
				}
				again := d.open() // a restart
				again.SetRules(compile(t, "message.received"))
				d.tend(again)
				d.writes("hello")
				if len(d.hooks()) != 1 || d.counted(webhook.Recorded) != 1 || len(d.outcomes) != 1 {
					t.Errorf("%d webhooks, %v", len(d.hooks()), d.outcomes)
				}
			})
		}
	}
}

// TestWrongKey shows that with another key nothing is rotated automatically, because the right one
// may be in use elsewhere; that the rest works; and that a person can rotate.
func TestWrongKey(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys func(*desk) Keys
		want string
	}{
		{"another key", func(*desk) Keys { return FixedKey(must(ParseKey(service.Secret(strings.Repeat("cd", 32))))) }, "cannot be opened"},
		{"no key file", func(d *desk) Keys {
			if err := os.Remove(d.path("quando.key")); err != nil {
				d.Fatal(err)
			}
			return KeyFile(d.path("quando.key"))
		}, "quando.key is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			s := d.open()
			s.SetRules(compile(t, "message.received"))
			d.tend(s)
			id := d.hooks()[0].ID
			must(d.client.UpdateWebhook(t.Context(), id, service.WebhookPatch{Active: service.Set(false)}))
			// Even if the secret is unknown: the engine with the right key finds that out too.
			if err := d.sandbox.AddFault(sandbox.Fault{Operation: "POST /integrations/webhooks/{id}/rotate-secret", Kind: "drop_after", Count: 1}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Rotate(t.Context(), false); !service.IsUncertain(err) {
				t.Fatal(err)
			}
			before := len(d.sandbox.Effects())
			keys := tt.keys(d)
			s = d.open(func(o *Options) { o.Keys = keys })
			s.SetRules(compile(t, "message.sent"))
			err := s.Tend(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "quando webhook rotate") || !strings.Contains(err.Error(), "QUANDO_SECRET_KEY") {
				t.Errorf("%v", err)
			}
			if strings.Count(err.Error(), "cannot be opened") != 1 {
				t.Errorf("it is said twice: %v", err)
			}
			if hook := d.hooks()[0]; !hook.Active || !sameSet(hook.Events, []string{"message.sent"}) {
				t.Errorf("%+v", hook)
			}
			for _, e := range d.sandbox.Effects()[before:] {
				if strings.HasSuffix(e.Operation, "rotate-secret") {
					t.Error("it was rotated by itself")
				}
			}
			must(s.Rotate(t.Context(), false))
			d.tend(s)
			if err := d.client.TestWebhook(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if err := d.sandbox.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d.counted(webhook.Recorded) != 1 {
				t.Errorf("%v", d.outcomes)
			}
		})
	}
}

// TestForgedFlood shows that forged signatures neither keep the journal busy nor are accepted.
func TestForgedFlood(t *testing.T) {
	d := newDesk(t)
	counting := &countingCursors{Cursors: d.journal}
	s := d.open(func(o *Options) { o.Cursors = counting })
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	counting.reads.Store(0)
	began := time.Now()
	var wait sync.WaitGroup
	for range 2000 {
		wait.Go(func() { s.Renew(t.Context(), time.Now()) })
	}
	wait.Wait()
	if most := int(time.Since(began)/rereads) + 1; int(counting.reads.Load()) > most {
		t.Errorf("the journal was read %d times", counting.reads.Load())
	}
}

type countingCursors struct {
	Cursors
	reads atomic.Int64
}

func (c *countingCursors) Cursor(ctx context.Context, name string) (string, error) {
	c.reads.Add(1)
	return c.Cursors.Cursor(ctx, name)
}
