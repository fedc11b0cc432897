package alerts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

const (
	carla  = "+5511999990000"
	secret = "a-secret-of-the-receiver"
)

var noon = time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC)

// A receiver is a real webhook server that checks signatures.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []Message
	status int    // what it answers; 0 is 200
	during func() // happens once, before it answers; nil is nothing
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(q.Header.Get("X-Quando-Timestamp") + "." + string(body)))
		var m Message
		if err != nil || q.Header.Get("X-Quando-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) || json.Unmarshal(body, &m) != nil || q.Header.Get("X-Quando-Event-Id") != m.ID {
			t.Errorf("%v %v %s", err, q.Header, body)
		}
		r.mu.Lock()
		during := r.during
		r.during = nil
		r.mu.Unlock()
		if during != nil {
			during()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status != 0 {
			w.WriteHeader(r.status)
			return
		}
		r.got = append(r.got, m)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Message{}, r.got...)
}

func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// A desk is a sandbox with a supervisor, a webhook and a journal, on one clock.
type desk struct {
	t        *testing.T
	sandbox  *sandbox.Sandbox
	client   *service.Client
	clock    *desktest.Clock
	receiver *receiver
	journal  *sqlite.Journal
	file     string
	broken   error // of the journal
	alerts   *Alerts
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, clock: desktest.NewClock(noon), receiver: newReceiver(t), file: filepath.Join(t.TempDir(), "quando.db")}
	var address sandbox.Address
	d.sandbox, address = desktest.Start(t)
	d.client = desktest.Must(service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey), Now: d.clock.Now}))
	d.restart("one")
	return d
}

// restart opens the journal anew, as another process does.
func (d *desk) restart(process string) {
	d.t.Helper()
	if d.journal != nil {
		if err := d.journal.Close(); err != nil {
			d.t.Fatal(err)
		}
	}
	d.journal = desktest.Must(sqlite.Open(d.t.Context(), d.file, sqlite.Options{}))
	d.t.Cleanup(func() { _ = d.journal.Close() })
	d.alerts = d.teller(process)
}

func (d *desk) teller(process string) *Alerts {
	find := &attention.Finder{Journal: d.journal, Workspaces: []attention.Workspace{{Name: "default", Rules: func() *rules.Set { return &rules.Set{} }}}, Calls: func() (list []attention.Calls) {
		for _, one := range d.client.Calls() {
			list = append(list, attention.Calls{Workspace: "default", Calls: one})
		}
		return list
	}}
	return New(Options{
		Find: find.Items, Journal: failingJournal{d.journal, &d.broken}, Process: process, Linger: time.Minute, Limit: duration.Rate{Times: 3, Per: time.Hour}, Language: phrases.English,
		Link: "https://quando.example.com/", Now: d.clock.Now,
		Ways: []Channel{
			&Phone{Person: "Carla", Workspace: "default", To: service.Phone{Number: carla, Channel: "Main"}, Client: d.client, Directory: service.NewDirectory(d.client)},
			&Webhook{URL: d.receiver.URL + "/hooks/swordfish", Secret: secret},
		},
	})
}

// A failingJournal is a journal whose disk may be full.
type failingJournal struct {
	*sqlite.Journal
	broken *error
}

func (j failingJournal) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	if *j.broken != nil {
		return false, *j.broken
	}
	return j.Journal.SwapCursor(ctx, name, old, value)
}

// pass lets time pass, with a look every ten seconds.
func (d *desk) pass(length time.Duration) {
	d.t.Helper()
	for end := d.clock.Now().Add(length); d.clock.Now().Before(end); {
		d.clock.Advance(10 * time.Second)
		if err := d.alerts.check(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
	}
}

// stops stops a rule, or everything.
func (d *desk) stops(rule string) journal.Hold {
	d.t.Helper()
	h := journal.Hold{Rule: rule, Kind: journal.HoldPerson, Since: d.clock.Now()}
	if rule != "" {
		h.Workspace, h.Kind = "default", journal.HoldSafety
	}
	if _, err := d.journal.Hold(d.t.Context(), h); err != nil {
		d.t.Fatal(err)
	}
	return h
}

func (d *desk) lifts(list ...journal.Hold) {
	d.t.Helper()
	for _, h := range list {
		if _, err := d.journal.Lift(d.t.Context(), d.clock.Now(), h); err != nil {
			d.t.Fatal(err)
		}
	}
}

// texts returns what the phone got, oldest first.
func (d *desk) texts() (list []string) {
	d.t.Helper()
	chat := desktest.Must(d.client.FindConversation(d.t.Context(), carla, ""))
	if chat == nil {
		return nil
	}
	for m, err := range d.client.Messages(d.t.Context(), chat.ID, "") {
		if err != nil {
			d.t.Fatal(err)
		}
		list = append([]string{m.Text}, list...)
	}
	return list
}

// told checks what both ways got so far: of each message, texts that it has.
func (d *desk) told(want ...[]string) {
	d.t.Helper()
	d.phoned(want...)
	var hooks []string
	for _, m := range d.receiver.messages() {
		hooks = append(hooks, m.Text)
	}
	compare(d.t, "webhook", hooks, want)
}

func (d *desk) phoned(want ...[]string) {
	d.t.Helper()
	compare(d.t, "phone", d.texts(), want)
}

func compare(t *testing.T, way string, got []string, want [][]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d messages, want %d: %q", way, len(got), len(want), got)
	}
	for i, parts := range want {
		for _, part := range parts {
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: no %q in %q", way, part, got[i])
			}
		}
	}
}

// TestOnce shows that what needs a person is told once, together with what comes within a minute,
// with a link; that the end is told once; and that the same thing is told again when it comes back.
func TestOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.pass(5 * time.Minute)
	d.told()
	away := d.stops("away")
	d.pass(30 * time.Second)
	sla := d.stops("sla")
	d.told()
	d.pass(2 * time.Hour)
	first := []string{"2 things need a person", "“away” was stopped at a safety bound (since 12:05)", "“sla”", "https://quando.example.com/"}
	d.told(first)

	// One is gone and the other is left: nobody needs to know.
	d.lifts(away)
	d.pass(time.Hour)
	d.told(first)
	d.lifts(sla)
	d.pass(time.Hour)
	clear := []string{"all clear"}
	d.told(first, clear)
	d.stops("away")
	d.pass(10 * time.Minute)
	d.told(first, clear, []string{"this needs a person", "“away”"})
	for _, m := range d.receiver.messages() {
		if m.Link != "https://quando.example.com/" || uuid.Validate(m.ID) != nil || !IsAlert(m.ID) {
			t.Errorf("%+v", m)
		}
	}
	if IsAlert(uuid.NewString()) || IsAlert("") {
		t.Error("any id is taken for an alert's")
	}
}

// TestShort shows that what is over within a minute is not told, and that what is away for a moment
// is not told twice.
func TestShort(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.stops("away")
	d.pass(30 * time.Second)
	d.lifts(h)
	d.pass(10 * time.Minute)
	d.told()
	key := journal.Hold{Workspace: "default", Kind: journal.HoldKey, Since: d.clock.Now()}
	for range 3 {
		if _, err := d.journal.Hold(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		d.pass(5 * time.Minute)
		d.lifts(key)
		d.pass(20 * time.Second)
	}
	d.told([]string{"refuses the key"})
}

// TestBounded shows that there are at most so many messages an hour, and that what is more is told
// together after it.
func TestBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var list []journal.Hold
	for i := range 20 {
		list = append(list, d.stops(fmt.Sprintf("rule-%d", i)))
		d.pass(2 * time.Minute)
	}
	one := []string{"this needs a person"}
	d.told(one, one, one)
	d.pass(time.Hour)
	d.told(one, one, one, []string{"17 things need a person", "“rule-3”", "“rule-7”", "and 12 more"})
	d.lifts(list...)
	d.pass(2 * time.Hour)
	d.told(one, one, one, nil, []string{"all clear"})
}

// TestStopEverything shows that stopping everything does not silence alerts, and that they tell who
// did it.
func TestStopEverything(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stops("")
	if err := d.journal.Audit(t.Context(), journal.AuditEntry{At: d.clock.Now(), Who: "Ana", What: "pause", Subject: "everything"}); err != nil {
		t.Fatal(err)
	}
	d.pass(2 * time.Minute)
	d.told([]string{"Everything is stopped, by Ana (since 12:00)"})
}

// TestRestart shows that a restart tells nothing twice and loses nothing: not what was told, not a
// message that could not be sent, and not one whose answer was lost with the process.
func TestRestart(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.stops("away")
	d.pass(2 * time.Minute)
	first := []string{"“away”"}
	d.told(first)
	d.restart("two")
	d.pass(3 * time.Minute)
	d.told(first)

	// The service takes the message, and the answer does not come.
	if err := d.sandbox.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "drop_after"}); err != nil {
		t.Fatal(err)
	}
	d.receiver.answers(500)
	d.stops("sla")
	d.pass(70 * time.Second)
	d.restart("three")
	d.sandbox.ClearFaults()
	d.receiver.answers(0)
	d.pass(5 * time.Minute)
	d.told(first, []string{"“sla”"})
	d.lifts(h)
	d.pass(5 * time.Minute)
	d.told(first, []string{"“sla”"})
}

// TestOutage shows that the webhook tells at once that messages do not get through, and that the
// phone is told from when to when, when they do again.
func TestOutage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.sandbox.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: 503}); err != nil {
		t.Fatal(err)
	}
	chat := desktest.Must(d.client.CreateConversation(t.Context(), service.NewConversation{ChannelID: desktest.Must(service.NewDirectory(d.client).ID(t.Context(), service.KindChannel, "Main")), Phone: "+5511988887777"}))
	for range 3 {
		_, _ = d.client.SendMessage(t.Context(), chat.ID, service.NewMessage{ClientID: uuid.NewString(), Text: "Olá"}) // it fails
	}
	d.pass(20 * time.Minute)
	var hooks []string
	for _, m := range d.receiver.messages() {
		hooks = append(hooks, m.Text)
	}
	compare(t, "webhook", hooks, [][]string{{"Messages and changes do not get through to the service (since 12:00)"}})
	d.phoned()
	ways := desktest.Must(d.alerts.Channels(t.Context()))
	if len(ways) != 2 || ways[0].Way != "Carla" || !strings.Contains(ways[0].Error, "503") || ways[1].Error != "" || ways[1].Told.IsZero() {
		t.Errorf("%+v", ways)
	}
	d.sandbox.ClearFaults()
	d.pass(10 * time.Minute)
	d.phoned([]string{"Messages and changes do not get through to the service: from 12:00 to 12:2", "all clear"})
	if got := d.receiver.messages(); len(got) != 2 || got[1].Kind != KindAllClear {
		t.Errorf("%+v", got)
	}
}

// TestFullDisk shows that alerts are told, once, while nothing can be recorded.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.pass(time.Minute)
	d.broken = errors.New("database or disk is full")
	d.stops("away")
	d.pass(10 * time.Minute)
	first := []string{"“away”"}
	d.told(first)
	d.broken = nil
	d.pass(10 * time.Minute)
	d.restart("two")
	d.pass(10 * time.Minute)
	d.told(first)
}

// TestTwoTellers shows that of two processes with one journal one tells, and the other goes on
// where the first has ended.
func TestTwoTellers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one, two := d.alerts, d.teller("two")
	h := d.stops("away")
	d.receiver.during = func() {
		if err := two.check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	both := func(length time.Duration) {
		for end := d.clock.Now().Add(length); d.clock.Now().Before(end); {
			d.clock.Advance(10 * time.Second)
			var group sync.WaitGroup
			for _, a := range []*Alerts{one, two} {
				group.Go(func() {
					if err := a.check(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
	}
	d.pass(2 * time.Minute) // the other one looks while the message is under way
	both(10 * time.Minute)
	first := []string{"“away”"}
	d.told(first)
	one.giveUpLease()
	d.alerts = two
	d.lifts(h)
	d.pass(5 * time.Minute)
	d.told(first, []string{"all clear"})
}

// TestTest shows that a test says of each way what became of it, without addresses and phones.
func TestTest(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.receiver.answers(http.StatusTeapot)
	results := d.alerts.Test(t.Context())
	if len(results) != 2 || results[0].Error != "" || !strings.Contains(results[1].Error, "418") || strings.Contains(fmt.Sprint(results), "swordfish") {
		t.Errorf("%+v", results)
	}
	d.phoned([]string{"this is a test"})
	d.receiver.Close()
	if results := d.alerts.Test(t.Context()); results[1].Error == "" || strings.Contains(fmt.Sprint(results), "swordfish") {
		t.Errorf("%+v", results)
	}
}
