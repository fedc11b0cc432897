package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// A turnstile stands before the service: each request that would change something waits there until
// it is let through.
type turnstile struct {
	arrived atomic.Int64
	through chan struct{}
	url     string
}

func newTurnstile(t *testing.T, to string) *turnstile {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	s := &turnstile{through: make(chan struct{})}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			s.arrived.Add(1)
			<-s.through
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + target.Path
	return s
}

// waits waits until so many requests have arrived.
func (s *turnstile) waits(t *testing.T, n int64) {
	t.Helper()
	clitest.Eventually(t, func() (bool, string) {
		return s.arrived.Load() == n, fmt.Sprint(s.arrived.Load(), " requests have arrived")
	})
}

// stays lets the request that waits pass, and makes sure that no other comes behind it.
func (s *turnstile) stays(t *testing.T) {
	t.Helper()
	n := s.arrived.Load()
	s.through <- struct{}{}
	time.Sleep(600 * time.Millisecond)
	if got := s.arrived.Load(); got != n {
		t.Errorf("%d requests arrived after it was stopped", got-n)
	}
}

// TestPauseUnderWay stops everything while a call of `quando run` is on its way: it is named to
// whoever stops it, as JSON, as a text and in the console, and none comes behind it before it is
// resumed.
func TestPauseUnderWay(t *testing.T) {
	t.Parallel()
	t.Run("in a file", func(t *testing.T) { pauseUnderWay(t, "") })
	t.Run("in a database", func(t *testing.T) { pauseUnderWay(t, fmt.Sprintf("\njournal: %q", postgrestest.Shared(t).Database(t))) })
}

func pauseUnderWay(t *testing.T, where string) {
	o := newOffice(t)
	s := newTurnstile(t, o.address.BaseURL)
	o.address.BaseURL = s.url
	o.write("rules/r.yaml", "rules:\n  - { id: hello, when: message.received, do: [{ send_message: one }, { send_message: two }, { send_message: three }, { send_message: four }] }\n")
	o.start(o.service() + where)
	config := o.config(o.service() + where)
	command := func(args ...string) string {
		t.Helper()
		code, out, errOut := quando(t, append(args, "--config", config)...)
		if code != 0 {
			t.Fatal(errOut)
		}
		return out
	}
	w := o.writes("+5511988887777", "hello")
	lane := "conversation:" + w.Conversation.String()

	s.waits(t, 1)
	var said struct {
		UnderWay []journal.UnderWay `json:"under_way"`
	}
	out := command("pause", "--output", "json")
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said.UnderWay) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	u := said.UnderWay[0]
	if since := time.Since(u.Since); since < 0 || since > time.Minute {
		t.Errorf("it is under way since %s", u.Since)
	}
	u.Since = time.Time{}
	run := fmt.Sprint(u.Run) // a database may skip a number
	if want := (journal.UnderWay{Run: u.Run, Key: u.Key, Workspace: "default", Rule: "hello", Lane: lane, Step: "1", Verb: "send_message"}); u != want || u.Run == 0 || !strings.HasPrefix(u.Key, "default/hello/") {
		t.Errorf("%+v is under way, not %+v", u, want)
	}
	s.stays(t)
	if out := command("pause"); strings.Contains(out, "under way") {
		t.Errorf("a call is named that has its answer\n%s", out)
	}
	command("resume")

	s.waits(t, 2)
	out = command("pause", "--rule", "hello")
	if !strings.Contains(out, "\nCalls that were under way, and may still have their effect: 1\n  the rule hello, step 2: send_message in "+lane+", run "+run+", since ") {
		t.Error(out)
	}
	s.stays(t)
	command("resume", "--rule", "hello")

	s.waits(t, 3)
	_, page := o.asks("POST", o.console+"/pause", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "back=%2Fruns")
	for _, part := range []string{"These had begun before", "3: send a message", fmt.Sprintf(`<a href="/runs/%s">%[1]s</a>`, run), url.QueryEscape(lane), `href="/runs"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the console does not say %q\n%s", part, page)
		}
	}
	s.stays(t)
	command("resume")

	s.waits(t, 4)
	s.through <- struct{}{}
	clitest.Eventually(t, func() (bool, string) {
		out := command("runs", "--state", "done")
		return strings.Count(out, "send_message") > 0, out
	})
	if code := o.stop(); code != 0 {
		t.Errorf("it ended with %d\n%s", code, o.log)
	}
}
