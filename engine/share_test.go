//go:build unix

package engine_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/service/sandbox"
)

var stops = flag.Int("stops", 2, "how often TestStopped stops an engine for longer than its lease, and half as often as TestPauseStopsCalls pauses; with more than 2, TestStoppedAtACall stops one at every kind of call, and TestAnswerIsClaimed has every order in a database")

func init() {
	stopMyself = func() {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
		time.Sleep(100 * time.Millisecond) // other threads may get the signal first
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, within time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > within {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (c *child) signal(s syscall.Signal) { _ = c.Process.Signal(s) }

// halt suspends the process. The signal is only the request: running threads continue until the
// kernel interrupts them.
func (c *child) halt() {
	c.signal(syscall.SIGSTOP)
	for began := time.Now(); !c.isStopped() && time.Since(began) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
}

// isStopped reports whether every thread of the process is stopped by a signal.
func (c *child) isStopped() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.Process.Pid))
	for _, name := range threads {
		stat, _ := os.ReadFile(name)
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return len(threads) > 0
}

// leases returns how many lanes an engine has claimed, as the database sees it.
func (c *child) leases(address string) int {
	return postgrestest.Count(c.t, address, `SELECT count(*) FROM quando.leases d JOIN quando.engines e ON e.id = d.engine WHERE e.name LIKE '% ' || $1::text`, fmt.Sprint(c.Process.Pid))
}

// margin is what a takeover may take longer than the lease. An engine that is suspended in the
// middle of a transaction has locks that the database takes away after ten seconds; the rest is for
// slow machines.
const margin = 30 * time.Second

// TestStopped suspends one of two engines for longer than its lease, again and again, while
// customers write: the other takes over all its lanes and serves every customer, and whatever the
// first one does when it continues is refused.
func TestStopped(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).Database(t)
	c := newCrowd(t, address, address)
	random := rand.New(rand.NewPCG(2, uint64(*stops)))
	engines := []*child{c.start(t), c.start(t)}
	c.relay.lead(engines...)
	var longest time.Duration
	had := 0
	for range *stops {
		c.writes(20)
		time.Sleep(time.Duration(100+random.IntN(200)) * time.Millisecond)
		n := random.IntN(2)
		victim := engines[n]
		victim.halt()
		had += victim.leases(address)
		longest = max(longest, eventually(t, lease+margin, "its lanes are another's", func() bool { return victim.leases(address) == 0 }))
		c.relay.lead(engines[1-n]) // by now a load balancer has noticed
		c.served()
		victim.signal(syscall.SIGCONT)
		c.relay.lead(engines...)
	}
	c.writes(5)
	c.served()
	c.check()
	refused := engines[0].ask("refused") + engines[1].ask("refused")
	t.Logf("%d stops with %d lanes under way, taken over within %s at a lease of %s, %d changes refused, %d messages", *stops, had, longest.Round(time.Millisecond), lease, refused, c.written)
}

// TestStoppedAtACall suspends an engine at one call: before the request is sent, after its effect
// but before the answer, and after the answer but before the receipt is recorded. Another engine
// takes over and finishes the run, a person works on, and the first engine continues: it changes
// nothing any more.
func TestStoppedAtACall(t *testing.T) {
	calls := []string{"transfer", "create_card"}
	if *stops > 2 {
		calls = append(calls, "send", "patch_conversation", "move_card")
	}
	for _, call := range calls {
		for _, when := range []string{"before", "during", "after"} {
			t.Run(when+" "+call, func(t *testing.T) {
				t.Parallel()
				stoppedAt(t, when, call)
			})
		}
	}
}

func stoppedAt(t *testing.T, when, call string) {
	address := postgrestest.Shared(t).Database(t)
	c := newCrowd(t, address, address)
	p := c.process
	proxy := newCallProxy(t, p.BaseURL)
	p.BaseURL = proxy.URL
	if when != "during" {
		p.Stop = when + " " + call
	}
	first := p.start(t)
	if when == "during" {
		proxy.answering = func(r *http.Request) bool {
			if !isCall(r, call) {
				return true
			}
			first.halt()
			return false
		}
	}
	c.relay.lead(first)
	c.writes(1)
	eventually(t, time.Minute, "the engine stops at the call", first.isStopped)
	second := c.start(t)
	c.relay.lead(second)
	c.served()

	// A person works on: a call that comes late would undo it.
	conversation := must(c.look.ListRuns(t.Context(), journal.RunFilter{}))[0].About.Conversation
	must(c.TeamTransfer(sandbox.TeamTransfer{Conversation: conversation, Person: "Carla", To: "Carla", Sector: "Supervisors"}))
	if err := c.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, runs := c.effects(), must(c.look.ListRuns(t.Context(), journal.RunFilter{}))
	first.signal(syscall.SIGCONT)
	eventually(t, time.Minute, "what it hands in is refused", func() bool { return first.ask("refused") > 0 && first.ask("busy") == 0 })
	if diff := cmp.Diff(before, c.effects()); diff != "" {
		t.Errorf("the engine that was stopped has changed something:\n%s", diff)
	}
	after := must(c.look.ListRuns(t.Context(), journal.RunFilter{}))
	if diff := cmp.Diff(runs, after); diff != "" {
		t.Errorf("the engine that was stopped has written:\n%s", diff)
	}
	c.check()
}

// isCall reports whether a request is the one that a call makes.
func isCall(r *http.Request, call string) bool {
	of := map[string]string{
		"send": "POST /messages", "patch_conversation": "PATCH /conversations/", "create_card": "POST /kanban/cards", "move_card": "POST /move", "transfer": "POST /transfer",
	}[call]
	method, path, _ := strings.Cut(of, " ")
	if r.Method != method {
		return false
	}
	return strings.HasSuffix(r.URL.Path, path) || call == "patch_conversation" && strings.Contains(r.URL.Path, path)
}

// A callProxy is between an engine and the service. Each engine has its own, so that the test sees
// which engine calls, and when.
type callProxy struct {
	*httptest.Server
	answering func(*http.Request) bool // whether the caller gets the answer; nil means always

	mu    sync.Mutex
	calls []passed
}

// passed is a request that went through a callProxy.
type passed struct {
	came, answered time.Time
	status         int
	what           string
}

// arrivedKey is the context key of the time at which a request arrived.
type arrivedKey struct{}

func newCallProxy(t *testing.T, to string) *callProxy {
	d := &callProxy{}
	target := must(url.Parse(to))
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.calls = append(d.calls, passed{r.Request.Context().Value(arrivedKey{}).(time.Time), time.Now(), r.StatusCode, r.Request.Method + " " + r.Request.URL.Path})
			if d.answering != nil && !d.answering(r.Request) {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), arrivedKey{}, time.Now())))
	}))
	t.Cleanup(d.Close)
	return d
}

// passed returns the requests so far.
func (d *callProxy) passed() []passed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}
