package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

const supervisor = "+5511999990000"

// An alertReceiver is a webhook of the team.
type alertReceiver struct {
	*httptest.Server
	mu   sync.Mutex
	kind []string
}

func newAlertReceiver(t *testing.T) *alertReceiver {
	a := &alertReceiver{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.kind = append(a.kind, r.Header.Get("X-Quando-Event"))
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *alertReceiver) kinds() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.kind)
}

func (a *alertReceiver) config() string {
	return fmt.Sprintf("\npeople: { Carla: { phone: %q, channel: Main } }\nalerts: { people: [Carla], webhook: { url: \"%s/hooks/swordfish\", secret: open-sesame-of-alerts }, linger: 1s }\nconsole: { listen: \"127.0.0.1:0\", public_url: \"https://quando.example.com\" }", supervisor, a.URL)
}

// alerted returns the texts of alerts that the service has sent.
func (o *office) alerted() (list []string) {
	for _, e := range o.sandbox.Effects() {
		if strings.Contains(string(e.Request), "Quando: ") {
			list = append(list, string(e.Request))
		}
	}
	return list
}

// tellsAlerts waits until both ways have told so many messages.
func (o *office) tellsAlerts(a *alertReceiver, kinds ...string) {
	o.t.Helper()
	clitest.Eventually(o.t, func() (bool, string) {
		got, sent := a.kinds(), o.alerted()
		return slices.Equal(got, kinds) && len(sent) == len(kinds), fmt.Sprintf("%q %q\n%s", got, sent, o.log)
	})
}

// TestAlerting shows that the team is told of a failed run and of a stop of everything, on a phone
// and by a webhook, once; that no rule starts for it, not even one that takes chats of our own; and
// that a test can be sent from the console and the command line.
func TestAlerting(t *testing.T) {
	t.Parallel()
	o, a := newOffice(t), newAlertReceiver(t)
	o.write("rules/r.yaml", `rules:
  - { id: breaks, name: Ask nobody, when: message.received, do: [{ transfer: { person: Nobody Atall } }] }
  - { id: echo, when: message.sent, internal: run, from: any, do: [{ log: sent }] }
  - { id: news, when: conversation.updated, internal: run, from: any, do: [{ log: changed }] }
`)
	o.start(o.service() + a.config())
	o.writes("+5511988887777", "a secret of the customer's")
	o.tellsAlerts(a, "alert")
	if got := o.alerted()[0]; !strings.Contains(got, "“Ask nobody” for Ana failed") || !strings.Contains(got, "https://quando.example.com/") || strings.Contains(got, "secret of") || strings.Contains(got, "88887777") {
		t.Error(got)
	}

	// What it causes at the service starts no rule, not even one of such chats.
	if err := o.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, func() (bool, string) {
		_, out, errOut := quando(t, "events", "--config", o.config(o.service()+a.config()), "--output", "json")
		return strings.Count(out, "an alert to the team did this") >= 2, out + errOut
	})

	// Everything is stopped, and that is told too.
	if status, text := o.asks("POST", o.console+"/pause", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, url.Values{"reason": {"flood"}}.Encode()); status != 200 && status != 303 {
		t.Fatal(status, text)
	}
	o.tellsAlerts(a, "alert", "alert")
	if got := o.alerted()[1]; !strings.Contains(got, "Everything is stopped") {
		t.Error(got)
	}
	if _, text := o.asks("GET", o.console+"/health", nil, ""); !strings.Contains(text, "Told outside of the console") || !strings.Contains(text, "<bdi>Carla</bdi>") || strings.Contains(text, "swordfish") {
		t.Error(text)
	}
	if status, text := o.asks("POST", o.console+"/alerts/test", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "back=/health"); status != 200 || strings.Count(text, ": sent.") != 2 {
		t.Error(status, text)
	}
	o.tellsAlerts(a, "alert", "alert", "test")
	code, out, errOut := quando(t, "alerts", "test", "--config", o.config(o.service()+a.config()))
	if code != 0 || !strings.Contains(out, "Carla: sent\n") {
		t.Error(code, out, errOut)
	}
	if err := o.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.tellsAlerts(a, "alert", "alert", "test", "test")
	if code := o.stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}

	// After a restart nothing is told again.
	o.start(o.service() + a.config())
	time.Sleep(2500 * time.Millisecond)
	o.tellsAlerts(a, "alert", "alert", "test", "test")
	o.stop()
	j, err := storage.Open(t.Context(), o.folder+"/quando.db", true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, rule := range []string{"echo", "news"} {
		runs, err := j.ListRuns(t.Context(), journal.RunFilter{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			who, err := j.Who(t.Context(), "default", []string{r.Home})
			if err != nil || who[r.Home].Phone == supervisor {
				t.Errorf("a run of %s for an alert: %+v %v", rule, r, err)
			}
		}
	}
	entries, err := j.Audits(t.Context(), 0, 10)
	if err != nil || !slices.ContainsFunc(entries, func(e journal.AuditEntry) bool { return e.What == "test_alerts" }) {
		t.Errorf("%v %v", entries, err)
	}
	state, err := j.Cursor(t.Context(), "alerts")
	for _, secret := range []string{"swordfish", "open-sesame", "Ana\"", supervisor, "secret of"} {
		if o.log.Contains(secret) || strings.Contains(state, secret) || err != nil {
			t.Errorf("%s is in the log or the journal: %v", secret, err)
		}
	}
}

// TestAlertingShared shows that of two engines that share a journal one tells, and the other when
// the first is gone.
func TestAlertingShared(t *testing.T) {
	t.Parallel()
	o, a := newOffice(t), newAlertReceiver(t)
	other := &office{t: t, sandbox: o.sandbox, address: o.address, secret: o.secret, folder: t.TempDir()}
	t.Cleanup(func() {
		if other.end != nil {
			other.stop()
		}
	})
	extra := o.service() + a.config() + fmt.Sprintf("\njournal: %q", postgrestest.Shared(t).Database(t))
	for _, of := range []*office{o, other} {
		of.write("rules/r.yaml", "rules:\n  - { id: breaks, when: message.received, do: [{ transfer: { person: Nobody Atall } }] }\n")
		of.start(extra)
	}
	o.writes("+5511988887777", "hello")
	o.tellsAlerts(a, "alert")
	if code, _, errOut := quando(t, "pause", "--config", o.config(extra)); code != 0 {
		t.Fatal(errOut)
	}
	o.tellsAlerts(a, "alert", "alert")
	o.stop()
	_, out, _ := quando(t, "resume", "--config", other.config(extra))
	_, ids, _ := quando(t, "runs", "--config", other.config(extra), "--state", "failed")
	id, _, _ := strings.Cut(strings.TrimSpace(strings.SplitAfterN(ids, "\n", 2)[1]), " ")
	if status, text := other.asks("POST", other.console+"/failed/dealt", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "runs="+id); status != 200 {
		t.Fatal(out, ids, status, text)
	}
	other.tellsAlerts(a, "alert", "alert", "all_clear")
}
