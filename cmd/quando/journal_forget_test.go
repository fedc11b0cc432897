package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// What a person is found by. The word in each of them stands nowhere else.
const (
	markedPhone = "+5511977712345"
	markedName  = "Zuleika Marcador"
	markedText  = "please cancel my order ZK-99871"
	markedShort = "xyzzy42" // too short to be looked for in what others wrote
)

// marks are the bytes by which a marked person is found in a file.
var marks = []string{"77712345", "Zuleika", "Marcador", "ZK-99871", "xyzzy42"}

// markedRules let a marked person leave a trace wherever a journal can have one: in answers, in
// values of verdicts, in slots, in messages to others, in runs that wait, fail or travel, in
// gathers.
const markedRules = `
rules:
  - id: reply
    when: message.received
    if: [contact.name != "", len(message.text) > 3]
    limit: { times: 50, per: 1h, by: contact.phone }
    do:
      - send_message: "Dear {{ contact.name }}, you wrote: {{ message.text }}"
      - set: { quoted: "{{ contact.phone }} said {{ message.text }}" }
      - wait: 30d
      - log: "{{ quoted }}"
  - id: supervisor
    when: message.received
    by: contact.phone
    do:
      - send_message: { text: "{{ contact.name }} ({{ contact.phone }}) wrote: {{ message.text }}", to: { phone: "+5511966660000", channel: Main } }
  - id: picky
    when: message.received
    if: contact.name == "somebody else" or message.text == "nothing"
    do: [{ log: x }]
  - id: gatherer
    when: message.received
    gather: { quiet: 1h, at_most: 2h }
    do: [{ log: "{{ message.text }}" }]
  - id: failing
    when: message.received
    do:
      - http_request: { url: "http://127.0.0.1:1/{{ contact.phone }}", json: { text: "{{ message.text }}" } }
        retry: { times: 1 }
`

// A crime is an office in which a marked person and another customer have written.
type crime struct {
	*office
	where   string
	config  string
	contact string
}

func newCrime(t *testing.T, journal string, more ...string) *crime {
	t.Helper()
	o := newOffice(t)
	c := &crime{office: o, where: journal}
	c.write("rules/r.yaml", markedRules+strings.Join(more, ""))
	settings := o.service() + fmt.Sprintf("\njournal: %q\nhttp_request: { allow: [\"127.0.0.1:1\"] }\nconsole: { listen: \"127.0.0.1:0\" }", journal)
	o.start(settings)
	c.config = filepath.Join(o.folder, "quando.yaml")
	for _, m := range []sandbox.CustomerMessage{
		{Phone: "+5511944440000", Name: "Bruno Costa", Text: "good morning"}, {Phone: markedPhone, Name: markedName, Text: markedText},
		{Phone: markedPhone, Name: markedName, Text: markedShort}, {Phone: "+5511944440000", Name: "Bruno Costa", Text: "good evening"},
	} {
		if _, err := o.sandbox.CustomerMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, func() (bool, string) {
		_, out, errOut := c.quando("runs", "--output", "json")
		return strings.Count(out, `"state": "waiting"`) >= 4 && strings.Count(out, `"rule": "supervisor"`) == 4 && strings.Count(out, `"state": "failed"`) > 0 && !strings.Contains(out, `"state": "running"`), out + errOut
	})
	clitest.Eventually(t, func() (bool, string) { // some of them have waited for others
		_, out, errOut := c.quando("runs", "--rule", "supervisor", "--state", "done", "--output", "json")
		return strings.Count(out, `"rule": "supervisor"`) == 4, out + errOut
	})
	for last, same := "", 0; same < 10; time.Sleep(100 * time.Millisecond) { // until what the runs have caused has come too, and all that it has led to
		if err := o.sandbox.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now := c.rows(); now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
	client, err := service.New(service.Options{BaseURL: o.address.BaseURL, APIKey: service.Secret(o.address.APIKey)})
	if err != nil {
		t.Fatal(err)
	}
	contacts, err := client.ListContacts(t.Context(), service.ContactQuery{Q: markedName})
	if err != nil || len(contacts.Items) != 1 {
		t.Fatalf("%v %v", contacts, err)
	}
	c.contact = contacts.Items[0].ID
	return c
}

func (c *crime) quando(args ...string) (int, string, string) {
	c.t.Helper()
	return quando(c.t, append(args, "--config", c.config)...)
}

// rows returns all rows of the journal as one text.
func (c *crime) rows() string {
	c.t.Helper()
	k, err := storage.OpenKeeper(c.t.Context(), c.where, true)
	if err != nil {
		c.t.Fatal(err)
	}
	defer k.Close()
	var b strings.Builder
	for _, t := range stored.Tables {
		err := stored.EachRow(c.t.Context(), k, t, func(row []any) error {
			fmt.Fprintln(&b, t.Name, row)
			return nil
		})
		if err != nil {
			c.t.Fatal(err)
		}
	}
	return b.String()
}

// tidy fails when a mark stands in a text, and shows where.
func (c *crime) tidy(what, text string) {
	c.t.Helper()
	for _, mark := range marks {
		if i := strings.Index(text, mark); i >= 0 {
			c.t.Errorf("%s holds %q: %q", what, mark, text[max(0, i-200):min(len(text), i+100)])
		}
	}
}

// TestForget forgets a person while an engine runs, in both journals: nothing of them is found in
// any row, in the files, in the log or in what the command prints, while everybody else's data,
// what was counted and what is known stays.
func TestForget(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	for name, journal := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "quando.db") },
		"PostgreSQL": func(t *testing.T) string { return postgrestest.Shared(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrime(t, journal(t))
			before := c.rows()
			for _, mark := range marks {
				if !strings.Contains(before, mark) {
					t.Fatalf("the story leaves no trace of %q", mark)
				}
			}
			eventsBefore, runsBefore := strings.Count(before, "\nevents "), strings.Count(before, "\nruns ")
			code, out, errOut := c.quando("journal", "forget", "--contact", c.contact)
			if code != 0 || !strings.Contains(out, "found nowhere") || !strings.Contains(out, c.contact) {
				t.Fatalf("%d %s %s", code, out, errOut)
			}
			c.tidy("what was printed", out+errOut)
			after := c.rows()
			c.tidy("the journal", after)
			if got := strings.Count(after, "\nevents "); got != eventsBefore {
				t.Errorf("%d events became %d", eventsBefore, got)
			}
			if got := strings.Count(after, "\nruns "); got != runsBefore {
				t.Errorf("%d runs became %d", runsBefore, got)
			}
			if !strings.Contains(after, "Bruno Costa") || !strings.Contains(after, "good evening") || !strings.Contains(after, "Bruno Costa (+5511944440000) wrote: good evening") {
				t.Error("something of another customer is gone")
			}
			if code, out, errOut := c.quando("journal", "verify"); code != 0 {
				t.Errorf("%d %s %s", code, out, errOut)
			}
			c.cancelled()
			c.audited()

			// What has come before is still known, and what comes anew is new.
			if code, out, _ := c.quando("journal", "forget", "--contact", c.contact); code != 0 || !strings.HasPrefix(out, "Forgotten before, at ") {
				t.Errorf("there is nothing left to forget: %d %s", code, out)
			}
			c.stop()
			c.tidy("the log", c.log.String())
			if name == "SQLite" {
				for _, end := range []string{"", "-wal"} {
					c.tidyFile(c.where + end)
				}
			}
		})
	}
}

// cancelled checks that no run is left that would go on about the person, while the other
// customer's runs wait as they did.
func (c *crime) cancelled() {
	c.t.Helper()
	_, out, _ := c.quando("runs", "--output", "json")
	var list struct {
		Runs []struct{ Rule, State, Reason, Lane string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.t.Fatal(err)
	}
	waiting, cancelled := 0, 0
	for _, r := range list.Runs {
		if r.State == "waiting" {
			waiting++
		}
		if r.State == "cancelled" && r.Reason == "the person was forgotten" {
			cancelled++
		}
	}
	if waiting != 1 || cancelled != 2 {
		c.t.Errorf("%d runs wait, %d are cancelled: %s", waiting, cancelled, out)
	}
}

// audited checks that the audit says who was forgotten, by id.
func (c *crime) audited() {
	c.t.Helper()
	j, err := storage.Open(c.t.Context(), c.where, true)
	if err != nil {
		c.t.Fatal(err)
	}
	defer j.Close()
	entries, err := j.Audits(c.t.Context(), 0, 10)
	if err != nil || len(entries) != 1 || entries[0].What != "forget" || !strings.Contains(entries[0].Subject, c.contact) || entries[0].Who == "" {
		c.t.Errorf("%+v %v", entries, err)
	}
}

func (c *crime) tidyFile(path string) {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	for _, mark := range marks {
		if bytes.Contains(text, []byte(mark)) {
			c.t.Errorf("%s holds %q", path, mark)
		}
	}
}

// TestForgetByPhone forgets a person by phone when no engine runs, also in backups, and a backup
// that is restored forgets them again.
func TestForgetByPhone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	c := newCrime(t, filepath.Join(t.TempDir(), "quando.db"))
	if code, _, errOut := c.quando("journal", "backup"); code != 0 {
		t.Fatal(errOut)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	if code, _, errOut := c.quando("journal", "backup", other); code != 0 {
		t.Fatal(errOut)
	}
	c.stop()
	c.write("rules/tests.yaml", "# "+markedName+"\n")
	code, out, errOut := c.quando("journal", "forget", "--phone", "(11) 97771-2345")
	if code != 0 || !strings.Contains(out, "found nowhere") || strings.Count(out, "still holds the person") != 2 || !strings.Contains(out, "tests.yaml holds something") {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	c.tidyFile(c.where)
	manifest := readFile(t, filepath.Join(filepath.Dir(c.where), "backups", backupList))
	c.tidy("the list of backups", manifest)
	if !strings.Contains(manifest, c.contact) {
		t.Errorf("the backup is not marked: %s", manifest)
	}

	if code, out, errOut := c.quando("journal", "restore", other); code != 0 || !strings.Contains(out, "Forgotten again") {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	c.tidyFile(c.where)
	if code, out, errOut := c.quando("journal", "forget", "--phone", markedPhone, "--backups"); code != 0 || strings.Count(out, "Erased in the backup") != 2 {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	c.tidyFile(other)
	if code, out, errOut := c.quando("journal", "verify", other); code != 0 {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}

// TestForgetDuplicate shows that an event of somebody who was forgotten is still known when it is
// delivered again, and that no rule fires for it.
func TestForgetDuplicate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	c := newCrime(t, filepath.Join(t.TempDir(), "quando.db"))
	j, err := storage.Open(t.Context(), c.where, true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	events, err := j.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"})
	if err != nil || len(events) != 4 {
		t.Fatalf("%d %v", len(events), err)
	}
	if code, out, errOut := c.quando("journal", "forget", "--contact", c.contact); code != 0 {
		t.Fatal(out, errOut)
	}
	_, runs, _ := c.quando("runs", "--output", "json")
	for _, e := range events {
		body, err := json.Marshal(map[string]any{"id": e.ID, "type": e.Type, "created_at": e.CreatedAt.Format(time.RFC3339), "tenant_id": e.Tenant, "data": e.Data})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := c.asks("POST", c.public+"/webhook", signed(string(c.secret), string(body)), string(body)); got != 200 {
			t.Errorf("it is recorded anew: %d", got)
		}
	}
	if _, again, _ := c.quando("runs", "--output", "json"); again != runs {
		t.Error("runs are others than before")
	}
	c.stop()
	c.tidyFile(c.where)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
