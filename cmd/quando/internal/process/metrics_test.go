package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// TestMetrics passes an engine's notifications to an observer, and reads the metrics as Prometheus
// does.
func TestMetrics(t *testing.T) {
	file := filepath.Join(t.TempDir(), "quando.db")
	j, err := storage.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Hold(t.Context(), journal.Hold{Workspace: "acme", Rule: "r", Kind: journal.HoldSafety, Since: time.Now()}); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	at := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	m := newMetrics(j, file, func() time.Time { return at })
	able := errors.New("the disk is full")
	m.ready, m.expires = func(context.Context) error { return able }, func() time.Time { return at.Add(time.Hour) }
	if _, err := j.Accept(t.Context(), []rules.Event{{Workspace: "acme", ID: "e", Type: "message.received", Lane: "conversation:c1", CreatedAt: at.Add(-time.Hour), ReceivedAt: at.Add(-90 * time.Second)}}); err != nil {
		t.Fatal(err)
	}
	var o engine.Observer = observers{m, runLog{slog.New(slog.NewTextHandler(&log, nil))}}

	m.recorded(rules.Event{Workspace: "acme", Type: "message.received", CreatedAt: at.Add(-time.Minute), ReceivedAt: at.Add(-50 * time.Second)})
	m.recorded(rules.Event{Workspace: "acme", Type: "invented.1"})
	m.recorded(rules.Event{Workspace: "acme", Type: "invented.2"})
	o.Decided(&journal.Event{Event: rules.Event{Workspace: "acme", ReceivedAt: at}, Verdicts: []journal.Verdict{{Rule: "g", Outcome: journal.Fired}}, Answers: journal.Answers{journal.GatherNow("g"): []byte("1")}})
	o.Decided(&journal.Event{Event: rules.Event{Workspace: "acme", ReceivedAt: at.Add(-2 * time.Second)}, Verdicts: []journal.Verdict{{Rule: "r", Outcome: journal.Fired}, {Rule: "q", Outcome: journal.False, Stage: rules.Shadow}}})
	run := &journal.Run{ID: 7, Workspace: "acme", Rule: "r", Stage: rules.Live, State: journal.Running, Home: "conversation:c1"}
	o.Began(run, &journal.Event{})
	o.Changed(run)
	run.State, run.Reason = journal.FailedRun, "no such label"
	o.Changed(run)
	o.Changed(&journal.Run{ID: 8, Workspace: "acme", Rule: "q", Stage: rules.Shadow, State: journal.Done})
	for _, err := range []error{
		nil, errors.New("x"), actions.Permanent(errors.New("x")), actions.Uncertain(errors.New("x")), actions.Held(errors.New("x")),
		actions.RetryAfter(time.Second, errors.New("x")), actions.Stale(errors.New("x")),
	} {
		o.Called("acme", "send_message", 30*time.Millisecond, err)
	}
	o.Held(journal.Hold{Workspace: "acme", Kind: journal.HoldKey, Reason: "the service refuses the key"})
	o.Lifted(journal.Hold{Workspace: "acme", Kind: journal.HoldKey})

	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`quando_events_total{type="message.received",workspace="acme"} 1`, `quando_events_total{type="other",workspace="acme"} 2`,
		`quando_verdicts_total{outcome="fired",rule="r",stage="live",workspace="acme"} 1`, `quando_verdicts_total{outcome="false",rule="q",stage="shadow",workspace="acme"} 1`,
		`quando_runs_total{rule="r",stage="live",state="began",workspace="acme"} 1`, `quando_runs_total{rule="r",stage="live",state="failed",workspace="acme"} 1`,
		`quando_runs_total{rule="q",stage="shadow",state="done",workspace="acme"} 1`,
		`quando_calls_total{result="ok",verb="send_message",workspace="acme"} 1`, `quando_calls_total{result="retry",verb="send_message",workspace="acme"} 1`,
		`quando_calls_total{result="failed",verb="send_message",workspace="acme"} 1`, `quando_calls_total{result="uncertain",verb="send_message",workspace="acme"} 1`,
		`quando_calls_total{result="held",verb="send_message",workspace="acme"} 1`, `quando_calls_total{result="paused",verb="send_message",workspace="acme"} 1`,
		`quando_calls_total{result="stale",verb="send_message",workspace="acme"} 1`, `quando_call_seconds_count{verb="send_message",workspace="acme"} 7`,
		`quando_held{kind="safety",rule="r",workspace="acme"} 1`, `quando_runs{state="uncertain"} 0`, "quando_build_info{", "go_goroutines ",
		`quando_lag_seconds 90`, `quando_ready 0`, `quando_journal_events 1`, "quando_journal_free_bytes ", fmt.Sprintf("quando_tls_expires_timestamp_seconds %g", float64(at.Add(time.Hour).Unix())),
		fmt.Sprintf("quando_journal_oldest_timestamp_seconds %g", float64(at.Add(-90*time.Second).Unix())),
		`quando_delivery_age_seconds_sum{workspace="acme"} 10`, `quando_decide_seconds_sum{workspace="acme"} 2`, `quando_decide_seconds_count{workspace="acme"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	if body := w.Body.String(); strings.Contains(body, "quando_journal_bytes 0\n") || strings.Contains(body, "invented") || strings.Contains(body, `state="running",workspace`) {
		t.Error(body)
	}
	if _, err := j.Hold(t.Context(), journal.Hold{Workspace: "acme", Kind: journal.HoldPerson, Since: time.Now()}); err != nil {
		t.Fatal(err)
	}
	able = nil
	w = httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if body := w.Body.String(); !strings.Contains(body, "quando_lag_seconds 0\n") || !strings.Contains(body, "quando_ready 1\n") {
		t.Error("what is stopped is not late, and who can record is ready\n" + body)
	}
	for _, want := range []string{
		`level=ERROR msg="run failed" workspace=acme rule=r run=7 lane=conversation:c1 state=failed stage=live steps=0`,
		`level=INFO msg="run finished" workspace=acme rule=q run=8`, `level=ERROR msg="hold placed" workspace=acme rule="" kind=key reason="the service refuses the key"`,
		`level=INFO msg="hold lifted" workspace=acme`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in\n%s", want, log.String())
		}
	}
}

// TestMetricsWithoutJournal shows that what cannot be read is left out, and the rest is not.
func TestMetricsWithoutJournal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "quando.db")
	j, err := storage.Open(context.Background(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	m := newMetrics(j, file, time.Now)
	m.rulesOf("acme", &rules.Set{})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if body := w.Body.String(); w.Code != 200 || strings.Contains(body, "quando_runs{") || !strings.Contains(body, `quando_rules_loaded{workspace="acme"} 0`) {
		t.Errorf("%d %s", w.Code, body)
	}
}
