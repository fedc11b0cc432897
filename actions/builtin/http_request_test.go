package builtin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
)

// A system is another one than the service, which http_request calls.
type system struct {
	*httptest.Server
	mu    sync.Mutex
	calls []*http.Request
	body  []string
}

func newSystem(t *testing.T, answer func(n int, w http.ResponseWriter)) *system {
	s := &system{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.calls, s.body = append(s.calls, r), append(s.body, string(body))
		n := len(s.calls)
		s.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *system) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

func (s *system) allow(o *builtin.Options) {
	u, _ := url.Parse(s.URL)
	o.HTTP = []builtin.HTTPHost{{Host: u.Host, Headers: map[string]string{"X-From-Config": "kept out of rules"}}}
}

func TestHTTPRequest(t *testing.T) {
	s := newSystem(t, func(_ int, w http.ResponseWriter) { _, _ = w.Write([]byte(`{"ok": true, "n": 3}`)) })
	d := newDesk(t, s.allow)
	run := d.drive("http_request", d.step(m{
		"url": s.URL + "/new?a=b", "json": m{"phone": ana}, "headers": m{"Authorization": "Bearer hush", "X-Plain": "seen"},
	}))
	r, err := run.run()
	if err != nil {
		t.Fatal(err)
	}
	want := m{"status": 200.0, "ok": true, "json": m{"ok": true, "n": 3.0}, "text": `{"ok": true, "n": 3}`}
	if diff := cmp.Diff(want, r.Value); diff != "" {
		t.Error(diff)
	}
	sent := s.calls[0]
	got := []string{sent.Method, sent.RequestURI, s.body[0], sent.Header.Get("Authorization"), sent.Header.Get("X-Plain"), sent.Header.Get("X-From-Config"), sent.Header.Get("Content-Type")}
	if diff := cmp.Diff([]string{"POST", "/new?a=b", `{"phone":"` + ana + `"}`, "Bearer hush", "seen", "kept out of rules", "application/json"}, got); diff != "" {
		t.Error(diff)
	}
	if key := sent.Header.Get("Idempotency-Key"); len(key) != 64 {
		t.Errorf("the key is %q", key)
	}
	if recorded := must(json.Marshal(run.intents)); strings.Contains(string(recorded), "hush") || !strings.Contains(string(recorded), "seen") {
		t.Errorf("recorded: %s", recorded)
	}
}

// TestHTTPRequestThatClimbs shows that an address with a segment of only dots, which cannot be
// escaped, is not called.
func TestHTTPRequestThatClimbs(t *testing.T) {
	s := newSystem(t, func(int, http.ResponseWriter) {})
	d := newDesk(t, s.allow)
	for path, calls := range map[string]int{"/orders/../admin": 0, "/orders/%2e%2E/admin": 0, "/.": 0, "/orders/..%2Fadmin": 1, "/a..b/...": 1} {
		before := s.count()
		r, err := d.drive("http_request", d.step(m{"url": s.URL + path})).run()
		if s.count()-before != calls {
			t.Errorf("%s: %d calls, %+v, %v", path, s.count()-before, r, err)
		}
	}
}

func TestHTTPRequestWithAnUnknownResult(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  m
		want  actions.Outcome
		calls int
	}{
		{"POST", m{}, unknown, 1},
		{"POST, repeatable", m{"repeatable": true}, actions.Done, 2},
		{"GET", m{"method": "GET"}, actions.Done, 2},
	} {
		for name, fail := range map[string]func(w http.ResponseWriter, over <-chan struct{}){
			"500":     func(w http.ResponseWriter, _ <-chan struct{}) { w.WriteHeader(500) },
			"drop":    func(http.ResponseWriter, <-chan struct{}) { panic(http.ErrAbortHandler) },
			"timeout": func(_ http.ResponseWriter, over <-chan struct{}) { <-over },
		} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				over := make(chan struct{})
				s := newSystem(t, func(n int, w http.ResponseWriter) {
					if n == 1 {
						fail(w, over)
					}
				})
				t.Cleanup(func() { close(over) })
				d := newDesk(t, s.allow)
				args := m{"url": s.URL, "timeout": time.Second}
				for k, v := range c.args {
					args[k] = v
				}
				r, err := d.drive("http_request", d.step(args)).run()
				if err != nil || r.Outcome != c.want || s.count() != c.calls {
					t.Errorf("%+v, %v after %d calls", r, err, s.count())
				}
			})
		}
		t.Run(c.name+" crash", func(t *testing.T) {
			s := newSystem(t, func(int, http.ResponseWriter) {})
			d := newDesk(t, s.allow)
			args := m{"url": s.URL}
			for k, v := range c.args {
				args[k] = v
			}
			run := d.drive("http_request", d.step(args))
			run.crash = once("do", 1)
			if r, err := run.run(); err != nil || r.Outcome != c.want {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestHTTPRequestThatNeverArrived shows that a call that is known to have had no effect is repeated
// without asking a person.
func TestHTTPRequestThatNeverArrived(t *testing.T) {
	s := newSystem(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
		}
	})
	d := newDesk(t, s.allow)
	run := d.drive("http_request", d.step(m{"url": s.URL}))
	if r, err := run.run(); err != nil || r.Outcome != actions.Done || s.count() != 2 {
		t.Errorf("%+v, %v after %d calls", r, err, s.count())
	}
	if err := run.errs[0]; actions.StepWait(err) != 7*time.Second || actions.Wait(err) != 0 {
		t.Errorf("a 429 of another system holds up the step alone, not the workspace: %v", err)
	}
	address := s.URL
	s.Close()
	run = d.drive("http_request", d.step(m{"url": address}))
	next := must(run.action.Plan(t.Context(), run.now()))
	_, err := run.action.Do(t.Context(), run.now(), *next.Intent)
	run.step.Failed = err
	if err == nil || actions.IsUncertain(err) || actions.IsPermanent(err) {
		t.Errorf("a refused connection is a passing trouble: %v", err)
	}
	if v := must(run.action.Settle(t.Context(), run.now(), *next.Intent)); v.Verdict != actions.Repeat {
		t.Errorf("settled as %s", v.Verdict)
	}
	run.step.Failed = nil
	if v := must(run.action.Settle(t.Context(), run.now(), *next.Intent)); v.Verdict != actions.Unknown {
		t.Errorf("after a crash settled as %s", v.Verdict)
	}
}

func TestHTTPRequestRefusals(t *testing.T) {
	s := newSystem(t, func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(302)
	})
	large := newSystem(t, func(_ int, w http.ResponseWriter) { _, _ = w.Write(make([]byte, 256<<10+1)) })
	gone := newSystem(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(410) })
	port := func(s *system) string { u, _ := url.Parse(s.URL); return u.Port() }
	d := newDesk(t, func(o *builtin.Options) {
		o.HTTP = []builtin.HTTPHost{
			{Host: "127.0.0.1:" + port(s)}, {Host: "127.0.0.1:" + port(large)}, {Host: "127.0.0.1:" + port(gone)},
			{Host: "example.com"}, {Host: "127.0.0.1.nip.invalid"},
		}
	})
	for _, c := range []struct {
		name, want string
		args       m
	}{
		{"not listed", "not on the list", m{"url": "https://evil.example.net/?secret=hush"}},
		{"another port", "not on the list", m{"url": "https://example.com:8443/"}},
		{"another scheme", "must begin with https", m{"url": "ftp://example.com/"}},
		{"a password", "user or password", m{"url": "https://u:hush@example.com/"}},
		{"not an address", "not an address", m{"url": "example.com"}},
		{"a line break", "line break", m{"url": s.URL, "headers": m{"X-Name": "a\r\nHost: evil"}}},
		{"a header of ours", "not for rules to set", m{"url": s.URL, "headers": m{"host": "evil"}}},
		{"a redirect", "redirects are not followed", m{"url": s.URL, "headers": m{"Authorization": "hush"}}},
		{"too large", "larger than 256 KiB", m{"url": large.URL}},
		{"410", "410 gone", m{"url": gone.URL + "/?token=hush"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := d.drive("http_request", d.step(c.args)).run()
			if !actions.IsPermanent(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
	if s.count() != 1 {
		t.Errorf("%d calls, want one, which was redirected", s.count())
	}
}

func TestHTTPHostsAreChecked(t *testing.T) {
	d := newDesk(t)
	for _, list := range [][]builtin.HTTPHost{{{Host: ""}}, {{Host: "https://example.com"}}, {{Host: "example.com/path"}}, {{Host: "a"}, {Host: "A"}}} {
		if _, err := builtin.New(builtin.Options{Client: d.client, HTTP: list}); err == nil {
			t.Errorf("%v was taken", list)
		}
	}
}

// TestHTTPRequestQuery shows that values stay values: they add no parameter, and end no query.
func TestHTTPRequestQuery(t *testing.T) {
	at := time.Date(2026, 11, 13, 18, 0, 0, 0, time.FixedZone("", -3*3600))
	for _, c := range []struct {
		name, path, want string
		query            m
	}{
		{"none", "/a?b=1", "/a?b=1", nil},
		{"beside others", "/a?b=1", "/a?b=1&of=Ana%20Maria", m{"of": "Ana Maria"}},
		{"sorted", "/a", "/a?a=1&b=true&c=2.5", m{"c": 2.5, "b": true, "a": 1.0}},
		{"nil", "/a", "/a", m{"of": nil, "list": []any{nil}, "none": []any{}}},
		{"a list", "/a?", "/a?of=1&of=two", m{"of": []any{1.0, nil, "two"}}},
		{"hostile", "/a", "/a?%26x%3D1=%26all%3D1%23%3F%2F..%2F%0D%0A%2B%25%3B%C3%A7", m{"&x=1": "&all=1#?/../\r\n+%;ç"}},
		{"empty", "/a#part", "/a?of=", m{"of": ""}},
		{"a time", "/a", "/a?at=2026-11-13T18%3A00%3A00-03%3A00&for=900", m{"at": at, "for": 15 * time.Minute}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSystem(t, func(int, http.ResponseWriter) {})
			d := newDesk(t, s.allow)
			args := m{"url": s.URL + c.path, "method": "GET"}
			if c.query != nil {
				args["query"] = c.query
			}
			if _, err := d.drive("http_request", d.step(args)).run(); err != nil {
				t.Fatal(err)
			}
			if got := s.calls[0].RequestURI; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	s := newSystem(t, func(int, http.ResponseWriter) {})
	d := newDesk(t, s.allow)
	for want, query := range map[string]m{
		"list or an object": {"of": m{"a": 1}}, "longer than 64 KiB": {"of": strings.Repeat("x", 70<<10)},
	} {
		_, err := d.drive("http_request", d.step(m{"url": s.URL, "query": query})).run()
		if !actions.IsPermanent(err) || !strings.Contains(err.Error(), want) || s.count() > 0 {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestHTTPRequestAccepts shows that an accepted status is a result at once, also one that would be
// repeated, and any other is what it was.
func TestHTTPRequestAccepts(t *testing.T) {
	for _, status := range []int{404, 429, 503} {
		s := newSystem(t, func(_ int, w http.ResponseWriter) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"why": "none"}`))
		})
		d := newDesk(t, s.allow)
		r, err := d.drive("http_request", d.step(m{"url": s.URL, "accept": []any{404, 429, 503}})).run()
		if err != nil || s.count() != 1 {
			t.Fatalf("%d: %v after %d calls", status, err, s.count())
		}
		if diff := cmp.Diff(m{"status": float64(status), "ok": false, "json": m{"why": "none"}, "text": `{"why": "none"}`}, r.Value); diff != "" {
			t.Error(diff)
		}
	}
	gone := newSystem(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(410) })
	d := newDesk(t, gone.allow)
	if _, err := d.drive("http_request", d.step(m{"url": gone.URL, "accept": []any{404}})).run(); !actions.IsPermanent(err) {
		t.Errorf("410: %v", err)
	}
}
