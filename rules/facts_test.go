package rules_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
)

// world is what the rules under test see. It counts what it is asked.
type world struct {
	now     time.Time
	facts   map[string]any
	human   bool
	muted   bool
	waiting time.Duration
	labels  []string
	events  int
	fail    map[string]error
	asked   []string
}

func (w *world) Now() time.Time { return w.now }

func (w *world) Fact(_ context.Context, name string) (any, error) {
	w.asked = append(w.asked, name)
	if err := w.fail[name]; err != nil {
		return nil, err
	}
	return w.facts[name], nil
}

func (w *world) HumanActive(context.Context, time.Duration) (bool, error) {
	w.asked = append(w.asked, "human_active")
	return w.human, w.fail["human_active"]
}

func (w *world) Muted(context.Context) (bool, error) {
	w.asked = append(w.asked, "muted")
	return w.muted, nil
}

func (w *world) CustomerWaiting(context.Context) (time.Duration, error) {
	w.asked = append(w.asked, "customer_waiting")
	return w.waiting, nil
}

func (w *world) Labels(_ context.Context, name string, _ map[string]any) ([]any, error) {
	w.asked = append(w.asked, "labels of "+name)
	var labels []any
	for _, l := range w.labels {
		labels = append(labels, l)
	}
	return labels, nil
}

func (w *world) HasLabel(_ context.Context, _, name string) (bool, error) {
	w.asked = append(w.asked, "has_label")
	for _, l := range w.labels {
		if l == name {
			return true, nil
		}
	}
	return false, nil
}

func (w *world) CountEvents(context.Context, string, time.Duration) (int, error) {
	w.asked = append(w.asked, "count_events")
	return w.events, nil
}

// saoPaulo is Friday 13 November 2026, 17:50, while the office of the tests is open.
var saoPaulo = time.Date(2026, 11, 13, 17, 50, 0, 0, location("America/Sao_Paulo"))

func location(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return loc
}

func newWorld() *world {
	return &world{now: saoPaulo, facts: map[string]any{
		"event": map[string]any{
			"id": "e1", "type": "message.received", "created_at": saoPaulo.Add(-time.Minute).UTC(), "received_at": saoPaulo.UTC(), "age": time.Minute, "tenant_id": "t1",
			"data": map[string]any{"priority": float64(3), "channel": "web", "tags": []any{"a", "b"}, "nested": map[string]any{"deep": true}},
		},
		"message":      map[string]any{"id": "m1", "text": "Olá, quero a segunda via do boleto!", "by": "customer", "media_id": nil, "created_at": saoPaulo.Add(-time.Minute).UTC()},
		"conversation": map[string]any{"id": "c1", "kind": "direct", "name": "Ana", "archived": false, "label_ids": []any{"l1", "l2"}, "assignee": nil, "sector": "s1", "sector_name": "Support"},
		"contact":      map[string]any{"id": "k1", "name": "Ana", "phone": "+5511988887777", "company": nil},
		"attendance":   map[string]any{"id": "a1", "status": "open", "first_response": nil, "opened_at": saoPaulo.Add(-20 * time.Minute).UTC()},
	}}
}

const office = `
calendars:
  office:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-12:00, 13:30-18:00], sat: [09:00-13:00] }
    holidays: [br]
vars: { greeting: Hello, shop: "https://shop.example.com:8443", tries: 3, vips: [Ana, Bia], nested: { colour: red } }
`

// oneRule compiles a rule file whose only rule has the given condition or body.
func oneRule(t testing.TB, body string) *rules.Rule {
	t.Helper()
	set, problems := compile("r.yaml", office+"rules:\n  - id: r\n    when: message.received\n    limit: { times: 1, per: 1h }\n"+body)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set.Rules[0]
}

func ruleIf(t testing.TB, condition string) *rules.Rule {
	t.Helper()
	return oneRule(t, fmt.Sprintf("    if: %q\n    do: [mark_read]\n", condition))
}
