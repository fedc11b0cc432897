package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/triggers/webhook"
)

// TestStopping shows that what comes while the process stops is sent back to be delivered again.
func TestStopping(t *testing.T) {
	h := &health{ready: func(context.Context) error { return nil }}
	received := 0
	counts := make(map[string]int)
	handler := publicHandler(h, map[string]http.Handler{"default": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		received++
		w.WriteHeader(http.StatusAccepted)
	})}, http.NotFoundHandler(), func(workspace string, o webhook.Outcome) { counts[workspace+" "+string(o)]++ })
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
	r := &Recorder{
		Accept: func(_ context.Context, events ...rules.Event) ([]bool, error) { return make([]bool, len(events)), disk },
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
	if _, err := r.Record(gone, rules.Event{}); err == nil || !ready() {
		t.Error("that somebody went away says nothing about the journal")
	}
	if _, err := r.Record(t.Context(), rules.Event{}); !errors.Is(err, full) || ready() {
		t.Error("ready with a full disk")
	}
	disk = nil
	if !ready() {
		t.Error("not ready although there is room again")
	}
	if before := writes; !ready() || writes != before {
		t.Error("who is ready need not try")
	}
	r.Accept = func(context.Context, ...rules.Event) ([]bool, error) { return []bool{true, false, true}, nil }
	if _, err := r.Record(t.Context(), rules.Event{ID: "a"}, rules.Event{ID: "b"}, rules.Event{ID: "c"}); err != nil || strings.Join(fresh, " ") != "a c" {
		t.Error(fresh, err)
	}
}
