package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// talk writes a conversation line by line, a minute apart: "customer", "team" or "engine".
func (d *desk) talk(lines ...string) {
	d.t.Helper()
	for i, by := range lines {
		must(d.Advance(d.t.Context(), time.Minute))
		d.clock.Advance(time.Minute)
		switch text := fmt.Sprintf("line %d", i); by {
		case "customer":
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: text}))
		case "team":
			must(d.TeamMessage(sandbox.TeamMessage{Conversation: d.conversation, Person: "Bruno", Text: text}))
		case "phone":
			must(d.TeamMessage(sandbox.TeamMessage{Conversation: d.conversation, Text: text}))
		case "engine":
			step := d.step(m{"text": text})
			step.Key = fmt.Sprintf("acme/rule/event/%d", i)
			must(d.drive("send_message", step).run())
		}
	}
}

// ownMessages recognises the engine's messages by their client_id.
func ownMessages(o *builtin.Options) {
	o.Own = func(_ context.Context, m service.Message) (bool, error) { return m.ClientID != "", nil }
}

// TestTalk shows for conversations whether a person is active, and since when the customer waits.
// Ana has said hello before the first line, at minute 0.
func TestTalk(t *testing.T) {
	for _, c := range []struct {
		name    string
		lines   []string
		within  int // minutes before the last line, inclusive
		active  bool
		waiting int // the minute; -1 means not at all
	}{
		{"only hello", nil, 10, false, 0},
		{"answered", []string{"team"}, 0, true, -1},
		{"answered from the phone", []string{"phone"}, 0, true, -1},
		{"answered long ago", []string{"team", "customer", "customer"}, 1, false, 2},
		{"answered just long enough ago", []string{"team", "customer", "customer"}, 2, true, 2},
		{"an automatic message is no answer", []string{"engine", "customer", "engine"}, 10, false, 0},
		{"an automatic message hides no person", []string{"team", "engine", "customer", "engine"}, 10, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, ownMessages)
			d.talk(c.lines...)
			since := friday.Add(time.Duration(len(c.lines)-c.within) * time.Minute)
			if got, err := d.tells.HumanActive(t.Context(), d.conversation, since); got != c.active || err != nil {
				t.Errorf("active: %v, %v", got, err)
			}
			var want time.Time
			if c.waiting >= 0 {
				want = friday.Add(time.Duration(c.waiting) * time.Minute)
			}
			if got, err := d.tells.WaitingSince(t.Context(), d.conversation); !got.Equal(want) || err != nil {
				t.Errorf("waiting since %v, %v; want %v", got, err, want)
			}
		})
	}
}

// TestLongTalk shows that a conversation of several pages is read page by page, and no further than
// necessary.
func TestLongTalk(t *testing.T) {
	d := newDesk(t, ownMessages)
	d.talk("team", "customer")
	for i := range 250 {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: fmt.Sprint(i)}))
	}
	if got, err := d.tells.WaitingSince(t.Context(), d.conversation); !got.Equal(friday.Add(2*time.Minute)) || err != nil {
		t.Errorf("waiting since %v, %v", got, err)
	}
	if got, err := d.tells.HumanActive(t.Context(), d.conversation, friday); !got || err != nil {
		t.Errorf("active: %v, %v", got, err)
	}
	d.talk("customer", "customer")
	d.faults.fail(0, "", 0)
	if got, err := d.tells.HumanActive(t.Context(), d.conversation, friday.Add(3*time.Minute)); got || err != nil || d.faults.count() != 1 {
		t.Errorf("active: %v, %v, after %d pages", got, err, d.faults.count())
	}
}

// deskAnswering returns a desk at a service that, unlike the sandbox, has one answer to everything.
func deskAnswering(t *testing.T, answer func() any) *builtin.Desk {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(answer()) }))
	t.Cleanup(server.Close)
	o := builtin.Options{Client: must(service.New(service.Options{BaseURL: server.URL, APIKey: "key"}))}
	ownMessages(&o)
	return must(builtin.NewDesk(o))
}

// TestWaitingWithoutAClock shows that a message without a time does not hide the others.
func TestWaitingWithoutAClock(t *testing.T) {
	tells := deskAnswering(t, func() any {
		return m{"next_cursor": nil, "data": []m{{"id": "2", "direction": "inbound", "created_at": "2026-11-13T20:50:00Z"}, {"id": "1", "direction": "inbound"}}}
	})
	if got, err := tells.WaitingSince(t.Context(), "c1"); !got.Equal(friday) || err != nil {
		t.Errorf("waiting since %v, %v", got, err)
	}
}

// TestDoubt shows how messages without a sender or a time count, and endless conversations: in
// doubt no person is interrupted.
func TestDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		message string // the conversation repeats it endlessly
		active  bool
		waiting bool
		read    [2]int // how many are read to find out
	}{
		"who wrote is not told":         {`{"id":"%d","text":"x","created_at":"2026-11-13T20:50:00Z"}`, true, false, [2]int{100, 100}},
		"when is not told":              {`{"id":"%d","text":"x","direction":"outbound"}`, true, false, [2]int{100, 100}},
		"a customer without an end":     {`{"id":"%d","text":"x","direction":"inbound","created_at":"2026-11-13T20:50:00Z"}`, true, true, [2]int{1000, 1000}},
		"a customer, long ago":          {`{"id":"%d","text":"x","direction":"inbound","created_at":"2026-11-12T20:50:00Z"}`, false, true, [2]int{100, 1000}},
		"a customer who has no clock":   {`{"id":"%d","text":"x","direction":"inbound"}`, true, false, [2]int{1000, 1000}},
		"the engine, time and again":    {`{"id":"%d","client_id":"ours","text":"x","direction":"outbound","created_at":"2026-11-13T20:50:00Z"}`, true, false, [2]int{1000, 1000}},
		"the engine, without a side":    {`{"id":"%d","client_id":"ours","text":"x","created_at":"2026-11-12T20:50:00Z"}`, false, false, [2]int{100, 1000}},
		"somebody unknown, a while ago": {`{"id":"%d","text":"x","created_at":"2026-11-12T20:50:00Z"}`, false, false, [2]int{100, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			tells := deskAnswering(t, func() any {
				page := make([]json.RawMessage, 100)
				for i := range page {
					n++
					page[i] = json.RawMessage(fmt.Sprintf(c.message, n))
				}
				return m{"data": page}
			})
			if got, err := tells.HumanActive(t.Context(), "c1", friday.Add(-time.Hour)); got != c.active || err != nil || n != c.read[0] {
				t.Errorf("active: %v, %v, after %d messages", got, err, n)
			}
			n = 0
			if got, err := tells.WaitingSince(t.Context(), "c1"); got.IsZero() == c.waiting || err != nil || n != c.read[1] {
				t.Errorf("waiting since %v, %v, after %d messages", got, err, n)
			}
		})
	}
}
