package session

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// cheapHash is a hash of "correct horse" that takes little time.
var cheapHash = hash{memory: 8 * 1024, time: 1, threads: 1, salt: make([]byte, saltLength)}.String("correct horse")

// newGate returns a gate that requires a login, with a fixed clock.
func newGate(t *testing.T, now *time.Time) *Gate {
	t.Helper()
	g, err := New(Access{Listen: "0.0.0.0:8081", Token: "open-sesame-of-ali", Users: map[string]User{
		"vera": {cheapHash, Viewer}, "olga": {cheapHash, Operator},
	}}, func() time.Time { return *now })
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestNewAccess shows which settings are refused.
func TestNewAccess(t *testing.T) {
	hash := hashOf(t, "correct horse")
	for _, tt := range []struct {
		name   string
		access Access
		ok     bool
	}{
		{"this machine", Access{Listen: "127.0.0.1:8081"}, true},
		{"this machine by its name", Access{Listen: "localhost:8081"}, true},
		{"every machine", Access{Listen: ":8081"}, false},
		{"every machine, IPv6", Access{Listen: "[::]:8081"}, false},
		{"an address", Access{Listen: "192.0.2.1:8081"}, false},
		{"every machine with a token", Access{Listen: ":8081", Token: "0123456789abcdef"}, true},
		{"every machine with a token of one character", Access{Listen: ":8081", Token: "t"}, false},
		{"every machine with a short token", Access{Listen: ":8081", Token: "0123456789abcde"}, false},
		{"every machine with a short token with spaces around it", Access{Listen: ":8081", Token: "  0123456789abcd  "}, false},
		{"a short token behind a proxy", Access{Listen: "127.0.0.1:8081", Token: "t", ForwardedFor: "X-Real-IP"}, false},
		{"a short token under another name", Access{Listen: "127.0.0.1:8081", Token: "t", Hosts: []string{"desk.example.com"}}, false},
		{"this machine with a short token", Access{Listen: "127.0.0.1:8081", Token: "t"}, true},
		{"a token of spaces", Access{Listen: "127.0.0.1:8081", Token: "  "}, false},
		{"every machine with users", Access{Listen: ":8081", Users: map[string]User{"ana": {hash, Viewer}}}, true},
		{"a password that is no hash", Access{Listen: ":8081", Users: map[string]User{"ana": {"secret", Viewer}}}, false},
		{"a hash that is too cheap", Access{Listen: ":8081", Users: map[string]User{"ana": {strings.Replace(hash, "m=65536", "m=16", 1), Viewer}}}, false},
		{"a user without a role", Access{Listen: ":8081", Users: map[string]User{"ana": {hash, Nobody}}}, false},
	} {
		if _, err := New(tt.access, time.Now); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		} else if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s tells the password: %v", tt.name, err)
		}
	}
	if _, err := HashPassword("short"); err == nil {
		t.Error("a short password was taken")
	}
}

// TestSessionsAreBounded shows that a session ends in time, and that one too many of a person ends
// the oldest of the same person alone.
func TestSessionsAreBounded(t *testing.T) {
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	g := newGate(t, &now)
	enter := func(name string, role Role) *http.Request {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		g.Enter(w, r, name, role)
		for _, c := range w.Result().Cookies() {
			r.AddCookie(c)
		}
		return r
	}
	olga, first := enter("olga", Operator), enter("token", Operator)
	now = now.Add(time.Second)
	var last *http.Request
	for range 1500 {
		last = enter("token", Operator)
	}
	for name, tt := range map[string]struct {
		session *http.Request
		want    bool
	}{"of somebody else": {olga, true}, "the last": {last, true}, "the first of 1500": {first, false}} {
		if who := g.session(tt.session); (who != nil) != tt.want {
			t.Errorf("the session %s: %v", name, who)
		}
	}
	if n := len(g.sessions); n > sessionsEach+1 {
		t.Errorf("%d sessions are kept", n)
	}
	now = now.Add(sessionLength)
	if who := g.session(last); who == nil {
		t.Error("a session ends too early")
	}
	now = now.Add(time.Second)
	if who := g.session(last); who != nil {
		t.Error("a session has no end")
	}
}
