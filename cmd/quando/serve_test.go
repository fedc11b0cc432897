package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

// TestGuard shows who may look at the console.
func TestGuard(t *testing.T) {
	const right, wrong = "Bearer open-sesame", "Bearer close-sesame"
	tests := []struct {
		name, listen string
		token        service.Secret
		host, auth   string
		status       int
	}{
		{"this machine", "127.0.0.1:8081", "", "127.0.0.1:8081", "", 200},
		{"this machine by its name", "localhost:8081", "", "localhost:8081", "", 200},
		{"this machine, without a port", "127.0.0.1:80", "", "localhost", "", 200},
		{"this machine by IPv6", "[::1]:8081", "", "[::1]:8081", "", 200},
		{"a name that was made to lead here", "127.0.0.1:8081", "", "evil.example.com:8081", "", 403},
		{"a name that only begins so", "127.0.0.1:8081", "", "127.0.0.1.evil.example.com", "", 403},
		{"no name", "127.0.0.1:8081", "", "", "", 403},
		{"such a name with the token", "127.0.0.1:8081", "open-sesame", "evil.example.com", right, 403},
		{"a token on this machine", "127.0.0.1:8081", "open-sesame", "127.0.0.1:8081", right, 200},
		{"none on this machine", "127.0.0.1:8081", "open-sesame", "127.0.0.1:8081", "", 401},
		{"the token elsewhere", ":8081", "open-sesame", "desk.example.com", right, 200},
		{"in small letters", ":8081", "open-sesame", "desk.example.com", "bearer open-sesame", 200},
		{"none elsewhere", ":8081", "open-sesame", "desk.example.com", "", 401},
		{"another", ":8081", "open-sesame", "desk.example.com", wrong, 401},
		{"a part of it", ":8081", "open-sesame", "desk.example.com", "Bearer open", 401},
		{"in another way", ":8081", "open-sesame", "desk.example.com", "Basic open-sesame", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := newGuard(tt.listen, tt.token)
			if err != nil {
				t.Fatal(err)
			}
			h := &health{ready: func(context.Context) error { return nil }}
			handler := consoleHandler(h, g, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
			ask := func(path string) *httptest.ResponseRecorder {
				r := httptest.NewRequest("GET", path, nil)
				r.Host = tt.host
				if tt.auth != "" {
					r.Header.Set("Authorization", tt.auth)
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				return w
			}
			w := ask("/metrics")
			if w.Code != tt.status || strings.Contains(w.Body.String(), "sesame") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%v", w.Header())
			}
			if w := ask("/healthz"); w.Code != 200 {
				t.Errorf("health: %d", w.Code)
			}
		})
	}
	for _, listen := range []string{":8081", "0.0.0.0:8081", "[::]:8081", "192.0.2.1:8081", "desk.example.com:8081"} {
		if _, err := newGuard(listen, ""); err == nil || !strings.Contains(err.Error(), "console.token") {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

// TestStopping shows that what comes while the process stops is sent back to be delivered again.
func TestStopping(t *testing.T) {
	h := &health{ready: func(context.Context) error { return nil }}
	received := 0
	counts := make(map[string]int)
	handler := publicHandler(h, map[string]http.Handler{"default": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		received++
		w.WriteHeader(http.StatusAccepted)
	})}, func(workspace string, o webhook.Outcome) { counts[workspace+" "+string(o)]++ })
	status := func(method, path string) int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("{}")))
		return w.Code
	}
	if got := []int{status("POST", "/webhook"), status("POST", "/webhook/default"), status("GET", "/readyz")}; got[0] != 202 || got[1] != 202 || got[2] != 200 {
		t.Error(got)
	}
	h.stopping.Store(true)
	if got := []int{status("POST", "/webhook"), status("POST", "/webhook/default"), status("GET", "/readyz"), status("GET", "/healthz")}; got[0] != 503 || got[1] != 503 || got[2] != 503 || got[3] != 200 {
		t.Error(got)
	}
	if received != 2 || counts["default unavailable"] != 2 {
		t.Error(received, counts)
	}
}

// TestReady shows that a process that could not record is not ready until it can.
func TestReady(t *testing.T) {
	full := errors.New("disk full")
	var disk error
	var fresh []string
	writes := 0
	r := &recorder{
		accept: func(_ context.Context, events ...rules.Event) ([]bool, error) { return make([]bool, len(events)), disk },
		write:  func(context.Context) error { writes++; return disk },
		fresh:  func(e rules.Event) { fresh = append(fresh, e.ID) },
	}
	ready := func() bool { return r.ready(t.Context()) == nil }
	if !ready() {
		t.Error("not ready at the start")
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	disk = full
	if _, err := r.record(gone, rules.Event{}); err == nil || !ready() {
		t.Error("that somebody went away says nothing about the journal")
	}
	if _, err := r.record(t.Context(), rules.Event{}); !errors.Is(err, full) || ready() {
		t.Error("ready with a full disk")
	}
	disk = nil
	if !ready() {
		t.Error("not ready although there is room again")
	}
	if before := writes; !ready() || writes != before {
		t.Error("who is ready need not try")
	}
	r.accept = func(context.Context, ...rules.Event) ([]bool, error) { return []bool{true, false, true}, nil }
	if _, err := r.record(t.Context(), rules.Event{ID: "a"}, rules.Event{ID: "b"}, rules.Event{ID: "c"}); err != nil || strings.Join(fresh, " ") != "a c" {
		t.Error(fresh, err)
	}
}
