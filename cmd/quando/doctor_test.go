package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

const doctorRules = "rules:\n  - { id: hello, when: message.received, if: 'contact.name != \"x\"', do: [{ send_message: Hello }, { add_labels: [vip] }] }\n"

// A clinic is an office with a doctor.
type clinic struct {
	*office
	front  string // where the service delivers to
	config string
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	o := newOffice(t)
	o.write("rules/r.yaml", doctorRules)
	hooks, err := serviceOf(t, o).ListWebhooks(t.Context())
	if err != nil || len(hooks) != 1 {
		t.Fatal(hooks, err)
	}
	return &clinic{office: o, front: hooks[0].URL, config: filepath.Join(o.folder, "quando.yaml")}
}

func serviceOf(t *testing.T, o *office) *service.Client {
	t.Helper()
	c, err := service.New(service.Options{BaseURL: o.address.BaseURL, APIKey: service.Secret(o.address.APIKey)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// settings is the service part of the configuration, with some of it changed.
func (c *clinic) settings(key, secret string, more ...string) string {
	return fmt.Sprintf("service: { base_url: %q, api_key: %q, webhook: { secrets: [%q], public_url: %q }%s }", c.address.BaseURL, key, secret, c.front, strings.Join(more, ""))
}

func (c *clinic) right() string { return c.settings(c.address.APIKey, string(c.secret)) }

// startAlone starts an engine that does not look after the webhook, for a doctor who finds what is
// wrong with it.
func (c *clinic) startAlone() { c.startWith(string(c.secret)) }

// startWith is startAlone with another secret.
func (c *clinic) startWith(secret string) {
	c.t.Helper()
	c.start(fmt.Sprintf("service: { base_url: %q, api_key: %q, webhook: { secrets: [%q] } }", c.address.BaseURL, c.address.APIKey, secret))
	c.office.config(c.settings(c.address.APIKey, secret) + "\nconsole: { listen: \"127.0.0.1:0\" }")
}

// finds runs the doctor and expects a fault of one check, in these words, with how to mend it, and
// no other.
func (c *clinic) finds(check, status, message, mend string) {
	c.t.Helper()
	began := time.Now()
	code, out, errOut := quando(c.t, "doctor", "--config", c.config, "--output", "json")
	var report struct {
		Checks []struct{ Check, Status, Message, Mend string }
		Failed int
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		c.t.Fatalf("%v: %d %s %s", err, code, out, errOut)
	}
	found := false
	for _, one := range report.Checks {
		switch {
		case one.Check == check && one.Status == status && strings.Contains(one.Message, message) && strings.Contains(one.Mend, mend):
			found = true
		case one.Status == "fail":
			c.t.Errorf("%s fails too: %s", one.Check, one.Message)
		}
		if one.Status == "fail" && one.Mend == "" {
			c.t.Errorf("nobody is told how to mend %s: %s", one.Check, one.Message)
		}
	}
	if want := map[bool]int{true: cli.ExitNo}[status == "fail"]; !found || code != want {
		c.t.Errorf("no %s of %s with %q, %q; exit code %d\n%s", status, check, message, mend, code, out)
	}
	if strings.Contains(out+errOut, c.address.APIKey) || strings.Contains(out+errOut, string(c.secret)) {
		c.t.Error("a secret is shown")
	}
	if took := time.Since(began); took > 2*time.Minute {
		c.t.Errorf("it took %s", took)
	}
}

// TestDoctorWell finds nothing wrong with a desk that is well, and says so line by line; it runs
// beside the engine.
func TestDoctorWell(t *testing.T) {
	c := newClinic(t)
	c.start(c.right())
	c.writes("+5511988887777", "hello")
	code, out, errOut := quando(t, "doctor", "--config", c.config)
	if code != 0 || !strings.Contains(out, "0 faults, 0 warnings") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	for _, check := range []string{"config", "key", "scopes", "clock", "webhook", "secret", "address", "profile", "journal", "disk", "rules", "stopped", "engine"} {
		if !strings.Contains(out, "ok    "+check) {
			t.Errorf("nothing about %s:\n%s", check, out)
		}
	}
	// What it looked at is as it was.
	if hooks, err := serviceOf(t, c.office).ListWebhooks(t.Context()); err != nil || len(hooks) != 1 || !hooks[0].Active {
		t.Error(hooks, err)
	}
}

// TestDoctorStopped says what is stopped, and the command that lets it go on.
func TestDoctorStopped(t *testing.T) {
	c := newClinic(t)
	c.start(c.right())
	if code, out, errOut := quando(t, "pause", "--rule", "hello", "--config", c.config); code != 0 {
		t.Fatal(code, out, errOut)
	}
	c.finds("stopped", "warn", "the rule hello is stopped by a person, since", "ends with: quando resume --rule hello")
}

func TestDoctorWrongKey(t *testing.T) {
	c := newClinic(t)
	c.start(c.settings("qsk_wrong", string(c.secret)))
	c.finds("key", "fail", "refuses the key", "service.api_key")
}

func TestDoctorMissingScope(t *testing.T) {
	c := newClinic(t)
	key, err := c.sandbox.NewKey(sandbox.NewKey{Scopes: []string{"conversations:read", "conversations:write", "contacts:read", "messages:read", "team:read", "attendances:read", "webhooks:manage", "read"}})
	if err != nil {
		t.Fatal(err)
	}
	c.start(c.settings(key.APIKey, string(c.secret)))
	c.finds("scopes", "fail", "messages:send (hello)", "give the key these scopes")
}

func TestDoctorClock(t *testing.T) {
	for _, off := range []time.Duration{3 * time.Minute, -3 * time.Minute} {
		c := newClinic(t)
		c.start(c.right())
		c.writes("+5511988887777", "hello")
		cli.Now = func() time.Time { return time.Now().Add(off) }
		t.Cleanup(func() { cli.Now = time.Now })
		c.finds("clock", "fail", map[bool]string{true: "ahead of", false: "behind"}[off > 0], "set the clock")
		cli.Now = time.Now
	}
}

func TestDoctorWebhookInactive(t *testing.T) {
	c := newClinic(t)
	c.startAlone()
	c.writes("+5511988887777", "hello")
	client := serviceOf(t, c.office)
	hooks, err := client.ListWebhooks(t.Context())
	if err == nil {
		_, err = client.UpdateWebhook(t.Context(), hooks[0].ID, service.WebhookPatch{Active: service.Set(false)})
	}
	if err != nil {
		t.Fatal(err)
	}
	c.finds("webhook", "fail", "is switched off", "activate it")
}

func TestDoctorNoWebhook(t *testing.T) {
	c := newClinic(t)
	c.startAlone()
	client := serviceOf(t, c.office)
	hooks, err := client.ListWebhooks(t.Context())
	if err == nil {
		err = client.DeleteWebhook(t.Context(), hooks[0].ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.finds("webhook", "fail", "no webhook that leads here", "quando webhook register")
}

func TestDoctorEventNotSubscribed(t *testing.T) {
	c := newClinic(t)
	client := serviceOf(t, c.office)
	hooks, err := client.ListWebhooks(t.Context())
	if err == nil {
		_, err = client.UpdateWebhook(t.Context(), hooks[0].ID, service.WebhookPatch{Events: service.Set([]string{"attendance.opened"})})
	}
	if err != nil {
		t.Fatal(err)
	}
	c.startAlone()
	c.finds("webhook", "fail", "does not deliver message.received", "quando webhook register")
}

func TestDoctorWrongSecret(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Run("seen by deliveries", func(t *testing.T) {
		c := newClinic(t)
		c.startWith("whsec_another")
		c.writes("+5511988887777", "hello")
		c.finds("secret", "fail", "answered with 401", "service.webhook.secrets")
	})
	t.Run("seen by a test event", func(t *testing.T) {
		c := newClinic(t)
		c.startWith("whsec_another")
		c.finds("secret", "fail", "answered with 401", "service.webhook.secrets")
	})
	t.Run("replaced since the last delivery", func(t *testing.T) {
		c := newClinic(t)
		c.startAlone()
		c.writes("+5511988887777", "hello")
		client := serviceOf(t, c.office)
		hooks, err := client.ListWebhooks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.RotateSecret(t.Context(), hooks[0].ID); err != nil {
			t.Fatal(err)
		}
		c.finds("secret", "fail", "answered with 401", "service.webhook.secrets")
	})
	t.Run("where the address does not lead here from inside", func(t *testing.T) {
		c := newClinic(t)
		outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.NotFound(w, r)
				return
			}
			to, err := url.Parse(c.public)
			if err != nil {
				t.Error(err)
			}
			httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
		}))
		defer outside.Close()
		c.front = outside.URL + "/webhook"
		client := serviceOf(t, c.office)
		hooks, err := client.ListWebhooks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.UpdateWebhook(t.Context(), hooks[0].ID, service.WebhookPatch{URL: service.Set(c.front)}); err != nil {
			t.Fatal(err)
		}
		c.startAlone()
		c.writes("+5511988887777", "hello")
		c.finds("secret", "ok", "the last delivery was taken", "")
		c.stop()
		c.startWith("whsec_another")
		c.finds("secret", "fail", "answered with 401", "service.webhook.secrets")
	})
}

func TestDoctorUnreachableAddress(t *testing.T) {
	c := newClinic(t)
	client := serviceOf(t, c.office)
	hooks, err := client.ListWebhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	redirect := httptest.NewServer(http.RedirectHandler("https://elsewhere.example.com/webhook", http.StatusFound))
	defer redirect.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	c.startAlone()
	for address, want := range map[string]string{
		"http://127.0.0.1:1/webhook": "cannot be reached", redirect.URL: "which the service does not follow", other.URL: "not the webhook of an engine",
	} {
		if _, err := client.UpdateWebhook(t.Context(), hooks[0].ID, service.WebhookPatch{URL: service.Set(address)}); err != nil {
			t.Fatal(err)
		}
		c.front = address
		c.office.config(c.right() + "\nconsole: { listen: \"127.0.0.1:0\" }")
		c.finds("address", "fail", want, "")
	}
}

// TestDoctorFullDisk runs the doctor where the journal's disk really is full: a small one of
// memory, of its own process.
func TestDoctorFullDisk(t *testing.T) {
	c := newClinic(t)
	c.start(c.right())
	c.writes("+5511988887777", "hello")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	small := t.TempDir()
	if err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=3m", "none", small).Run(); err != nil {
		t.Skip("this system lets nobody have a disk of his own: ", err)
	}
	if code, _, errOut := quando(t, "journal", "backup", filepath.Join(c.folder, "copy.db"), "--config", c.config); code != 0 {
		t.Fatal(errOut)
	}
	c.office.config(c.right() + fmt.Sprintf("\njournal: %q\nconsole: { listen: \"127.0.0.1:0\" }", filepath.Join(small, "quando.db")))
	script := `mount -t tmpfs -o size=3m none "$0" && cp "$1/copy.db" "$0/quando.db" && (cat /dev/zero > "$0/rest" 2>/dev/null; true) && exec -a quando "$2" doctor --config "$1/quando.yaml" --output json`
	out, err := exec.Command("unshare", "-rm", "bash", "-c", script, small, c.folder, program).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != cli.ExitNo {
		t.Fatalf("%v %s", err, out)
	}
	if !strings.Contains(string(out), `"check": "disk"`) || !strings.Contains(string(out), "no space left on device") || !strings.Contains(string(out), "make room on that disk") {
		t.Errorf("%s", out)
	}
}

func TestDoctorLockedJournal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	c := newClinic(t)
	c.start(c.right())
	c.writes("+5511988887777", "hello")
	db := openFile(t, filepath.Join(c.folder, "quando.db"))
	defer db.Close()
	x, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	c.finds("journal", "fail", "the journal is locked by another program", "such as a database browser")
	if _, err := x.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
}

func TestDoctorProfile(t *testing.T) {
	c := newClinic(t)
	c.startAlone()
	c.writes("+5511988887777", "hello")
	clitest.Eventually(t, func() (bool, string) {
		_, out, _ := quando(t, "events", "--config", c.config, "--type", "attendance.opened")
		return strings.Contains(out, "attendance.opened"), out
	})
	profile := ", profile: profile.yaml"
	c.office.config(c.settings(c.address.APIKey, string(c.secret), profile) + "\nconsole: { listen: \"127.0.0.1:0\" }")
	c.write("profile.yaml", "event: { attendance: [], attendance_id: [case.number], self: {} }\n")
	c.finds("profile", "fail", "never finds the attendance of attendance.opened (event.attendance_id)", "quando learn")
	c.write("profile.yaml", "message: { text: [text, words.said] }\n")
	c.finds("profile", "warn", "message.text: words.said", "take them out of the profile")
}

func TestDoctorRules(t *testing.T) {
	t.Run("wrong", func(t *testing.T) {
		c := newClinic(t)
		c.write("rules/bad.yaml", "rules:\n  - { id: a, when: nonsense, do: [{ log: x }] }\n")
		c.start(c.right())
		c.writes("+5511988887777", "hello")
		c.finds("rules", "fail", "bad.yaml:2:", "quando check")
	})
	t.Run("missing", func(t *testing.T) {
		c := newClinic(t)
		c.start(c.right() + "\nrules: nowhere")
		c.writes("+5511988887777", "hello")
		c.finds("rules", "fail", "there are no rules at", "make the folder")
	})
	t.Run("others than those of the engine", func(t *testing.T) {
		c := newClinic(t)
		c.startAlone()
		c.writes("+5511988887777", "hello")
		c.write("other/r.yaml", doctorRules+clitest.Rule("more", "m1"))
		c.office.config(c.right() + "\nrules: other\nconsole: { listen: \"127.0.0.1:0\" }")
		c.finds("rules", "fail", "it has loaded 1, and there are 2", "kill -HUP")
	})
}

// TestDoctorAlone shows what is told where nothing runs and nothing answers: within seconds, and no
// more faults than there are.
func TestDoctorAlone(t *testing.T) {
	c := newClinic(t)
	c.front = "http://127.0.0.1:1/webhook"
	c.office.config("service: { base_url: \"http://127.0.0.1:1\", api_key: k, webhook: { secrets: [s] } }")
	c.finds("key", "fail", "cannot be reached", "service.base_url")
	code, out, errOut := quando(t, "doctor", "--config", filepath.Join(c.folder, "none.yaml"))
	if code != cli.ExitError || !strings.Contains(errOut, "there is no configuration") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	c.office.config("listen_on: 8080")
	code, out, errOut = quando(t, "doctor", "--config", c.config)
	if code != cli.ExitNo || !strings.Contains(out, "fail  config") || !strings.Contains(out, "listen_on") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}

// TestDoctorCannotRecord shows an engine that runs and cannot record.
func TestDoctorCannotRecord(t *testing.T) {
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not able to record", http.StatusServiceUnavailable)
	}))
	defer front.Close()
	c := newClinic(t)
	c.start(c.right())
	c.writes("+5511988887777", "hello")
	j, err := storage.Open(t.Context(), filepath.Join(c.folder, "quando.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	text, err := json.Marshal(storage.Running{Console: strings.TrimPrefix(front.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Journal(j).SetCursor(t.Context(), storage.RunningCursor, string(text)); err != nil {
		t.Fatal(err)
	}
	c.finds("engine", "fail", "cannot record: not able to record", "look at its log")
}

// TestDoctorLockedByNobody shows a journal whose lock something has that is no engine, so that none
// can begin.
func TestDoctorLockedByNobody(t *testing.T) {
	c := newClinic(t)
	c.start(c.right())
	c.writes("+5511988887777", "hello")
	c.stop()
	free, err := sqlite.Lock(filepath.Join(c.folder, "quando.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free() }()
	code, out, _ := quando(t, "doctor", "--config", c.config, "--test=false")
	if code != cli.ExitNo || !strings.Contains(out, "fail  engine    the journal is locked") || !strings.Contains(out, "end whoever has the file's lock") {
		t.Errorf("%d %s", code, out)
	}
}

// openFile opens a journal's file as any other program would.
func openFile(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// inFile carries out a statement in a journal's file.
func inFile(t *testing.T, file, statement string) {
	t.Helper()
	db := openFile(t, file)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
