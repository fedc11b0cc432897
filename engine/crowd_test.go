package engine_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

var kills = flag.Int("kills", 5, "how often TestKill kills the engine")

// A relay passes deliveries to the running processes in turn, and waits while none accepts them,
// like a very patient load balancer.
type relay struct {
	*httptest.Server
	mu    sync.Mutex
	to    []*child
	turns int
}

func newRelay(t *testing.T) *relay {
	r := &relay{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := string(must(io.ReadAll(req.Body)))
		for req.Context().Err() == nil {
			if status := r.pass(req, body); status != 0 && status < 500 {
				w.WriteHeader(status)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// pass sends a delivery to the next process, and returns the status of its answer; 0 if there is
// none.
func (r *relay) pass(req *http.Request, body string) int {
	r.mu.Lock()
	if len(r.to) == 0 {
		r.mu.Unlock()
		return 0
	}
	r.turns++
	to := r.to[r.turns%len(r.to)].address
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(req.Context(), time.Second)
	defer cancel()
	again := must(http.NewRequestWithContext(ctx, http.MethodPost, "http://"+to+"/", strings.NewReader(body)))
	again.Header = req.Header.Clone()
	answer, err := http.DefaultClient.Do(again)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (r *relay) lead(to ...*child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = slices.Clone(to)
}

// A crowd is many customers who write to a desk that engines serve, each in a process of its own.
// In the end each customer has exactly one answer, one label, one card that was moved once, and one
// transfer.
type crowd struct {
	*sandbox.Sandbox
	process
	t       *testing.T
	relay   *relay
	look    anyJournal
	written int
	writing sync.WaitGroup
}

// newCrowd opens a desk whose journal is at address. The test reads the journal at look, which may
// be another address of it.
func newCrowd(t *testing.T, address, look string) *crowd {
	t.Helper()
	c := &crowd{t: t, relay: newRelay(t)}
	// A delivery that the relay cannot pass on yet must not time out: the service would repeat it only
	// after half a minute.
	c.Sandbox = must(sandbox.New(sandbox.Options{AllowLoopback: true, KanbanEvents: true, Seed: 3, DeliveryTimeout: 2 * time.Minute}))
	t.Cleanup(func() { _ = c.Close() })
	at := must(c.Start(t.Context(), "127.0.0.1:0"))
	client := must(service.New(service.Options{BaseURL: at.BaseURL, APIKey: service.Secret(at.APIKey)}))
	hook := must(client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "engine", URL: c.relay.URL, Events: vocabulary.EventTypes()}))
	c.process = process{
		Journal: address, BaseURL: at.BaseURL, APIKey: at.APIKey, Secret: string(hook.Secret), Timeout: 300 * time.Millisecond,
		Rules: `
rules:
  - id: it
    when: message.received
    do:
      - send_message: "hello {{ message.text }}"
      - add_labels: [vip]
      - wait: 200ms
      - create_card: { board: Sales, title: "{{ message.text }}" }
      - move_card: Proposal
      - transfer: { sector: Sales, reason: "{{ message.text }}" }
`,
	}
	// The test's reader needs a journal that exists.
	_ = must(process{Journal: look}.open(t.Context(), false)).Close()
	c.look = must(process{Journal: look}.open(t.Context(), true))
	t.Cleanup(func() { _ = c.look.Close() })
	return c
}

// writes lets n customers write, one soon after another; served waits for the last.
func (c *crowd) writes(n int) {
	c.writing.Go(func() {
		for range n {
			c.written++
			must(c.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", c.written), Name: "Somebody", Text: fmt.Sprint(c.written)}))
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// served waits until every customer who has written is served.
func (c *crowd) served() {
	c.t.Helper()
	c.writing.Wait()
	c.await("every run is done", func() bool {
		return len(must(c.look.ListRuns(c.t.Context(), journal.RunFilter{State: journal.Done, Limit: c.written + 1}))) == c.written
	})
}

// await waits for a condition. It counts checks, not time, because a slow or suspended machine
// checks less often, too. Work that an engine has scheduled for later is late, not lost: after
// calls that timed out, the delays double.
func (c *crowd) await(what string, so func() bool) {
	c.t.Helper()
	for looks := 0; !so(); time.Sleep(50 * time.Millisecond) {
		if due := must(c.look.Due(c.t.Context(), nil)); !due.After(time.Now()) {
			looks++
		}
		if looks == 2400 {
			c.t.Fatalf("waited in vain: %s\n%s", what, c.left())
		}
	}
}

// left describes the events that are not decided and the runs that are not done after so many
// messages.
func (c *crowd) left() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages, the next lane is due at %s, stopped is %v\n", c.written, must(c.look.Due(c.t.Context(), nil)), must(c.look.Holds(c.t.Context())))
	for _, e := range c.undecided() {
		fmt.Fprintf(&b, "event %d %s of %s is not decided, in %s\n", e.Seq, e.Type, e.ReceivedAt, e.Lane)
	}
	for _, r := range must(c.look.ListRuns(c.t.Context(), journal.RunFilter{Limit: c.written})) {
		if r.State == journal.Done {
			continue
		}
		fmt.Fprintf(&b, "run %d of event %d is %s since %s, wakes at %s: %s\n", r.ID, r.Event, r.State, r.StartedAt, r.WakeAt, r.Reason)
		for _, s := range r.Steps {
			fmt.Fprintf(&b, "  %s %s %s attempts=%d error=%q\n", s.Path, s.Verb, s.State, s.Attempts, s.Error)
		}
	}
	return b.String()
}

// undecided returns the events that are recorded and not decided.
func (c *crowd) undecided() (list []*journal.Event) {
	for after := int64(0); ; {
		page := must(c.look.ListEvents(c.t.Context(), journal.EventFilter{Forward: true, After: after, Limit: 1000}))
		if len(page) == 0 {
			return list
		}
		after = page[len(page)-1].Seq
		list = append(list, slices.DeleteFunc(page, func(e *journal.Event) bool { return e.Decided })...)
	}
}

// effects lists what was done to the desk: none of it may happen twice.
func (c *crowd) effects() (list []string) {
	for _, e := range c.Effects()[1:] { // the first is the webhook
		if strings.HasPrefix(e.Operation, "POST /kanban") {
			list = append(list, e.Operation+" "+string(e.Key))
		} else {
			list = append(list, fmt.Sprint(e.Operation, " ", e.Object))
		}
	}
	return list
}

// check compares the effects with the expected ones, and that no event is undecided.
func (c *crowd) check() {
	c.t.Helper()
	if err := c.Settle(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.await("every event is decided", func() bool { return len(c.undecided()) == 0 })
	got := c.effects()
	all := len(got)
	slices.Sort(got)
	if n := len(slices.Compact(got)); all != 5*c.written || n != all {
		c.t.Errorf("%d effects, %d of them different, after %d messages that ask for five each", all, n, c.written)
	}
}

// TestKill shows that each customer has exactly one answer, one label and one card in the end,
// although engines are killed again and again.
func TestKill(t *testing.T) {
	t.Parallel()
	t.Run("in a file", func(t *testing.T) { killed(t, filepath.Join(t.TempDir(), "journal.db"), 1) })
	t.Run("in a database", func(t *testing.T) { killed(t, postgrestest.Shared(t).Database(t), 2) })
}

// killed kills engines, of which so many run at once.
func killed(t *testing.T, journal string, engines int) {
	c := newCrowd(t, journal, journal)
	random := rand.New(rand.NewPCG(1, uint64(*kills)))
	var alive []*child
	for range *kills {
		alive = append(alive, c.start(t))
		c.relay.lead(alive...)
		c.writes(5)
		time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
		if len(alive) == engines {
			victim := random.IntN(engines)
			alive[victim].kill()
			alive = slices.Delete(alive, victim, victim+1)
		}
		c.relay.lead(alive...)
		c.writing.Wait()
	}
	c.relay.lead(append(alive, c.start(t))...)
	c.served()
	c.check()
	t.Logf("%d kills, %d messages, %d effects", *kills, c.written, len(c.effects()))
}
