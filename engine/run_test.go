package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/service/sandbox"
)

// live runs the desk's engine with Run, on the real clock.
func (d *desk) live() (stop func()) {
	d.t.Helper()
	d.move(time.Now())
	if d.closed != nil {
		d.closed()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.engine.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				d.t.Error(err)
			}
		})
	}
	d.t.Cleanup(stop)
	return stop
}

// until waits for a condition.
func (d *desk) until(what string, so func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("waited in vain: %s\n%s", what, d.trace())
		}
	}
}

// A copier repeats each of the sandbox's deliveries so often, all at once.
type copier struct {
	to    http.RoundTripper
	times int
	mu    sync.Mutex
	codes []int
}

func (c *copier) RoundTrip(r *http.Request) (*http.Response, error) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	var answer *http.Response
	for i := range c.times {
		group.Go(func() {
			again := r.Clone(r.Context())
			again.Body = readCloser{bytes.NewReader(body.Bytes())}
			got, err := c.to.RoundTrip(again)
			if err != nil {
				return
			}
			c.mu.Lock()
			c.codes = append(c.codes, got.StatusCode)
			c.mu.Unlock()
			if i == 0 {
				answer = got
			} else {
				_ = got.Body.Close()
			}
		})
	}
	group.Wait()
	if answer == nil {
		return nil, fmt.Errorf("no answer")
	}
	return answer, nil
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// TestDeliveredAThousandTimesAtOnce shows that an event makes one run, however often and
// concurrently it is delivered.
func TestDeliveredAThousandTimesAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	c := &copier{to: &http.Transport{MaxIdleConnsPerHost: 50, MaxConnsPerHost: 50}, times: 1000}
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
`, func(o *deskOptions) { o.deliver = c })
	d.live()
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "hello"}))
	d.until("the run is done", func() bool { return slices.Equal(d.states("it"), []journal.State{journal.Done}) })
	if err := d.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.expect(send + "hello")
	c.mu.Lock()
	defer c.mu.Unlock()
	recorded := 0
	for _, code := range c.codes {
		switch code {
		case http.StatusAccepted:
			recorded++
		case http.StatusOK:
		default:
			t.Errorf("a delivery was answered with %d", code)
		}
	}
	if events := must(d.journal.ListEvents(t.Context(), journal.EventFilter{})); recorded != len(events) {
		t.Errorf("%d deliveries were told that they are recorded, of %d events", recorded, len(events))
	}
}

// TestEchoingService has a customer that is a machine, which answers every message.
func TestEchoingService(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: "I am a robot" }] }
`, func(o *deskOptions) { o.safety.PerConversation = duration.Rate{Times: 5, Per: 10 * time.Minute} })
	d.live()
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "hello"}))
	seen := 0
	d.until("the rule is paused", func() bool {
		for n := len(d.Effects()); seen < n; seen++ {
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "so am I"}))
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "really"}))
		}
		return len(must(d.journal.Holds(t.Context()))) > 0
	})
	for range 20 {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "hello?"}))
	}
	if err := d.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.until("every event is decided", func() bool { return must(d.journal.Due(t.Context(), nil)).IsZero() })
	if n := len(d.effects()); n != 5 {
		t.Errorf("%d messages were sent\n%s", n, d.trace())
	}
}

// TestTwoEnginesThatAnswerEachOther has two desks whose robots write to each other.
func TestTwoEnginesThatAnswerEachOther(t *testing.T) {
	const rule = `
rules:
  - { id: it, when: message.received, do: [{ send_message: "I am a robot" }] }
`
	bounded := func(o *deskOptions) { o.safety.PerConversation = duration.Rate{Times: 5, Per: 10 * time.Minute} }
	desks := []*desk{newDesk(t, rule, bounded), newDesk(t, rule, bounded)}
	for _, d := range desks {
		d.live()
	}
	must(desks[0].CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "hello"}))
	seen := [2]int{1, 1} // each has registered its webhook
	desks[0].until("one of the rules is paused", func() bool {
		for i, d := range desks {
			for n := len(d.Effects()); seen[i] < n; seen[i]++ {
				must(desks[1-i].CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "I am a robot"}))
			}
		}
		return len(must(desks[0].journal.Holds(t.Context()))) > 0
	})
	for _, d := range desks {
		if n := len(d.effects()); n != 5 {
			t.Errorf("%d messages were sent", n)
		}
	}
}

// TestReloadsUnderLoad shows that each customer gets one answer while rules are reloaded again and
// again.
func TestReloadsUnderLoad(t *testing.T) {
	text := func(n int) string {
		return fmt.Sprintf(`
rules:
  - { id: it, when: message.received, do: [{ log: "%d" }, { send_message: "hello {{ message.text }}" }] }
`, n)
	}
	d := newDesk(t, text(0))
	d.live()
	const customers, reloads = 100, 1000
	var group sync.WaitGroup
	group.Go(func() {
		for i := range reloads {
			if err := d.engine.SetRules("default", desktest.Compile(t, text(i))); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range customers {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", i), Name: "Somebody", Text: fmt.Sprint(i)}))
	}
	group.Wait()
	if err := d.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.until("every customer has an answer", func() bool { return len(d.Effects()) >= customers+1 })
	d.until("every event is decided", func() bool { return must(d.journal.Due(t.Context(), nil)).IsZero() })
	got := d.effects()
	slices.Sort(got)
	if len(got) != customers || len(slices.Compact(got)) != customers {
		t.Errorf("%d answers to %d customers: %s", len(got), customers, strings.Join(got, "\n"))
	}
}

// TestStop shows that a stop lets the call in flight end, and begins no other.
func TestStop(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: one }, { send_message: two }] }
`)
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "delay", Delay: sandbox.Duration(300 * time.Millisecond)}); err != nil {
		t.Fatal(err)
	}
	stop := d.live()
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "hello"}))
	d.until("a call is under way", func() bool {
		runs := d.runs("it")
		return len(runs) == 1 && len(runs[0].Steps) == 1
	})
	stop()
	d.expect(send + "one")
	run := d.runs("it")[0]
	if run.State != journal.Running || run.Steps[0].State != journal.StepDone {
		t.Errorf("%s\n%s", run.State, d.trace())
	}
	d.restart()
	d.live()
	d.until("the run is done", func() bool { return slices.Equal(d.states("it"), []journal.State{journal.Done}) })
	d.expect(send + "two")
}
