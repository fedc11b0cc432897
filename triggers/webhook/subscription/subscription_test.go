package subscription

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// TestRegisters shows that the webhook is registered once, with exactly what the rules need, and
// that its deliveries are accepted.
func TestRegisters(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "attendance.closed", "message.received"))
	d.tend(s)
	d.tend(s)
	hooks := d.hooks()
	if len(hooks) != 1 || hooks[0].URL != d.url || !hooks[0].Active {
		t.Fatalf("%+v", hooks)
	}
	if diff := cmp.Diff([]string{"message.received", "attendance.closed"}, hooks[0].Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	d.writes("hello")
	if d.counted(webhook.Recorded) != 1 || len(d.outcomes) != 1 {
		t.Errorf("%v", d.outcomes)
	}
	// A restart repeats nothing, and knows the secret before the first call.
	again := d.open()
	if err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.writes("hello again")
	again.SetRules(compile(t, "attendance.closed", "message.received"))
	d.tend(again)
	if d.counted(webhook.Recorded) != 2 || len(d.outcomes) != 1 {
		t.Errorf("after a restart: %v", d.outcomes)
	}
	if diff := cmp.Diff([]Repair{Registered}, d.repairs); diff != "" {
		t.Errorf("repairs (-want +got):\n%s", diff)
	}
	if st := again.Status(); st.Webhook != hooks[0].ID || !st.Active || st.Problem != "" || st.Checked.IsZero() || st.Rotated.IsZero() {
		t.Errorf("%+v", st)
	}
}

// TestSecretIsSealed searches for the secret in everything that is stored.
func TestSecretIsSealed(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	d.writes("hello")
	secret := string(s.Secrets(d.now())[0])
	if len(secret) < 10 {
		t.Fatal("no secret")
	}
	if err := d.journal.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range must(os.ReadDir(d.folder)) {
		if text := must(os.ReadFile(d.path(name.Name()))); strings.Contains(string(text), secret) {
			t.Errorf("the secret is in %s", name.Name())
		}
	}
	if strings.Contains(d.log.String(), secret) || !strings.Contains(d.log.String(), "registered") {
		t.Errorf("log: %s", d.log.String())
	}
}

// TestFollowsTheRules shows that the events follow the rules, and what happens to those that cannot
// be subscribed to.
func TestFollowsTheRules(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	for _, tt := range []struct {
		rules, events, missing []string
	}{
		{[]string{"message.received"}, []string{"message.received"}, nil},
		{[]string{"message.received", "conversation.updated"}, []string{"message.received", "conversation.updated"}, nil},
		{[]string{"message.sent", "kanban.card.moved"}, []string{"message.sent"}, []string{"kanban.card.moved"}},
		{[]string{"kanban.card.moved"}, []string{"message.sent"}, []string{"kanban.card.moved"}}, // it cannot have no events
		{nil, []string{"message.sent"}, nil},
	} {
		s.SetRules(compile(t, tt.rules...))
		d.tend(s)
		if diff := cmp.Diff(tt.events, d.hooks()[0].Events); diff != "" {
			t.Errorf("%v: events (-want +got):\n%s", tt.rules, diff)
		}
		if diff := cmp.Diff(tt.missing, s.Status().Missing); diff != "" {
			t.Errorf("%v: missing (-want +got):\n%s", tt.rules, diff)
		}
	}
	if diff := cmp.Diff([][]string{nil, {"kanban.card.moved"}, nil}, d.missing); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestCardEvents(t *testing.T) {
	d := newDesk(t, func(o *sandbox.Options) { o.KanbanEvents = true })
	s := d.open()
	s.SetRules(compile(t, "kanban.card.*"))
	d.tend(s)
	if diff := cmp.Diff([]string{"kanban.card.created", "kanban.card.moved", "kanban.card.completed"}, d.hooks()[0].Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestNothingToHear shows that without anything to subscribe to no webhook is registered, and that
// this is no problem.
func TestNothingToHear(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "kanban.card.moved"))
	d.tend(s)
	if st := s.Status(); len(d.hooks()) != 0 || !st.Idle || !slices.Equal(st.Missing, []string{"kanban.card.moved"}) {
		t.Errorf("%+v", st)
	}
}

// TestKeepsWhatRunsWaitFor shows that events stay subscribed that only runs of earlier rules need.
func TestKeepsWhatRunsWaitFor(t *testing.T) {
	d := newDesk(t)
	waits := []string{"message.sent"}
	s := d.open(func(o *Options) {
		o.Waits = func(_ context.Context, events []string) ([]string, error) {
			if diff := cmp.Diff([]string{"message.sent", "attendance.closed"}, events); diff != "" && len(waits) > 0 {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
			return waits, nil
		}
	})
	s.SetRules(compile(t, "message.received", "message.sent", "attendance.closed"))
	d.tend(s)
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	if got := d.hooks()[0].Events; !sameSet(got, []string{"message.received", "message.sent"}) {
		t.Errorf("while they wait: %v", got)
	}
	waits = nil
	d.tend(s)
	if got := d.hooks()[0].Events; !sameSet(got, []string{"message.received"}) {
		t.Errorf("when they are done: %v", got)
	}
}

// TestSwitchedOff lets ten deliveries fail for good, which disables the webhook: the next check
// reactivates it and reports that, and later deliveries are received.
func TestSwitchedOff(t *testing.T) {
	d := newDesk(t)
	s := d.open(func(o *Options) { o.Every = 20 * time.Millisecond })
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	d.failing.Store(true)
	for range 10 {
		d.writes("nobody is there")
	}
	must(d.sandbox.Advance(t.Context(), 8*time.Hour))
	if err := d.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.hooks()[0].Active {
		t.Fatal("it was not switched off")
	}
	d.failing.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	eventually(t, "it is active again", func() bool { return d.hooks()[0].Active })
	d.writes("hello")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]Repair{Registered, Reactivated}, d.repairs); diff != "" {
		t.Errorf("repairs (-want +got):\n%s", diff)
	}
	if d.counted(webhook.Recorded) != 1 || !strings.Contains(d.log.String(), "had been switched off") {
		t.Errorf("%v\n%s", d.outcomes, d.log.String())
	}
}

// TestChangedAgain shows that a webhook that is changed again soon after a repair is repaired
// again, and that this counts: a backfill has to find what was missed.
func TestChangedAgain(t *testing.T) {
	d := newDesk(t)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	want := []Repair{Registered}
	for _, change := range []struct {
		patch  service.WebhookPatch
		repair Repair
	}{{service.WebhookPatch{Active: service.Set(false)}, Reactivated}, {service.WebhookPatch{Events: service.Set([]string{"message.sent"})}, Resubscribed}} {
		for range 3 {
			must(d.client.UpdateWebhook(t.Context(), d.hooks()[0].ID, change.patch))
			d.tend(s)
			want = append(want, change.repair)
		}
	}
	if diff := cmp.Diff(want, d.repairs); diff != "" {
		t.Errorf("repairs (-want +got):\n%s", diff)
	}
}

// TestEventsUnanswered shows that a service that never lists the available events, and asks for a
// pause instead, prevents neither registration, nor activation, nor following the rules; and that
// not every check asks for the list.
func TestEventsUnanswered(t *testing.T) {
	d := newDesk(t)
	if err := d.sandbox.AddFault(sandbox.Fault{Operation: "GET /integrations/webhooks/events", Kind: "status_before", Status: http.StatusTooManyRequests, RetryAfter: 1}); err != nil {
		t.Fatal(err)
	}
	s := d.open(func(o *Options) { o.Client = d.client.Patient() })
	s.asking = 500 * time.Millisecond
	look := func(want ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Tend(ctx); err == nil || !strings.Contains(err.Error(), "does not say which events can be subscribed to") {
			t.Errorf("nobody is told: %v", err)
		}
		hooks := must(must(service.New(service.Options{BaseURL: d.address.BaseURL, APIKey: service.Secret(d.address.APIKey)})).ListWebhooks(t.Context()))
		if len(hooks) != 1 || !hooks[0].Active {
			t.Fatalf("%+v", hooks)
		}
		if diff := cmp.Diff(want, hooks[0].Events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	s.SetRules(compile(t, "message.received", "kanban.card.moved"))
	look("message.received")
	id := s.Status().Webhook
	must(d.client.UpdateWebhook(t.Context(), id, service.WebhookPatch{Active: service.Set(false)}))
	s.SetRules(compile(t, "message.received", "attendance.closed"))
	look("message.received", "attendance.closed")
	if diff := cmp.Diff([]Repair{Registered, Reactivated, Resubscribed}, d.repairs); diff != "" {
		t.Errorf("repairs (-want +got):\n%s", diff)
	}
	asked := func() int { return d.client.Limiter().State().Times }
	before := asked()
	look("message.received", "attendance.closed")
	if asked() != before {
		t.Error("it is asked with every look")
	}
	d.ahead = unanswered
	must(d.client.UpdateWebhook(t.Context(), id, service.WebhookPatch{Active: service.Set(false)}))
	look("message.received", "attendance.closed")
	if asked() == before {
		t.Error("it is never asked again")
	}
}

// A vagueService does not show whether its webhooks are active, or for which events.
type vagueService []string

func (m vagueService) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/integrations/webhooks") {
		return res, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	for _, name := range m {
		body = bytes.ReplaceAll(body, []byte(`"`+name+`":`), []byte(`"_":`))
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, err
}

// TestUnmoved shows that a change that does not show counts as one repair, and that the log says
// what to do.
func TestUnmoved(t *testing.T) {
	for _, names := range []vagueService{{"active"}, {"events"}, {"active", "events"}} {
		d := newDesk(t)
		d.client = must(service.New(service.Options{BaseURL: d.address.BaseURL, APIKey: service.Secret(d.address.APIKey), Transport: names}))
		s := d.open()
		s.SetRules(compile(t, "message.received"))
		var err error
		for range 5 {
			err = s.Tend(t.Context())
		}
		if len(d.repairs) > 1+len(names) {
			t.Errorf("%v: repaired %v", names, d.repairs)
		}
		for _, name := range names {
			if err == nil || !strings.Contains(err.Error(), "set webhook."+name+" in the profile") || s.Status().Problem == "" {
				t.Errorf("%v: %v", names, err)
			}
		}
		d.writes("hello")
		if d.counted(webhook.Recorded) != 1 {
			t.Errorf("%v: %v", names, d.outcomes)
		}
	}
}

// TestWithinAMinute checks the default interval against the documented one.
func TestWithinAMinute(t *testing.T) {
	if d := newDesk(t); d.open().options.Every > 55*time.Second {
		t.Error(d.open().options.Every)
	}
}

// TestOthersAreLeftAlone shows that webhooks of other addresses stay as they are.
func TestOthersAreLeftAlone(t *testing.T) {
	d := newDesk(t)
	other := must(d.client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "other", URL: d.url + "/other", Events: []string{"message.sent"}}))
	must(d.client.UpdateWebhook(t.Context(), other.ID, service.WebhookPatch{Active: service.Set(false)}))
	before := len(d.sandbox.Effects())
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	must(s.Rotate(t.Context(), false))
	d.tend(s)
	for _, e := range d.sandbox.Effects()[before:] {
		if e.Object.String() == other.ID {
			t.Errorf("%+v", e)
		}
	}
	if len(d.hooks()) != 2 {
		t.Errorf("%+v", d.hooks())
	}
}

// TestSameAddress recognizes an address in another spelling.
func TestSameAddress(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"https://hooks.example.com/webhook", "https://hooks.example.com/webhook", true},
		{"https://Hooks.Example.com:443/webhook", "https://hooks.example.com/webhook", true},
		{"https://hooks.example.com/", "https://hooks.example.com", true},
		{"https://hooks.example.com/webhook", "https://hooks.example.com/webhook/acme", false},
		{"https://hooks.example.com/webhook", "https://hooks.example.com/Webhook", false},
		{"https://hooks.example.com/webhook?a=1", "https://hooks.example.com/webhook", false},
		{"https://hooks.example.com:8443/webhook", "https://hooks.example.com/webhook", false},
		{"http://hooks.example.com/webhook", "https://hooks.example.com/webhook", false},
	} {
		if got := SameAddress(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
}

// TestTrouble shows that each problem is reported with its remedy.
func TestTrouble(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(*desk, *Options)
		want  []string
	}{
		{"a key without the scope", func(d *desk, o *Options) {
			key := must(d.sandbox.NewKey(sandbox.NewKey{Scopes: []string{"messages:read"}}))
			o.Client = must(service.New(service.Options{BaseURL: d.address.BaseURL, APIKey: service.Secret(key.APIKey)}))
		}, []string{"webhooks:manage", "403"}},
		{"twenty addresses", func(d *desk, _ *Options) {
			for range 20 {
				must(d.client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "x", URL: "https://hooks.example.com", Events: []string{"message.sent"}}))
			}
		}, []string{"at most 20", "quando webhook list"}},
		{"a refused address", func(_ *desk, o *Options) { o.URL = "http://hooks.example.com/webhook" }, []string{"refuses the address http://hooks.example.com/webhook", "https", "public_url"}},
		{"a key file that others can read", func(d *desk, _ *Options) {
			if err := os.WriteFile(d.path("quando.key"), []byte(strings.Repeat("ab", 32)), 0o644); err != nil {
				d.Fatal(err)
			}
			if err := os.Chmod(d.path("quando.key"), 0o644); err != nil {
				d.Fatal(err)
			}
		}, []string{"chmod 600"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			s := d.open(func(o *Options) { tt.setup(d, o) })
			s.SetRules(compile(t, "message.received"))
			err := s.Tend(t.Context())
			if err == nil {
				t.Fatal("nothing is wrong")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nsays nothing of %q", err, part)
				}
			}
			if s.Status().Problem == "" {
				t.Error("the status does not tell")
			}
			if r := must(s.load(t.Context())); r.Unsure || r.Doing != nil {
				t.Errorf("it is taken to be half done: %+v", r)
			}
		})
	}
}
