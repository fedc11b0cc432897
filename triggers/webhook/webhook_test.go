package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// memory is a sink that keeps events by their ids, like the journal.
type memory struct {
	mu     sync.Mutex
	events []rules.Event
	seen   map[string]bool
	fail   error
}

func (m *memory) accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if m.fail != nil {
		return nil, m.fail
	}
	fresh := make([]bool, len(events))
	for i, e := range events {
		if key := e.Workspace + "/" + e.ID; !m.seen[key] {
			if m.seen == nil {
				m.seen = make(map[string]bool)
			}
			m.seen[key], fresh[i] = true, true
			m.events = append(m.events, e)
		}
	}
	return fresh, nil
}

// desk is a receiver under test with its counts.
type desk struct {
	*Receiver
	memory  memory
	secrets []service.Secret
	now     time.Time
	mu      sync.Mutex
	counts  map[Outcome]int
	log     lines
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{secrets: []service.Secret{"whsec_new", "whsec_old"}, now: time.Unix(1_800_000_000, 0), counts: make(map[Outcome]int)}
	r, err := New(Options{
		Workspace: "default", Sink: d.memory.accept, Now: func() time.Time { return d.now },
		Secrets: func(time.Time) []service.Secret { return d.secrets },
		Count: func(o Outcome) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.counts[o]++
		},
		Logger: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Receiver = r
	return d
}

func signature(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "." + body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

const body = `{"id":"e1","type":"message.received","created_at":"2027-01-15T08:00:00Z","tenant_id":"t1","data":{"message":{"id":"m1","text":"hi"},"conversation":{"id":"c1"}}}`

// delivery returns a request as the service sends it; change modifies it.
func (d *desk) delivery(body string, change func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
	timestamp := strconv.FormatInt(d.now.Unix(), 10)
	r.Header.Set("X-Service-Timestamp", timestamp)
	r.Header.Set("X-Service-Signature", signature("whsec_new", timestamp, body))
	if change != nil {
		change(r)
	}
	return r
}

func (d *desk) serve(r *http.Request) int {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Code
}

func TestRecords(t *testing.T) {
	d := newDesk(t)
	if got := d.serve(d.delivery(body, nil)); got != http.StatusAccepted {
		t.Fatal(got)
	}
	if got := d.serve(d.delivery(body, nil)); got != http.StatusOK {
		t.Errorf("a duplicate: %d", got)
	}
	e := d.memory.events[0]
	if len(d.memory.events) != 1 || e.ID != "e1" || e.Type != "message.received" || e.Lane != "conversation:c1" || e.Tenant != "t1" || e.Workspace != "default" ||
		!e.ReceivedAt.Equal(d.now) || e.CreatedAt.Format(time.RFC3339) != "2027-01-15T08:00:00Z" || e.Data["message"].(map[string]any)["text"] != "hi" {
		t.Errorf("%+v", d.memory.events)
	}
	if d.counts[Recorded] != 1 || d.counts[Duplicate] != 1 {
		t.Errorf("%v", d.counts)
	}
}

// TestIDInCapitals shows that a UUID is the same in capitals: in the header, and in a repeat.
func TestIDInCapitals(t *testing.T) {
	const small = "0192f3a4-5b6c-7d8e-9f00-11223344aabb"
	d, capital := newDesk(t), strings.ToUpper(small)
	for i, c := range []struct {
		body, header string
		want         int
	}{{small, capital, http.StatusAccepted}, {capital, small, http.StatusOK}, {capital, capital, http.StatusOK}, {small, small, http.StatusOK}} {
		r := d.delivery(strings.Replace(body, "e1", c.body, 1), func(r *http.Request) { r.Header.Set("X-Service-Event-Id", c.header) })
		if got := d.serve(r); got != c.want {
			t.Errorf("delivery %d: %d, want %d", i, got, c.want)
		}
	}
	if len(d.memory.events) != 1 || d.memory.events[0].ID != small {
		t.Errorf("%+v", d.memory.events)
	}
}

// TestTimesOfOthers shows that other forms of ISO 8601 are accepted: a delivery refused for its
// form would be refused for ever.
func TestTimesOfOthers(t *testing.T) {
	for _, created := range []string{"2027-01-15T08:00:00", "2027-01-15T08:00:00.123456", "2027-01-15T08:00:00+0000", "2027-01-15T08:00Z", "20270115T080000Z", "2027-01-15 08:00:00Z"} {
		d := newDesk(t)
		if got := d.serve(d.delivery(strings.Replace(body, "2027-01-15T08:00:00Z", created, 1), nil)); got != http.StatusAccepted {
			t.Errorf("%s: %d", created, got)
		} else if at := d.memory.events[0].CreatedAt.Truncate(time.Second); !at.Equal(time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)) {
			t.Errorf("%s was read as %v", created, at)
		}
	}
}

func TestOldSecretWorksDuringRotation(t *testing.T) {
	d := newDesk(t)
	got := d.serve(d.delivery(body, func(r *http.Request) {
		r.Header.Set("X-Service-Signature", signature("whsec_old", r.Header.Get("X-Service-Timestamp"), body))
	}))
	if got != http.StatusAccepted {
		t.Error(got)
	}
}

// TestRenewedSecret shows that a secret that was rotated a moment ago is found, that Renew is
// called for nothing else, and that it admits no delivery without a signature.
func TestRenewedSecret(t *testing.T) {
	for _, tt := range []struct {
		name    string
		known   []service.Secret
		signed  string
		asked   int
		outcome Outcome
	}{
		{"rotated", []service.Secret{"whsec_old"}, "whsec_new", 1, Recorded},
		{"the first one", nil, "whsec_new", 1, Recorded},
		{"known", []service.Secret{"whsec_new"}, "whsec_new", 0, Recorded},
		{"forged", []service.Secret{"whsec_old"}, "guess", 1, Forged},
		{"empty", nil, "", 1, Forged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, asked := newDesk(t), 0
			d.secrets = tt.known
			d.options.Renew = func(context.Context, time.Time) []service.Secret {
				asked++
				return []service.Secret{"whsec_new", ""}
			}
			d.serve(d.delivery(body, func(r *http.Request) {
				r.Header.Set("X-Service-Signature", signature(tt.signed, r.Header.Get("X-Service-Timestamp"), body))
			}))
			if d.counts[tt.outcome] != 1 || asked != tt.asked {
				t.Errorf("counted %v, asked %d times", d.counts, asked)
			}
		})
	}
	d := newDesk(t)
	d.options.Renew = func(context.Context, time.Time) []service.Secret {
		t.Error("asked for a delivery without a signature")
		return nil
	}
	d.serve(d.delivery(body, func(r *http.Request) { r.Header.Del("X-Service-Signature") }))
	if d.counts[Unsigned] != 1 {
		t.Errorf("%v", d.counts)
	}
}

func TestNotRecorded(t *testing.T) {
	d := newDesk(t)
	d.memory.fail = errors.New("disk full")
	if got := d.serve(d.delivery(body, nil)); got != http.StatusServiceUnavailable || d.counts[Unavailable] != 1 {
		t.Errorf("%d %v", got, d.counts)
	}
}

// TestGoneAway shows that a verified delivery is recorded even if its sender has disconnected
// meanwhile.
func TestGoneAway(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.options.Verified = func(*http.Request) { cancel() }
	if d.serve(d.delivery(body, nil).WithContext(ctx)); d.counts[Recorded] != 1 || len(d.memory.events) != 1 {
		t.Errorf("%v", d.counts)
	}
}

// TestTheSameEventAtOnce delivers one event a thousand times at the same time: one is new, the
// others are duplicates.
func TestTheSameEventAtOnce(t *testing.T) {
	d := newDesk(t)
	server := httptest.NewServer(d)
	defer server.Close()
	var wait sync.WaitGroup
	statuses := make(chan int, 1000)
	for range 1000 {
		wait.Go(func() {
			r := d.delivery(body, nil)
			out, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			out.Header = r.Header
			res, err := http.DefaultClient.Do(out)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			statuses <- res.StatusCode
		})
	}
	wait.Wait()
	close(statuses)
	count := make(map[int]int)
	for s := range statuses {
		count[s]++
	}
	if count[202] != 1 || count[200] != 999 || len(d.memory.events) != 1 {
		t.Errorf("%v, %d recorded", count, len(d.memory.events))
	}
}

// TestFromTheService receives every event that the sandbox delivers, over real HTTP, and finds its
// lane.
func TestFromTheService(t *testing.T) {
	s, err := sandbox.New(sandbox.Options{Seed: 3, AllowLoopback: true, KanbanEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey)})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	d.options.Now = time.Now
	server := httptest.NewServer(d)
	defer server.Close()
	events := append(vocabulary.EventTypes(), nil...)
	hook, err := client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "quando", URL: server.URL, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	d.secrets = []service.Secret{hook.Secret}

	written, err := s.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Name: "Ana", Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.TeamMessage(sandbox.TeamMessage{Conversation: written.Conversation.String(), Person: "Bruno", Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TeamClose(sandbox.TeamClose{Conversation: written.Conversation.String(), Person: "Bruno"}); err != nil {
		t.Fatal(err)
	}
	card, err := s.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Lead"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.MoveCard(sandbox.MoveCard{Card: card.ID.String(), Stage: "Won", Person: "Bruno"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, e := range d.memory.events {
		seen[e.Type] = true
		want := "conversation:" + written.Conversation.String()
		if card, ok := e.Data["card"].(map[string]any); ok && card["conversation_id"] == nil {
			want = fmt.Sprintf("card:%v", card["id"])
		}
		if e.Lane != want {
			t.Errorf("%s is in the lane %s, want %s", e.Type, e.Lane, want)
		}
	}
	for _, name := range events {
		if !seen[name] {
			t.Errorf("no %s arrived", name)
		}
	}
	if len(d.counts) != 1 || d.counts[Recorded] == 0 {
		t.Errorf("%v", d.counts)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(body))
	f.Add([]byte(`{"id":"a","ID":"b"}`))
	f.Add([]byte(`{"id":"a","type":"b","created_at":"2027-01-15T08:00:00Z","data":null,"tenant_id":7}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := decode(body)
		if err == nil && (e.ID == "" || e.Type == "" || e.Data == nil) {
			t.Errorf("%+v", e)
		}
	})
}

// TestTextAsRecorded shows which JSON is recorded unchanged: recorded JSON is searched as text, so
// it must not contain escaped letters.
func TestTextAsRecorded(t *testing.T) {
	for data, want := range map[string]string{
		`{"text":"João","n":1.50}`: `{"text":"João","n":1.50}`,
		`{"text":"Jo\u00e3o"}`:     "",
		"{\"text\":\"Jo\xe3o\"}":   "",
		`null`:                     "",
	} {
		e, err := decode([]byte(`{"id":"e1","type":"message.received","created_at":"2026-11-13T12:00:00Z","data":` + data + `}`))
		if err != nil || e.Text != want {
			t.Errorf("%s is recorded as %q, want %q (%v)", data, e.Text, want, err)
		}
	}
}

// TestDeliveriesAreApart receives deliveries of all lengths, one after another and at once, while
// the secrets change: no delivery affects the outcome of another.
func TestDeliveriesAreApart(t *testing.T) {
	d := newDesk(t)
	numbered := func(i int) string {
		return strings.NewReplacer(`"e1"`, fmt.Sprintf(`"e%d"`, i), `"hi"`, `"`+strings.Repeat("x", i*i%5000)+`"`).Replace(body)
	}
	signed := func(i int, secret string) *http.Request {
		return d.delivery(numbered(i), func(r *http.Request) {
			r.Header.Set("X-Service-Signature", signature(secret, r.Header.Get("X-Service-Timestamp"), numbered(i)))
		})
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if got := d.serve(signed(i, []string{"whsec_new", "whsec_old"}[i%2])); got != http.StatusAccepted {
				t.Errorf("delivery %d: %d", i, got)
			}
			if got := d.serve(signed(i, "whsec_other")); got != http.StatusUnauthorized {
				t.Errorf("delivery %d with another secret: %d", i, got)
			}
		})
	}
	all.Wait()
	for _, e := range d.memory.events {
		i, _ := strconv.Atoi(e.ID[1:])
		if text := e.Data["message"].(map[string]any)["text"].(string); len(text) != i*i%5000 || !strings.Contains(numbered(i), e.Text) {
			t.Errorf("the event %s has the text of another", e.ID)
		}
	}
	d.secrets = []service.Secret{"whsec_other"}
	for secret, want := range map[string]int{"whsec_new": http.StatusUnauthorized, "whsec_old": http.StatusUnauthorized, "whsec_other": http.StatusAccepted} {
		if got := d.serve(signed(100, secret)); got != want {
			t.Errorf("%s after the secrets have changed: %d", secret, got)
		}
	}
}
