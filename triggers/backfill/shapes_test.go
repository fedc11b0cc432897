package backfill_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

// A form changes how a service shows its objects.
type form func(path string, object map[string]any)

func (f form) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || res.StatusCode != 200 {
		return res, err
	}
	defer func() { _ = res.Body.Close() }()
	var answer any
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, err
	}
	f.objects(r.URL.Path, answer)
	body, err := json.Marshal(answer)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, err
}

func (f form) objects(path string, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			f.objects(path, item)
		}
	case map[string]any:
		f(path, v)
		for _, inner := range v {
			f.objects(path, inner)
		}
	}
}

// shown applies a form to the service's answers.
func shown(f form) func(*deskOptions) { return func(o *deskOptions) { o.transport = f } }

// A service whose list shows no versions, and whose events are created a moment after the card has
// changed: each move is one.
func TestEventsAfterTheirCards(t *testing.T) {
	for _, moment := range []time.Duration{time.Millisecond, 900 * time.Millisecond, 20 * time.Second} {
		t.Run(moment.String(), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, cardRules, shown(func(path string, o map[string]any) {
				delete(o, "version")
				if at, err := time.Parse(time.RFC3339Nano, asText(o["updated_at"])); err == nil && path == "/v1/kanban/cards" {
					o["updated_at"] = at.Add(-moment).Format(time.RFC3339Nano)
				}
			}))
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Order"}))
			d.pass(10 * time.Minute)
			for i, stage := range []string{"Proposal", "Follow-up", "Lead", "Proposal", "Won"} {
				must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: stage, Person: "Bruno"}))
				d.pass(10 * time.Minute)
				d.wantFired(1, i+1, i/4)
			}
			// The webhook of the last move is lost.
			d.fault("delivery", "lose", 0, 0, 0)
			must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: "Lead", Person: "Bruno"}))
			d.pass(10 * time.Minute)
			d.wantFired(1, 6, 1)
		})
	}
}

func asText(v any) string {
	s, _ := v.(string)
	return s
}

// untimed leaves the times of cards out.
func untimed(path string, o map[string]any) {
	if path == "/v1/kanban/cards" {
		delete(o, "created_at")
		delete(o, "updated_at")
		delete(o, "version")
	}
}

// Cards without times: each move is one, whether card events can be subscribed to or not.
func TestCardsWithoutTimes(t *testing.T) {
	for _, can := range []bool{true, false} {
		t.Run(fmt.Sprint("subscribed ", can), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, cardRules, shown(untimed), subscribed(can))
			d.pass(time.Minute)
			must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Order"}))
			d.pass(10 * time.Minute)
			d.wantFired(1, 0, 0)
			for i, stage := range []string{"Proposal", "Lead", "Won"} {
				must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: stage, Person: "Bruno"}))
				d.pass(10 * time.Minute)
				d.wantFired(1, i+1, i/2)
			}
			d.fault("delivery", "lose", 0, 0, 0)
			must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: "Lead", Person: "Bruno"}))
			d.pass(10 * time.Minute)
			d.wantFired(1, 4, 1)
		})
	}
}

// Cards without times do not count as new because the first scan did not complete.
func TestFirstLookAtCardsFails(t *testing.T) {
	d := newDesk(t, cardRules, shown(untimed), subscribed(false))
	for _, title := range []string{"Old", "Older"} {
		must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: title}))
	}
	d.fault("GET /kanban/cards", "status_before", 0, 0, 403)
	d.pass(10 * time.Minute)
	d.ClearFaults()
	d.pass(10 * time.Minute)
	d.wantFired(0, 0, 0)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Order"}))
	d.pass(time.Minute)
	d.wantFired(1, 0, 0)
}

// A missed change without a time gets the earliest possible one, so it is not answered late. A
// later delivery matches it.
func TestOutageWithoutTimes(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: on-created, when: kanban.card.created, late: { skip_after: 30m }, do: [{ log: created }] }
  - { id: on-moved, when: kanban.card.moved, late: { skip_after: 30m }, do: [{ log: moved }] }
  - { id: on-closed, when: attendance.closed, late: { skip_after: 30m }, do: [{ log: closed }] }
`, shown(func(path string, o map[string]any) {
		untimed(path, o)
		delete(o, "closed_at")
	}))
	d.customer(1, "hello")
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Old"}))
	d.pass(30 * time.Minute)
	d.stop()
	d.pass(time.Minute)
	must(d.MoveCard(sandbox.MoveCard{Card: "Old", Stage: "Proposal", Person: "Bruno"}))
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Order"}))
	must(d.TeamClose(sandbox.TeamClose{Conversation: "Customer 1", Person: "Bruno"}))
	d.pass(5 * time.Hour)
	d.start()
	d.pass(8 * time.Hour) // among them the last retries of the deliveries
	for rule, late := range map[string]int{"on-created": 1, "on-moved": 2, "on-closed": 1} {
		if v := d.verdicts(rule); v[journal.Late] != late {
			t.Errorf("%s: %v\n%s", rule, v, d.trace())
		}
	}
	for what, n := range d.identities() {
		if n > 1 && !strings.HasPrefix(what, "conversation.updated") {
			t.Errorf("%s was told %d times", what, n)
		}
	}
}

// Attendances and messages without a time cannot be found, and the log says what to do.
func TestTimesAreMissing(t *testing.T) {
	for path, says := range map[string]string{"/v1/attendances": "set attendance.opened_at in the profile", "/messages": "set message.created_at in the profile"} {
		d := newDesk(t, settledRules, shown(func(at string, o map[string]any) {
			if strings.HasSuffix(at, path) {
				delete(o, "opened_at")
				delete(o, "created_at")
			}
		}))
		d.pass(time.Minute)
		d.customer(1, "hello")
		d.pass(20 * time.Minute)
		if problem := d.source.State().Problem; !strings.Contains(problem, says) {
			t.Errorf("%s: the problem is told as %q", path, problem)
		}
	}
}

// A card moves through a service that shows its times in one form or another. Deliveries come late,
// before and after their events were found: in the end each move, and each win, is recorded once.
func TestWaysInOtherForms(t *testing.T) {
	for name, change := range map[string]func(time.Time) time.Time{
		"events are a moment later":   func(at time.Time) time.Time { return at.Add(-5 * time.Millisecond) },
		"events are a moment earlier": func(at time.Time) time.Time { return at.Add(3 * time.Millisecond) },
		"whole seconds":               func(at time.Time) time.Time { return at.Truncate(time.Second) },
	} {
		for seed := range int64(6) {
			if testing.Short() && seed > 0 {
				continue
			}
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, cardRules, shown(func(path string, o map[string]any) {
					delete(o, "version")
					for _, name := range []string{"created_at", "updated_at"} {
						if at, err := time.Parse(time.RFC3339Nano, asText(o[name])); err == nil && path == "/v1/kanban/cards" {
							o[name] = change(at).Format(time.RFC3339Nano)
						}
					}
				}))
				d.pass(time.Minute)
				must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Lead", Title: "Order"}))
				moved, won := d.wander(rand.New(rand.NewPCG(1, uint64(seed))), "Lead")
				d.pass(9 * time.Hour)
				d.wantFired(1, moved, won)
			})
		}
	}
}

// wander moves and edits a card at random, with deliveries that fail for a while, and returns how
// often it was moved and won.
func (d *desk) wander(r *rand.Rand, at string) (moved, won int) {
	d.t.Helper()
	stages := []string{"Lead", "Proposal", "Follow-up", "Won"}
	for range 25 {
		most := []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute}[r.IntN(4)]
		d.pass(time.Duration(r.Int64N(int64(most))))
		if r.IntN(3) > 0 {
			d.ClearFaults()
		} else {
			d.fault("delivery", "drop_before", 0, 0, 0)
		}
		to := stages[r.IntN(len(stages))]
		if to == at {
			must(d.EditCard(sandbox.EditCard{Card: "Order", Description: fmt.Sprint(r.Int())}))
			continue
		}
		must(d.MoveCard(sandbox.MoveCard{Card: "Order", Stage: to, Person: "Bruno"}))
		d.settle()
		if at = to; to == "Won" {
			won++
		}
		moved++
	}
	d.ClearFaults()
	return moved, won
}

// upperCaseIDs is a transport to a service whose answers write UUIDs in upper case, unlike its
// deliveries; it accepts either.
type upperCaseIDs struct{}

var uuids = regexp.MustCompile(`"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"`)

func (upperCaseIDs) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawQuery = strings.ToLower(r.URL.Path), strings.ToLower(r.URL.RawQuery)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	body = uuids.ReplaceAllFunc(body, bytes.ToUpper)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, err
}

// A UUID is the same in upper case: a delivered event is not found again, in either case, and the
// engine's effects are its own.
func TestLettersOfUUIDs(t *testing.T) {
	d := newDesk(t, talkRules+`
  - { id: on-moved, when: kanban.card.moved, do: [{ log: moved }] }
`, func(o *deskOptions) { o.transport = upperCaseIDs{} })
	d.pass(time.Minute)
	d.customer(1, "hello")
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: "Customer 1", Person: "Bruno", Text: "hi"}))
	d.pass(10 * time.Minute)
	must(d.TeamClose(sandbox.TeamClose{Conversation: "Customer 1", Person: "Bruno"}))
	d.pass(20 * time.Minute)
	for typ, want := range map[string]int{"message.received": 1, "message.sent": 2, "attendance.opened": 1, "attendance.closed": 1, "kanban.card.moved": 1} {
		if got := len(d.of(typ)); got != want || d.counted[typ] != 0 {
			t.Errorf("%s: %d recorded, want %d; %d of them found", typ, got, want, d.counted[typ])
		}
	}
	if v := d.verdicts("on-sent"); v[journal.Own] != 1 || v[journal.Fired] != 1 {
		t.Errorf("messages that were sent: %v", v)
	}
}
