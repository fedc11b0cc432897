package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// cheapHash is a hash of "correct horse" that takes little time.
const cheapHash = "$argon2id$v=19$m=8192,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$4VryEKWA/pYmxyqDOr+M9s2J5BElRcjGGswGxW8Ptx8"

// The wrong passwords and tokens that are checked in a minute, as docs/console.md promises.
const (
	maxGuesses  = 10 // for one name, or the token, from one address
	guessesFrom = 30 // from one address
)

// guarded is a console that requires a login.
func guarded(o *Options) {
	o.Access = Access{Listen: "0.0.0.0:8081", Token: "open-sesame-of-ali", Users: map[string]User{
		"vera": {Password: cheapHash, Role: Viewer}, "edu": {Password: cheapHash, Role: Editor}, "olga": {Password: cheapHash, Role: Operator},
	}}
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// enters logs a user in and returns what carries the session.
func (d *desk) enters(name, password string) (func(*http.Request), *httptest.ResponseRecorder) {
	d.t.Helper()
	w := d.ask("POST", "/login", url.Values{"name": {name}, "password": {password}, "back": {"/runs"}})
	cookies := w.Result().Cookies()
	return func(r *http.Request) {
		for _, c := range cookies {
			r.AddCookie(c)
		}
	}, w
}

// TestRoutes requests every address with every role, those that may and those that may not.
func TestRoutes(t *testing.T) {
	d := newDesk(t, guarded, func(o *Options) { o.Metrics = http.NotFoundHandler() })
	d.says(marina, "Marina", "hello")
	as := map[Role]func(*http.Request){Nobody: func(*http.Request) {}}
	for name, u := range d.options.Access.Users {
		session, w := d.enters(name, "correct horse")
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/runs" {
			t.Fatalf("%s: %d %s", name, w.Code, w.Header())
		}
		as[u.Role] = session
	}
	if len(routes) < 20 {
		t.Fatal("routes are missing")
	}
	for _, to := range routes {
		method, path, _ := strings.Cut(to.pattern, " ")
		path = strings.NewReplacer("{$}", "", "{workspace}", "default", "{rule}", "greet", "{run}", "1", "{event}", "1", "{what}", "retry").Replace(path)
		if method == "POST" && to.role == Nobody || path == "/live" || path == "/logout" {
			continue // public ones; endless ones; the one that ends the session
		}
		for role, session := range as {
			w := d.ask(method, path, url.Values{}, session)
			refused := w.Code == http.StatusForbidden || w.Code == http.StatusUnauthorized || strings.HasPrefix(w.Header().Get("Location"), "/login")
			if refused != (role < to.role) {
				t.Errorf("%s as %s: %d %s", to.pattern, role, w.Code, w.Header().Get("Location"))
			}
		}
	}
	if w := d.ask("POST", "/pause", url.Values{}, as[Editor]); w.Code != 403 || len(must(d.journal.Audits(t.Context(), 0, 10))) > 0 && must(d.journal.Audits(t.Context(), 0, 10))[0].Who != "olga" {
		t.Error("an editor stopped something")
	}
}

// TestHostileRequests shows that strangers, other sites and oversized requests are refused.
func TestHostileRequests(t *testing.T) {
	open, closed := newDesk(t), newDesk(t, guarded)
	other := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	large := func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(io.LimitReader(endless{}, 100<<20)), 100<<20
	}
	unknown := func(r *http.Request) { large(r); r.ContentLength = -1 }
	form := url.Values{"reason": {"x"}}
	for _, tt := range []struct {
		name         string
		d            *desk
		method, path string
		change       func(*http.Request)
		status       int
	}{
		{"without a token", closed, "POST", "/pause", nil, 401},
		{"with another token", closed, "POST", "/pause", bearer("open-sesame-of-ali2"), 401},
		{"with an empty token", closed, "POST", "/pause", bearer(""), 401},
		{"with the token in another way", closed, "POST", "/pause", other("Authorization", "Basic open-sesame-of-ali"), 401},
		{"with a cookie of one's own", closed, "POST", "/pause", other("Cookie", "quando=x; __Host-quando=x"), 401},
		{"metrics without a token", closed, "GET", "/metrics", other("Accept", "*/*"), 401},
		{"from another site", open, "POST", "/pause", other("Sec-Fetch-Site", "cross-site"), 403},
		{"from a neighbour", open, "POST", "/pause", other("Sec-Fetch-Site", "same-site"), 403},
		{"from another origin", open, "POST", "/pause", other("Origin", "https://evil.example.com"), 403},
		{"from a file", open, "POST", "/pause", other("Origin", "null"), 403},
		{"a name that was made to lead here", open, "GET", "/", host("evil.example.com"), 403},
		{"a name that only begins so", open, "GET", "/", host("127.0.0.1.evil.example.com:8081"), 403},
		{"no name", open, "GET", "/assets/console.css", host(""), 403},
		{"a path in a rule's name", open, "GET", "/rules/default/..%2f..%2fetc%2fpasswd", nil, 404},
		{"a path in a rule's name, escaped twice", open, "GET", "/rules/default/%252e%252e", nil, 404},
		{"a path in a workspace's name", open, "GET", "/rules/..%2f..%2f/greet", nil, 404},
		{"a path in a file's name", open, "GET", "/assets/..%2fconsole.go", nil, 404},
		{"100 MB", open, "POST", "/pause", large, 413},
		{"100 MB of which nobody told", open, "POST", "/pause", unknown, 413},
		{"100 MB of a password", closed, "POST", "/login", large, 413},
		{"a rule of no workspace", open, "POST", "/pause", body("rule=greet"), 400},
		{"a workspace that is none", open, "POST", "/pause", body("workspace=nobody"), 400},
		{"something that cannot be asked", open, "POST", "/runs/1/delete", nil, 404},
		{"a run that is no number", open, "POST", "/runs/1e9/retry", nil, 404},
		{"a form that is none", open, "POST", "/pause", body("%zz"), 400},
		{"a GET that changes", open, "GET", "/pause", nil, 405},
		{"a state that is none", open, "GET", "/runs?state=%27", nil, 400},
		{"a number that is none", open, "GET", "/events?before=x", nil, 400},
	} {
		change := tt.change
		if change == nil {
			change = func(*http.Request) {}
		}
		f := form
		if tt.method == "GET" {
			f = nil
		}
		if w := tt.d.ask(tt.method, tt.path, f, change); w.Code != tt.status && !(tt.status == 405 && w.Code == 404) {
			t.Errorf("%s: %d, want %d: %.200s", tt.name, w.Code, tt.status, w.Body)
		}
	}
	for _, d := range []*desk{open, closed} {
		if holds := must(d.journal.Holds(t.Context())); len(holds) > 0 {
			t.Errorf("something was stopped: %v", holds)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func body(text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

// TestHosts shows by which names a machine can be asked for its own console.
func TestHosts(t *testing.T) {
	d := newDesk(t, func(o *Options) { o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}) })
	for host, status := range map[string]int{
		"127.0.0.1:8081": 200, "localhost:8081": 200, "LOCALHOST": 200, "localhost": 200, "[::1]:8081": 200, "127.8.8.8": 200, "": 403, "evil.example.com:8081": 403, "localhost.evil.example.com": 403, "0.0.0.0:8081": 403,
	} {
		if w := d.ask("GET", "/metrics", nil, func(r *http.Request) { r.Host = host }); w.Code != status {
			t.Errorf("%q: %d", host, w.Code)
		}
	}
	for _, one := range []struct {
		listen, host string
		status       int
	}{
		{"127.0.0.1:8081", "desk.example.com", 200}, {"127.0.0.1:8081", "localhost:8081", 200}, {"127.0.0.1:8081", "evil.example.com", 403},
		{"0.0.0.0:8081", "Desk.Example.com:443", 200}, {"0.0.0.0:8081", "evil.example.com", 403}, {"0.0.0.0:8081", "localhost", 403}, {"0.0.0.0:8081", "", 403},
	} {
		d := newDesk(t, guarded, func(o *Options) { o.Access.Listen, o.Access.Hosts = one.listen, []string{"desk.example.com"} })
		if w := d.ask("GET", "/login", nil, func(r *http.Request) { r.Host = one.host }); w.Code != one.status {
			t.Errorf("%s on %s: %d", one.host, one.listen, w.Code)
		}
	}
	elsewhere := newDesk(t, guarded, func(o *Options) { o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}) })
	for auth, status := range map[string]int{"Bearer open-sesame-of-ali": 200, "bearer open-sesame-of-ali": 200, "Bearer open": 401, "Bearer open-sesame-of-ali2": 401, "Basic open-sesame-of-ali": 401, "": 401} {
		w := elsewhere.ask("GET", "/metrics", nil, func(r *http.Request) {
			r.Host = "desk.example.com"
			r.Header.Set("Authorization", auth)
			r.Header.Set("Accept", "*/*")
		})
		if w.Code != status || (status == 401) != (w.Header().Get("WWW-Authenticate") != "") || strings.Contains(w.Body.String(), "sesame") {
			t.Errorf("%q: %d %s", auth, w.Code, w.Body)
		}
	}
}

// TestHeaders shows what every answer forbids the browser, and that pages have nothing in them that
// is forbidden.
func TestHeaders(t *testing.T) {
	d := newDesk(t)
	d.story()
	for _, path := range []string{"/", "/rules/default/greet", "/runs/1", "/assets/console.css", "/nothing"} {
		w := d.ask("GET", path, nil)
		policy := w.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: %s is missing in %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, w.Header())
		}
		if text := w.Body.String(); strings.Contains(text, " style=") || strings.Contains(text, "<style") || strings.Contains(text, "<script>") || strings.Contains(text, " onclick=") {
			t.Errorf("%s has inline script or style", path)
		}
	}
}

// TestSession shows how people come in and go.
func TestSession(t *testing.T) {
	d := newDesk(t, guarded)
	if w := d.ask("GET", "/runs?state=failed", nil); w.Code != 303 || w.Header().Get("Location") != "/login?back=%2Fruns%3Fstate%3Dfailed" {
		t.Errorf("%d %s", w.Code, w.Header().Get("Location"))
	}
	for _, wrong := range [][2]string{{"vera", "wrong horse"}, {"nobody", "correct horse"}, {"", "close-sesame"}, {"vera", ""}} {
		if _, w := d.enters(wrong[0], wrong[1]); w.Code != 401 || len(w.Result().Cookies()) > 0 {
			t.Errorf("%v: %d", wrong, w.Code)
		}
	}
	session, w := d.enters("", "open-sesame-of-ali")
	cookie := w.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Name != "__Host-quando" || cookie.Path != "/" {
		t.Errorf("the cookie: %v", cookie)
	}
	if text := d.page("/", session); !strings.Contains(text, "operator") || strings.Contains(text, "open-sesame-of-ali") {
		t.Error("the page does not say who one is, or says too much")
	}
	d.mu.Lock()
	d.now = d.now.Add(12*time.Hour + time.Second)
	d.mu.Unlock()
	if w := d.ask("GET", "/", nil, session); w.Code != 303 {
		t.Error("a session has no end")
	}
	session, _ = d.enters("olga", "correct horse")
	d.page("/", session)
	d.ask("POST", "/logout", url.Values{}, session)
	if w := d.ask("GET", "/", nil, session); w.Code != 303 {
		t.Error("a session outlives the logout")
	}
	for range maxGuesses {
		d.enters("vera", "wrong horse")
	}
	if _, w := d.enters("vera", "correct horse"); w.Code != 429 {
		t.Errorf("after many guesses: %d", w.Code)
	}
	local := newDesk(t, func(o *Options) { o.Access.Token = "open-sesame-of-ali" })
	if _, w := local.enters("", "open-sesame-of-ali"); w.Result().Cookies()[0].Secure || w.Result().Cookies()[0].Name != "quando" {
		t.Error("a browser on this machine would not keep the cookie")
	}
	if w := local.ask("POST", "/login", url.Values{"password": {"open-sesame-of-ali"}, "back": {"//evil.example.com"}}); w.Header().Get("Location") != "/" {
		t.Errorf("the login leads to %s", w.Header().Get("Location"))
	}
}

// TestLiveEnds shows that a page that listens is let go when its session ends.
func TestLiveEnds(t *testing.T) {
	d := newDesk(t)
	server := httptest.NewServer(d.console)
	defer server.Close()
	resp, err := http.Get(server.URL + "/live") //nolint:bodyclose // it is, when the test is over
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := make(chan string)
	go func() {
		buffer := make([]byte, 1000)
		for {
			n, err := resp.Body.Read(buffer)
			if err != nil {
				close(lines)
				return
			}
			lines <- string(buffer[:n])
		}
	}()
	if got := <-lines; !strings.HasPrefix(got, "retry") {
		t.Error(got)
	}
	d.console.Changed(&journal.Run{})
	if got := <-lines; got != "event: change\ndata: 1\n\n" {
		t.Error(got)
	}
	d.console.Close()
	if _, more := <-lines; more {
		t.Error("it goes on after the end")
	}
}
