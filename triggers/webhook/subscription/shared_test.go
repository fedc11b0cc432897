package subscription

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

// TestTwoEngines starts engines that share a journal at the same time: there is one webhook, every
// engine knows its secret, and it is subscribed to what all of them need.
func TestTwoEngines(t *testing.T) {
	d := newDesk(t)
	all := make([]*Subscription, 4)
	for i := range all {
		all[i] = d.open(func(o *Options) { o.Alone = false })
		all[i].SetRules(compile(t, []string{"message.received", "message.sent", "attendance.opened", "attendance.closed"}[i]))
	}
	var wait sync.WaitGroup
	for _, s := range all {
		wait.Go(func() {
			for range 3 {
				_ = s.Tend(t.Context()) // another engine may be busy with it
			}
		})
	}
	wait.Wait()
	for _, s := range all {
		d.tend(s)
	}
	hooks := d.hooks()
	if len(hooks) != 1 || !sameSet(hooks[0].Events, []string{"message.received", "message.sent", "attendance.opened", "attendance.closed"}) {
		t.Fatalf("%+v", hooks)
	}
	registered := 0
	for _, e := range d.sandbox.Effects() {
		if e.Operation == "POST /integrations/webhooks" || strings.HasSuffix(e.Operation, "rotate-secret") {
			registered++
		}
	}
	if registered != 1 {
		t.Errorf("%d secrets were asked for", registered)
	}
	for i, s := range all {
		if diff := cmp.Diff(plain(all[0].Secrets(time.Now())), plain(s.Renew(t.Context(), time.Now()))); diff != "" {
			t.Errorf("engine %d (-want +got):\n%s", i, diff)
		}
	}
	// What a stopped engine needs expires.
	d.ahead = 5 * time.Minute
	d.tend(all[0])
	if got := d.hooks()[0].Events; !sameSet(got, []string{"message.received"}) {
		t.Errorf("%v", got)
	}
}

func plain(secrets []service.Secret) (list []string) {
	for _, s := range secrets {
		list = append(list, string(s))
	}
	return list
}

// TestRegisteredMeanwhile lets another engine register the webhook after this one has found none:
// there is still one.
func TestRegisteredMeanwhile(t *testing.T) {
	d := newDesk(t)
	first := d.open(func(o *Options) { o.Alone = false })
	first.SetRules(compile(t, "message.received"))
	meanwhile := &meanwhileCursors{Cursors: d.journal, swap: "register", do: func() { d.tend(first) }}
	s := d.open(func(o *Options) { o.Alone, o.Cursors = false, meanwhile })
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	d.writes("hello")
	if meanwhile.do != nil || len(d.hooks()) != 1 || d.counted(webhook.Recorded) != 1 || len(d.outcomes) != 1 {
		t.Errorf("%d webhooks, %v", len(d.hooks()), d.outcomes)
	}
}

// meanwhileCursors call a function before a swap to a value that contains a text.
type meanwhileCursors struct {
	Cursors
	swap string
	do   func()
}

func (c *meanwhileCursors) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	if do := c.do; do != nil && strings.Contains(value, c.swap) {
		c.do = nil
		do()
	}
	return c.Cursors.SwapCursor(ctx, name, old, value)
}

// TestBusy shows that a change in progress excludes others, and that this expires.
func TestBusy(t *testing.T) {
	d := newDesk(t)
	dead := d.open(func(o *Options) { o.Alone = false })
	if _, ok, err := dead.beginChange(t.Context(), "register", func(*record) bool { return true }); !ok || err != nil {
		t.Fatal(err)
	}
	s := d.open(func(o *Options) { o.Alone = false })
	s.SetRules(compile(t, "message.received"))
	if err := s.Tend(t.Context()); err == nil || len(d.hooks()) != 0 {
		t.Fatalf("%v, %d webhooks", err, len(d.hooks()))
	}
	d.ahead = lease
	d.tend(s)
	if len(d.hooks()) != 1 {
		t.Error("nobody took over")
	}
}

// TestOvertaken suspends an engine so long that another one takes over, and resumes it: in the end
// the service's secret is known.
func TestOvertaken(t *testing.T) {
	for _, order := range []string{"stopped first", "stopped last"} {
		t.Run(order, func(t *testing.T) {
			d := newDesk(t)
			s := d.open()
			s.SetRules(compile(t, "message.received"))
			d.tend(s)
			id := d.hooks()[0].ID
			stopped := d.open(func(o *Options) { o.Alone = false })
			begun, _, err := stopped.beginChange(t.Context(), "rotate", func(*record) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			d.ahead = lease
			next := d.open(func(o *Options) { o.Alone = false })
			next.SetRules(compile(t, "message.received"))
			beginning, _, err := next.beginChange(t.Context(), "rotate", func(*record) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			var first, last service.Webhook
			if order == "stopped first" {
				first, last = must(d.client.RotateSecret(t.Context(), id)), must(d.client.RotateSecret(t.Context(), id))
			} else {
				last, first = must(d.client.RotateSecret(t.Context(), id)), must(d.client.RotateSecret(t.Context(), id))
			}
			key := must(KeyFile(d.path("quando.key"))(false))
			if err := stopped.store(t.Context(), begun, key, first); err != nil {
				t.Fatal(err)
			}
			if err := next.store(t.Context(), beginning, key, last); err != nil {
				t.Fatal(err)
			}
			d.tend(next)
			d.ahead += overlap
			d.writes("hello")
			if d.counted(webhook.Recorded) != 1 || len(d.outcomes) != 1 {
				t.Errorf("%v", d.outcomes)
			}
		})
	}
}

// TestCommandKilled kills a command after the service has replaced the secret: the engine rotates
// again as soon as the change has expired, when a delivery shows that it is time.
func TestCommandKilled(t *testing.T) {
	d := newDesk(t)
	s := d.open(func(o *Options) { o.Every = time.Hour })
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	command := d.open(func(o *Options) { o.Beside = true })
	if _, ok, err := command.beginChange(t.Context(), "rotate", func(*record) bool { return true }); !ok || err != nil {
		t.Fatal(err)
	}
	// So long that the periodic check does not run during the test.
	must(command.change(t.Context(), func(r *record) (bool, error) {
		r.Doing.Until = d.now().Add(time.Hour)
		return true, nil
	}))
	must(d.client.RotateSecret(t.Context(), d.hooks()[0].ID))
	s = d.open(func(o *Options) { o.Every = time.Hour })
	s.SetRules(compile(t, "message.received"))
	if err := s.Tend(t.Context()); !onlyBusy(err) || s.Status().Problem != "" || !s.Status().Active {
		t.Errorf("%v %+v", err, s.Status())
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	began := d.now()
	go func() { done <- s.Run(ctx) }()
	eventually(t, "it was looked at", func() bool { return s.Status().Checked.After(began) })
	d.mu.Lock()
	d.ahead = time.Hour
	d.mu.Unlock()
	eventually(t, "the secret is known", func() bool {
		d.writes("hello")
		return d.counted(webhook.Recorded) > 0
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
