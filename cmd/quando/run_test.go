package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
)

// signed returns the headers of a delivery that is signed with a secret.
func signed(secret, body string) map[string]string { return signedAt(secret, body, time.Now()) }

func signedAt(secret, body string, when time.Time) map[string]string {
	at := strconv.FormatInt(when.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "." + body))
	return map[string]string{"X-Service-Timestamp": at, "X-Service-Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

const delivery = `{"id":"e1","type":"something.new","created_at":"2027-01-15T08:00:00Z","data":{"conversation":{"id":"c1"}}}`

// TestRunRecords receives what the real service delivers, refuses what it did not, and counts both.
func TestRunRecords(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	o.start(o.service())
	o.writes("+5511988887777", "hello")
	o.shows(
		`quando_events_total{type="message.received",workspace="default"} 1`, `quando_events_total{type="attendance.opened",workspace="default"} 1`,
		`quando_rules_loaded{workspace="default"} 1`, `quando_rules_broken{workspace="default"} 0`, `quando_runs{state="waiting"} 0`,
	)
	for _, tt := range []struct {
		name   string
		header map[string]string
		status int
	}{
		{"signed with another secret", signed("guess", delivery), 401},
		{"not signed", nil, 401},
		{"of a type that nobody knows", signed(string(o.secret), delivery), 202},
		{"again", signed(string(o.secret), delivery), 200},
	} {
		if got, _ := o.asks("POST", o.public+"/webhook", tt.header, delivery); got != tt.status {
			t.Errorf("%s: %d", tt.name, got)
		}
	}
	o.shows(
		`quando_deliveries_total{outcome="bad_signature",workspace="default"} 1`, `quando_deliveries_total{outcome="unsigned",workspace="default"} 1`,
		`quando_deliveries_total{outcome="duplicate",workspace="default"} 1`, `quando_deliveries_total{outcome="stale",workspace="default"} 0`,
		`quando_events_total{type="other",workspace="default"} 1`,
	)
	if code := o.stop(); code != 0 {
		t.Errorf("it ended with %d\n%s", code, o.log)
	}
	j, err := storage.Open(t.Context(), filepath.Join(o.folder, "quando.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	e, err := j.FindEvent(t.Context(), "default", "e1")
	if err != nil || e.Lane != "conversation:c1" {
		t.Errorf("%+v %v", e, err)
	}
	if events, err := j.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}); err != nil || len(events) != 1 {
		t.Errorf("%v %v", events, err)
	}
	for _, secret := range []string{string(o.secret), o.address.APIKey} {
		if o.log.Contains(secret) || o.out.Contains(secret) {
			t.Error("a secret was printed")
		}
	}
}

// TestRunAddresses shows who is told what where: the public address tells nothing but its health.
func TestRunAddresses(t *testing.T) {
	o := newOffice(t)
	o.start(o.service() + "\nconsole: { listen: \"127.0.0.1:0\", token: open-sesame }")
	bearer := map[string]string{"Authorization": "Bearer open-sesame"}
	for _, tt := range []struct {
		method, address string
		header          map[string]string
		status          int
	}{
		{"GET", o.public + "/healthz", nil, 200}, {"GET", o.public + "/readyz", nil, 200}, {"GET", o.console + "/healthz", nil, 200}, {"GET", o.console + "/readyz", nil, 200},
		{"GET", o.public + "/metrics", bearer, 404}, {"GET", o.public + "/", nil, 404}, {"GET", o.public + "/webhook", nil, 405},
		{"POST", o.public + "/webhook/default", nil, 401}, {"POST", o.public + "/webhook/nobody", nil, 401}, {"POST", o.console + "/webhook", bearer, 404},
		{"GET", o.console + "/metrics", nil, 401}, {"GET", o.console + "/metrics", bearer, 200},
		{"GET", o.console + "/metrics", map[string]string{"Authorization": "Bearer open-sesam"}, 401},
	} {
		if got, _ := o.asks(tt.method, tt.address, tt.header, ""); got != tt.status {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.address, got, tt.status)
		}
	}
	if o.log.Contains("sesame") {
		t.Error("the token is in the log")
	}
	o.isWell("alive\n", "health")
	o.isWell("ready\n", "health", "--ready")
}

// isWell asks the quando that runs how it is, as a container does.
func (o *office) isWell(want string, args ...string) {
	o.t.Helper()
	_, address, _ := strings.Cut(o.public, "://")
	_, port, _ := strings.Cut(address, ":")
	o.t.Setenv("QUANDO_LISTEN", ":"+port)
	if code, out, errOut := quando(o.t, append(args, "--config", filepath.Join(o.folder, "quando.yaml"))...); code != 0 || out != want {
		o.t.Errorf("%s: %d %q %s", args, code, out, errOut)
	}
}

// TestRunReloads shows that a change of the rules is in use without a restart, that a mistake is
// isolated, and that SIGHUP reads them anew.
func TestRunReloads(t *testing.T) {
	o := newOffice(t)
	o.start(o.service())
	o.logs("there are no rules", nil)
	o.write("rules/r.yaml", "rules:\n"+clitest.Rule("a", "a1")+clitest.Rule("b", "b1"))
	o.shows(`quando_rules_loaded{workspace="default"} 2`)
	o.write("rules/r.yaml", "rules:\n  - { id: a, when: nonsense, do: [{ log: x }] }\n"+clitest.Rule("b", "b2"))
	o.shows(`quando_rules_loaded{workspace="default"} 2`, `quando_rules_broken{workspace="default"} 1`)
	o.logs("rules reloaded", map[string]any{"broken": "a", "changed": "b"})
	o.logs("problem in the rules", map[string]any{"rule": "a", "level": "ERROR"})
	me, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := me.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, func() (bool, string) { return strings.Count(o.log.String(), "rules reloaded") == 3, o.log.String() })
}

// TestRunTicks shows that schedules tick, also those that come with a reload, and that a stop keeps
// them.
func TestRunTicks(t *testing.T) {
	o := newOffice(t)
	o.start(o.service())
	o.write("rules/r.yaml", "rules:\n  - { id: tick, when: { every: 1s }, do: [{ log: x }] }\n")
	clitest.Eventually(t, func() (bool, string) {
		_, text := o.asks("GET", o.console+"/metrics", nil, "")
		return strings.Contains(text, `quando_events_total{type="schedule",workspace="default"}`), text
	})
	if code := o.stop(); code != 0 {
		t.Error(code)
	}
	j, err := storage.Open(t.Context(), filepath.Join(o.folder, "quando.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	events, err := j.ListEvents(t.Context(), journal.EventFilter{Type: "schedule"})
	if err != nil || len(events) == 0 || events[0].Rule != "tick" || events[0].Lane != "schedule:tick" {
		t.Errorf("%v %v", events, err)
	}
	if at, err := j.Cursor(t.Context(), "schedule/default/tick"); at == "" || err != nil {
		t.Errorf("%q %v", at, err)
	}
}

// TestRunStrict shows that --strict does not start with a rule that is wrong, and says of it what
// check says; check adds what the key needs.
func TestRunStrict(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - { id: a, when: nonsense, do: [{ log: x }] }\n"+clitest.Rule("b", "b1"))
	config := o.config(o.service())
	_, want, _ := quando(t, "check", filepath.Join(o.folder, "rules"))
	code, out, errOut := quando(t, "run", "--config", config, "--strict")
	if code != cli.ExitNo || !strings.HasPrefix(want, out) || !strings.Contains(out, "r.yaml:2:20: rule \"a\"") {
		t.Errorf("%d\n%s\nwant\n%s\n%s", code, out, want, errOut)
	}
	o.start(o.service())
	o.logs("rules loaded", map[string]any{"rules": 1, "broken": "a"})
}

// TestRunWorkspaces runs two companies beside each other, without a default one.
func TestRunWorkspaces(t *testing.T) {
	o := newOffice(t)
	o.write("rules/acme/r.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	o.write("rules/zeta/r.yaml", "rules:\n"+clitest.Rule("a", "a1")+clitest.Rule("b", "b1"))
	o.start("workspaces:\n  acme: { " + o.service() + " }\n  zeta: { " + o.service() + " }")
	o.deliverTo("/webhook/zeta")
	o.writes("+5511988887777", "hello")
	o.shows(
		`quando_rules_loaded{workspace="acme"} 1`, `quando_rules_loaded{workspace="zeta"} 2`, `quando_events_total{type="message.received",workspace="zeta"} 1`,
		`quando_deliveries_total{outcome="recorded",workspace="acme"} 0`,
	)
	if got, _ := o.asks("POST", o.public+"/webhook", signed(string(o.secret), delivery), delivery); got != 401 {
		t.Errorf("there is no default workspace: %d", got)
	}
}

// TestRunRefuses shows what it does not start with, and that it says what to do.
func TestRunRefuses(t *testing.T) {
	o := newOffice(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct{ name, config, want string }{
		{"an open console", o.service() + "\nconsole: { listen: \":0\" }", "set console.token"},
		{"no service", "", "base_url is missing"},
		{"a workspace without a service", o.service() + "\nworkspaces: { acme: { } }", "workspace acme: service: base_url is missing"},
		{"a port that is taken", o.service() + "\nconsole: { listen: \"" + taken.Addr().String() + "\" }", "console.listen"},
		{"a journal in a folder that is not there", o.service() + "\njournal: nowhere/quando.db\nconsole: { listen: \"127.0.0.1:0\" }", "nowhere"},
		{"a host that is none", o.service() + "\nhttp_request: { allow: [\"https://example.com/x\"] }", "example.com"},
		{"headers for a host that rules may not call", o.service() + "\nhttp_request: { allow: [a.example.com], headers: { b.example.com: { X: y } } }", "add it to http_request.allow"},
		{"a header that cannot be sent", o.service() + "\nhttp_request: { allow: [a.example.com], headers: { a.example.com: { X: \"y\\nz\" } } }", "the header X has a line break"},
		{"an unknown key", o.service() + "\nlisten_on: x", "listen_on"},
	} {
		code, out, errOut := quando(t, "run", "--config", o.config(tt.config))
		if code != cli.ExitError || out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%s: %d %s %s", tt.name, code, out, errOut)
		}
	}
	if code, _, errOut := quando(t, "run", "--config", filepath.Join(o.folder, "none.yaml")); code != cli.ExitError || !strings.Contains(errOut, "none.yaml") {
		t.Errorf("%d %s", code, errOut)
	}

	// One journal has one engine.
	o.start(o.service())
	code, _, errOut := quando(t, "run", "--config", o.config(o.service()+"\nconsole: { listen: \"127.0.0.1:0\" }"))
	if code != cli.ExitError || !strings.Contains(errOut, "quando.db") {
		t.Errorf("%d %s", code, errOut)
	}
}

// TestRunClock shows that a clock that disagrees with the service's is told, and that a service
// that cannot be reached does not keep it from starting.
func TestRunClock(t *testing.T) {
	off := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-30*time.Minute).UTC().Format(http.TimeFormat))
		fmt.Fprint(w, `{"id":"2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d"}`)
	}))
	defer off.Close()
	o := newOffice(t)
	o.start(fmt.Sprintf("service: { base_url: %q, api_key: k }", off.URL))
	clitest.Eventually(t, func() (bool, string) {
		return o.log.Contains("clock and the service's disagree") && o.log.Contains(`"ahead":"30m`), o.log.String()
	})
	o.logs("no signing secret is known, so every delivery is refused; set service.webhook.public_url, so that the webhook is looked after, or service.webhook.secrets", map[string]any{"workspace": "default"})
	o.stop()

	o.start(`service: { base_url: "http://127.0.0.1:1", api_key: k }`)
	o.logs("the service does not answer as it should; the engine starts all the same", nil)
	if got, _ := o.asks("GET", o.public+"/readyz", nil, ""); got != 200 {
		t.Error(got)
	}
	o.stop()

	o.start(o.service())
	clitest.Eventually(t, func() (bool, string) { return o.log.Contains(`"op":"GET /me","status":200`), o.log.String() })
	if o.stop(); o.log.Contains("disagree") || o.log.Contains("does not answer") {
		t.Error(o.log)
	}
}

// TestRunSignals stops a real process: one signal lets it finish and ends with 0, a second one ends
// it at once.
func TestRunSignals(t *testing.T) {
	o := newOffice(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		o.log = &clitest.Buffer{}
		// Under this name the test's own binary is the command.
		c := &exec.Cmd{Path: program, Args: []string{"quando", "run", "--config", o.config(o.service() + "\nconsole: { listen: \"127.0.0.1:0\" }")}, Stderr: o.log}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		o.logs("listening", nil)
		o.public = o.logged("listening")["webhooks"].(string)
		return c
	}
	c := start()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, o.log)
	}
	o.logs("stopped", nil)

	// Somebody who is slow to deliver is waited for, but not by who is in a hurry.
	c = start()
	conn, err := net.Dial("tcp", strings.TrimPrefix(o.public, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nX-Service-Timestamp: %d\r\nX-Service-Signature: sha256=%064d\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n", time.Now().Unix(), 0)
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it is listened to
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	clitest.Eventually(t, func() (bool, string) {
		_ = c.Process.Signal(syscall.SIGTERM) // the second one may come before the first was heard
		select {
		case err := <-ended:
			ended <- err
			return true, ""
		default:
			return false, "it goes on\n" + o.log.String()
		}
	})
	if exit, ok := errors.AsType[*exec.ExitError](<-ended); !ok || exit.Exited() {
		t.Errorf("it was not ended by the signal: %v\n%s", exit, o.log)
	}
}

// What rules do with what was recorded is the engine's own affair; tests of it in a running
// process, such as a reply that reaches the customer, begin with newOffice, start and writes, and
// end with a look at sandbox.Effects.
