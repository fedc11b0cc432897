package backfill_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

// A form is how a service shows its objects, other than the sandbox does.
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

// shown has the service show its objects in another form.
func shown(f form) func(*deskOptions) { return func(o *deskOptions) { o.transport = f } }

// A service whose list shows no versions, and whose events are created a moment after the card has changed: each move is one.
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
