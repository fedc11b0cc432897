package service

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no address":      {APIKey: "k"},
		"no scheme":       {BaseURL: "service.example.com/v1", APIKey: "k"},
		"other scheme":    {BaseURL: "ftp://service.example.com", APIKey: "k"},
		"a password":      {BaseURL: "https://me:hidden@service.example.com", APIKey: "k"},
		"a query":         {BaseURL: "https://service.example.com/?a=b", APIKey: "k"},
		"not an address":  {BaseURL: "https://me:hidden@%zz", APIKey: "k"},
		"no key":          {BaseURL: "https://service.example.com"},
		"a key in pieces": {BaseURL: "https://service.example.com", APIKey: "hidden\nkey"},
		"a bad profile":   {BaseURL: "https://service.example.com", APIKey: "k", Profile: &Profile{}},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBaseAddress(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.EscapedPath()
		answer(200, jsonConversation)(w, r)
	}))
	defer srv.Close()
	for base, want := range map[string]string{
		"":               "/conversations/1",
		"/":              "/conversations/1",
		"/v1":            "/v1/conversations/1",
		"/desk/api/v1/":  "/desk/api/v1/conversations/1",
		"/a%2Fb/v1":      "/a%2Fb/v1/conversations/1",
		"/caf%C3%A9/v1/": "/caf%C3%A9/v1/conversations/1",
	} {
		c, err := New(Options{BaseURL: srv.URL + base, APIKey: testKey})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetConversation(t.Context(), "1"); err != nil || got != want {
			t.Errorf("base %q asks for %s (%v), want %s", base, got, err, want)
		}
		if _, err := c.GetConversation(t.Context(), "1/../2?x"); err != nil || got != strings.TrimSuffix(want, "1")+"1%2F..%2F2%3Fx" {
			t.Errorf("base %q: an id with a slash asks for %s (%v)", base, got, err)
		}
	}
}

func TestExposed(t *testing.T) {
	for base, want := range map[string]bool{
		"https://service.example.com": false, "http://service.example.com": true, "http://127.0.0.1:9090/v1": false, "http://localhost": false, "http://[::1]:80": false, "http://10.0.0.1": true,
	} {
		c, err := New(Options{BaseURL: base, APIKey: testKey})
		if err != nil || c.Exposed() != want {
			t.Errorf("%s: exposed %v, %v; want %v", base, c.Exposed(), err, want)
		}
	}
}

func TestConnectionsAreKept(t *testing.T) {
	addresses := map[string]bool{}
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		addresses[r.RemoteAddr] = true
		status := 201
		if len(r.URL.Path)%2 == 0 {
			status = 404
		}
		answer(status, jsonMessage+"\n\n")(w, r)
	})
	for range 5 {
		_ = send(c)
		_ = read(c)
	}
	if len(addresses) != 1 {
		t.Errorf("%d connections for calls one after another, want 1", len(addresses))
	}
}

// The limit of 64 KiB is for JSON; a file may be larger, and is not held in memory.
func TestUploadOfUnknownSize(t *testing.T) {
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content)
	c := setup(t, described(t, func(w http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		got, _ := io.ReadAll(f)
		if !bytes.Equal(got, content) || h.Filename != `a "b".bin` {
			t.Errorf("got %d bytes named %s", len(got), h.Filename)
		}
		answer(201, jsonMedia)(w, r)
	}))
	m, err := c.UploadMedia(t.Context(), File{Name: `a "b".bin`, Content: io.MultiReader(bytes.NewReader(content))})
	if err != nil || m.ID != idMedia {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestScopeOf(t *testing.T) {
	p := DefaultProfile()
	for _, tc := range []struct {
		method, path, want string
		known              bool
	}{
		{"GET", "/me", "", true},
		{"POST", "/conversations/{id}/messages", "messages:send", true},
		{"POST", "/conversations/" + idConv + "/messages", "messages:send", true},
		{"GET", "/integrations/webhooks/events", "webhooks:manage", true},
		{"GET", "/conversations/", "", false},
		{"DELETE", "/conversations/1", "", false},
		{"POST", "/kanban/cards", "", false},
	} {
		if got, ok := ScopeOf(tc.method, tc.path); got != tc.want || ok != tc.known {
			t.Errorf("%s %s: %q, %v; want %q, %v", tc.method, tc.path, got, ok, tc.want, tc.known)
		}
	}
	if got, ok := p.ScopeOf("POST", "/kanban/cards/1/move"); got != "write" || !ok {
		t.Errorf("the profile's move needs %q, %v", got, ok)
	}
	clash := []Operation{{"GET", "/a/b", "literal"}, {"GET", "/a/{id}", "placeholder"}}
	if got, _ := scopeOf(clash, "GET", "/a/b"); got != "literal" {
		t.Errorf("a placeholder beats the name itself: %q", got)
	}
	if len(table) != 39 {
		t.Errorf("%d operations; the reference has 39", len(table))
	}
}

// The description and the table of operations say the same, in both directions.
func TestDescriptionHasEveryOperation(t *testing.T) {
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	p := DefaultProfile()
	described := 0
	for _, item := range doc.Paths.Map() {
		described += len(item.Operations())
	}
	for _, o := range p.Operations() {
		item := doc.Paths.Value(o.Path)
		if item == nil || item.GetOperation(o.Method) == nil {
			t.Errorf("%s is not described", o)
			continue
		}
		if scope := item.GetOperation(o.Method).Extensions["x-scope"]; scope != o.Scope {
			t.Errorf("%s is described with the scope %q, want %q", o, scope, o.Scope)
		}
	}
	if described != len(p.Operations()) {
		t.Errorf("%d operations are described, %d are known", described, len(p.Operations()))
	}
}

// BenchmarkSend measures a call without the network.
func BenchmarkSend(b *testing.B) {
	body := []byte(jsonMessage)
	c, err := New(Options{BaseURL: "https://service.example.com/v1", APIKey: testKey, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: 201, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, nil
	})})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := send(c); err != nil {
			b.Fatal(err)
		}
	}
}
