package subscription

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

const rotateSecret = "POST /integrations/webhooks/{id}/rotate-secret"

// rotations counts how often the service has replaced the secret.
func (d *desk) rotations() (n int) {
	for _, e := range d.sandbox.Effects() {
		if e.Operation == rotateSecret {
			n++
		}
	}
	return n
}

// forges sends a delivery with a signature of no secret.
func (d *desk) forges() {
	d.Helper()
	r := must(http.NewRequestWithContext(d.Context(), http.MethodPost, d.url, strings.NewReader("{}")))
	r.Header.Set("X-Service-Timestamp", strconv.FormatInt(time.Now().Unix(), 10))
	r.Header.Set("X-Service-Signature", "sha256="+strings.Repeat("00", 32))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusUnauthorized {
		d.Errorf("a stranger got %d", res.StatusCode)
	}
}

// TestForgedWhileUnsure sends forged deliveries while the secret is unknown, because no answer to a
// rotation arrives: they cause neither rotations nor other calls, and when answers arrive again the
// secret is soon known.
func TestForgedWhileUnsure(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	if err := d.sandbox.AddFault(sandbox.Fault{Operation: rotateSecret, Kind: "drop_after"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rotate(t.Context(), false); !service.IsUncertain(err) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	before := d.rotations()
	eventually(t, "the secret is rotated at once", func() bool { d.forges(); return d.rotations() > before })
	for range 40 {
		d.forges()
		time.Sleep(50 * time.Millisecond)
	}
	if n := d.rotations() - before; n > 3 { // at once, and 5 and 15 seconds later
		t.Errorf("while 40 forged deliveries came there were %d rotations, want those that were due", n)
	}
	d.sandbox.ClearFaults()
	eventually(t, "the secret is known", func() bool {
		d.writes("hello")
		return d.counted(webhook.Recorded) > 0
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestGrowingPauses checks as often as an attacker could cause it: the attempts to replace a secret
// back off, and an error is logged once.
func TestGrowingPauses(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for _, kind := range []string{"drop_after", "status_before"} {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			must(d.client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "by hand", URL: d.url, Events: []string{"message.received"}}))
			if err := d.sandbox.AddFault(sandbox.Fault{Operation: rotateSecret, Kind: kind, Status: 422}); err != nil {
				t.Fatal(err)
			}
			tries := 0
			s := d.open(func(o *Options) {
				o.Client = must(service.New(service.Options{BaseURL: d.address.BaseURL, APIKey: service.Secret(d.address.APIKey), Transport: counts(func(r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/rotate-secret") {
						tries++
					}
				})}))
			})
			s.SetRules(compile(t, "message.received"))
			said := map[string]bool{}
			for range 3600 { // an hour
				err := s.Tend(t.Context())
				if err == nil {
					t.Fatal("nothing is wrong")
				}
				said[err.Error()] = true
				d.mu.Lock()
				d.ahead += time.Second
				d.mu.Unlock()
			}
			if tries < 8 || tries > 15 {
				t.Errorf("%d attempts within an hour", tries)
			}
			if len(said) > 1 {
				t.Errorf("the same trouble is told in %d ways: %v", len(said), said)
			}
			d.sandbox.ClearFaults()
			must(s.Rotate(t.Context(), false)) // a person does not wait for the backoff
			d.tend(s)
		})
	}
}

// counts is called for every call.
type counts func(*http.Request)

func (c counts) RoundTrip(r *http.Request) (*http.Response, error) {
	c(r)
	return http.DefaultTransport.RoundTrip(r)
}

// TestLeftUnsure loses the answer to a command beside an engine that checks rarely: the first
// refused delivery makes it replace the secret.
func TestLeftUnsure(t *testing.T) {
	d := newDesk(t)
	s := d.open(func(o *Options) { o.Every = time.Hour })
	s.SetRules(compile(t, "message.received"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	eventually(t, "it was looked at", func() bool { return !s.Status().Checked.IsZero() })
	if err := d.sandbox.AddFault(sandbox.Fault{Operation: rotateSecret, Kind: "drop_after", Count: 1}); err != nil {
		t.Fatal(err)
	}
	command := must(New(Options{Workspace: "default", Client: d.client, Cursors: d.journal, Keys: KeyFile(d.path("quando.key")), URL: d.url, Beside: true}))
	if _, err := command.Rotate(t.Context(), false); !service.IsUncertain(err) {
		t.Fatal(err)
	}
	eventually(t, "the secret is known", func() bool {
		d.writes("hello")
		return d.counted(webhook.Recorded) > 0
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
