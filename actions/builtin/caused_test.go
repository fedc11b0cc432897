package builtin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// newEvents collects the events that the service raises. The returned function returns those since
// its last call.
func (d *desk) newEvents() func() []rules.Event {
	d.t.Helper()
	var mu sync.Mutex
	var events []rules.Event
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e struct {
			ID, Type string
			Data     map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			d.t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		events = append(events, rules.Event{Workspace: "acme", ID: e.ID, Type: e.Type, Data: e.Data})
	}))
	d.t.Cleanup(receiver.Close)
	must(d.client.RegisterWebhook(d.t.Context(), service.NewWebhook{Name: "heard", URL: receiver.URL, Events: vocabulary.EventTypes()}))
	return func() []rules.Event {
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		fresh := events
		events = nil
		return fresh
	}
}

// TestEveryEventIsAccountedFor makes every verb act and collects the events of the service. An
// event that no receipt accounts for would be taken for another sender's, and start rules. An event
// that is missing in the schema could be part of a cycle for which rules get no warning.
func TestEveryEventIsAccountedFor(t *testing.T) {
	cases := append(slices.Clone(verbCases),
		verbCase{"into a winning stage", "move_card", plain(m{"to": "Won"}), nil},
		verbCase{"in a winning stage", "create_card", plain(m{"board": "Sales", "stage": "Won", "title": "Sold at once"}), nil},
	)
	for _, c := range cases {
		t.Run(c.verb+"/"+c.name, func(t *testing.T) {
			run := c.start(t)
			heard := run.newEvents()
			must(run.run())
			schema := run.action.Schema()
			told := slices.Clone(schema.Emits)
			for _, a := range schema.Args {
				told = append(told, a.Emits...)
			}
			var caused []string
			for _, r := range run.step.Receipts {
				for _, e := range r.Caused {
					caused = append(caused, e.Event)
				}
			}
			for _, e := range heard() {
				event := e.Type
				if !slices.Contains(told, event) {
					t.Errorf("the service raised %s, which the schema does not tell", event)
				}
				i := slices.Index(caused, event)
				if i < 0 {
					t.Errorf("the service raised %s, for which no receipt accounts (left: %v)", event, caused)
					continue
				}
				caused = slices.Delete(caused, i, i+1) // one for one
			}
		})
	}
}
