package builtin_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service/sandbox"
)

type m = map[string]any

// A verbCase is a step with known effects, which must be the same whatever goes wrong on the way.
type verbCase struct {
	name    string
	verb    string
	args    func(d *desk) m
	effects []string // the operations that change something, in order
}

func plain(args m) func(*desk) m { return func(*desk) m { return args } }

var verbCases = []verbCase{
	{"text", "send_message", plain(m{"text": "Hello!"}), []string{"POST /conversations/{id}/messages"}},
	{"file", "send_message", plain(m{"text": "Our prices", "media": "prices.pdf"}), []string{"POST /media", "POST /conversations/{id}/messages"}},
	{"to somebody new", "send_message", plain(m{"text": "Hi", "media": "prices.pdf", "to": m{"phone": nobody, "channel": "Main"}}),
		[]string{"POST /conversations", "POST /media", "POST /conversations/{id}/messages"}},
	{"to a contact", "send_message", func(d *desk) m { return m{"text": "Hi", "to": m{"contact": d.contact, "channel": "Main"}} },
		[]string{"POST /conversations/{id}/messages"}},
	{"to a sector", "transfer", plain(m{"sector": "Supervisors", "reason": "late"}), []string{"POST /conversations/{id}/transfer"}},
	{"to a person", "transfer", plain(m{"person": "Carla", "sector": "Supervisors"}), []string{"POST /conversations/{id}/transfer"}},
	{"set", "set_sector", plain(m{"sector": "Sales"}), []string{"PUT /conversations/{id}/sector"}},
	{"add", "add_labels", plain(m{"labels": []any{"vip", "sla-breach"}}), []string{"PATCH /conversations/{id}"}},
	{"remove", "remove_labels", plain(m{"labels": []any{"proposal-sent", "vip"}}), []string{"PATCH /conversations/{id}"}},
	{"set", "set_labels", plain(m{"labels": []any{"after-hours"}}), []string{"PATCH /conversations/{id}"}},
	{"flags and name", "update_conversation", plain(m{"archived": true, "pinned": true, "name": "Ana, orders"}), []string{"PATCH /conversations/{id}"}},
	{"read", "mark_read", plain(nil), []string{"POST /conversations/{id}/read"}},
	{"new", "open_conversation", plain(m{"channel": "Main", "phone": nobody, "name": "Rui"}), []string{"POST /conversations"}},
	{"there", "open_conversation", plain(m{"channel": "Main", "phone": "11 98888-7777"}), nil},
	{"close", "close_attendance", plain(m{"reason": "no answer"}), []string{"POST /conversations/{id}/attendance/close"}},
	{"new", "create_contact", plain(m{"name": "Rui", "phone": nobody, "city": "Campinas"}), []string{"POST /contacts"}},
	{"new with labels", "create_contact", plain(m{"name": "Rui", "phone": nobody, "add_labels": []any{"vip"}, "blocked": true}),
		[]string{"POST /contacts", "PATCH /contacts/{id}"}},
	{"there", "create_contact", plain(m{"name": "Somebody", "phone": "5511988887777"}), nil},
	{"everything", "update_contact", plain(m{"city": "Campinas", "company": "ACME", "add_labels": "vip", "blocked": false}), []string{"PATCH /contacts/{id}"}},
	{"move", "move_card", plain(m{"to": "Follow-up", "only_from": []any{"Proposal"}}), []string{"POST /kanban/cards/{id}/move"}},
	{"create", "create_card", func(d *desk) m {
		return m{"board": "Sales", "stage": "Lead", "title": "Ana's order", "contact": d.contact, "label": []any{"vip"}, "due": "2026-12-24"}
	}, []string{"POST /kanban/cards"}},
	{"update", "update_card", plain(m{"priority": "urgent", "title": "Ana's second order", "due": "2026-12-24"}), []string{"PATCH /kanban/cards/{id}"}},
	{"find", "find_card", plain(m{"board": "Sales", "q": ana, "expect": "one"}), nil},
	{"attendance", "read_attendance", plain(nil), nil},
	{"conversation", "read_conversation", plain(nil), nil},
	{"contact", "read_contact", plain(nil), nil},
	{"messages", "read_messages", plain(m{"limit": 10}), nil},
	{"assignments", "read_assignments", plain(nil), nil},
	{"attendances", "list_attendances", plain(m{"status": "open"}), nil},
	{"conversations", "list_conversations", plain(m{"unread": true}), nil},
	{"contacts", "list_contacts", plain(m{"q": "Ana", "max": 10}), nil},
	{"cards", "list_cards", plain(m{"board": "Sales"}), nil},
	{"report", "read_report", plain(m{"from": "2026-11-13", "to": "2026-11-13"}), nil},
}

// outcome is the state after a run of a case.
type outcome struct {
	Result  string
	Effects []string
}

func (c verbCase) start(t *testing.T) *driver {
	d := newDesk(t)
	d.do("set_labels", m{"labels": []any{"proposal-sent"}}) // so that there is something to remove and to keep
	driver := d.drive(c.verb, d.step(c.args(d)))
	driver.step.Key += "/tested"
	return driver
}

// finish runs a case to its end, which must be done. Uploads count once: a second one leaves an
// unused file.
func (c verbCase) finish(t *testing.T, d *driver) outcome {
	t.Helper()
	before := len(d.Effects())
	result, err := d.run()
	if err != nil {
		t.Fatal(err)
	}
	if result.Outcome != actions.Done {
		t.Fatalf("ended as %s: %s", result.Outcome, result.Why)
	}
	value, err := json.MarshalIndent(result.Value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	names := namer{}
	out := outcome{Result: names.in(string(value))}
	media := false
	for _, e := range d.Effects()[before:] {
		if e.Kind == "media" && media {
			continue
		}
		media = media || e.Kind == "media"
		out.Effects = append(out.Effects, names.in(fmt.Sprintf("%s %s", e.Operation, e.Request)))
	}
	return out
}

// A namer gives ids names in the order in which they are seen: after a repeated upload the sandbox
// generates other ids than without.
type namer map[string]string

var someID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|wamid\.[0-9A-F]{32}`)

func (n namer) in(s string) string {
	return someID.ReplaceAllStringFunc(s, func(id string) string {
		if n[id] == "" {
			n[id] = fmt.Sprintf("<%d>", len(n)+1)
		}
		return n[id]
	})
}

// TestEveryFaultAtEveryCall injects every fault at every request of every verb, reads included, and
// crashes at every point. Each effect must exist once, and the result must be the same.
func TestEveryFaultAtEveryCall(t *testing.T) {
	for i, c := range verbCases {
		if testing.Short() && i%6 != 0 {
			continue
		}
		t.Run(c.verb+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			d := c.start(t)
			d.faults.fail(0, "", 0)
			want := c.finish(t, d)
			requests, intents := d.faults.count(), len(d.intents)
			if got := operationsOf(d); !slices.Equal(got, c.effects) {
				t.Fatalf("without faults: effects %q, want %q", got, c.effects)
			}
			for _, f := range []struct {
				kind string
				code int
			}{{"status_before", 503}, {"status_before", 429}, {"status_before", 401}, {"status_after", 503}, {"drop_before", 0}, {"drop_after", 0}} {
				for n := 1; n <= requests; n++ {
					t.Run(fmt.Sprintf("%s %d at %d", f.kind, f.code, n), func(t *testing.T) {
						d := c.start(t)
						d.faults.fail(n, f.kind, f.code)
						same(t, d, want, c.finish(t, d))
					})
				}
			}
			for _, point := range []string{"intent", "do"} {
				for n := 1; n <= intents; n++ {
					t.Run(fmt.Sprintf("crash after %s %d", point, n), func(t *testing.T) {
						d := c.start(t)
						d.crash = once(point, n)
						same(t, d, want, c.finish(t, d))
					})
				}
			}
			for _, operation := range c.effects {
				for _, f := range []sandbox.Fault{
					{Kind: "status_before", Count: 3}, {Kind: "status_after", Count: 1}, {Kind: "status_after", Count: 3},
					{Kind: "drop_before", Count: 2}, {Kind: "drop_after", Count: 1}, {Kind: "drop_after", Count: 2},
					{Kind: "status_before", Status: 429, RetryAfter: 30, Count: 2},
				} {
					t.Run(fmt.Sprintf("%s %s %d times", operation, f.Kind, f.Count), func(t *testing.T) {
						d := c.start(t)
						f.Operation = operation
						d.fault(f)
						same(t, d, want, c.finish(t, d))
					})
				}
			}
		})
	}
}

// operationsOf lists the operations of a driver's own effects.
func operationsOf(d *driver) []string {
	var out []string
	for _, e := range d.Effects()[1:] { // the first is the case's preparation
		out = append(out, e.Operation)
	}
	return out
}

func once(point string, n int) func(string, int) bool {
	crashed := false
	return func(p string, i int) bool {
		now := !crashed && p == point && i == n
		crashed = crashed || now
		return now
	}
}

func same(t *testing.T, d *driver, want, got outcome) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the outcome differs (settled %v, errors %v):\n%s", d.settled, d.errs, diff)
	}
}

// TestEveryVerbHasACase keeps the table complete; http_request has tests of its own, and what mutes
// makes no call.
func TestEveryVerbHasACase(t *testing.T) {
	d := newDesk(t)
	catalog, err := d.registry.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range catalog.Schemas() {
		tested := slices.ContainsFunc(verbCases, func(c verbCase) bool { return c.verb == s.Verb })
		if d.registry.Action(s.Verb) != nil && !tested && len(s.Scopes) > 0 {
			t.Errorf("no case for %s", s.Verb)
		}
	}
}

// TestServiceThatAnswersNothing shows that a service may answer changes without a body, because the
// reference does not specify one.
func TestServiceThatAnswersNothing(t *testing.T) {
	for _, c := range verbCases {
		t.Run(c.verb+"/"+c.name, func(t *testing.T) {
			want := c.finish(t, c.start(t))
			d := c.start(t)
			d.faults.terse = true
			same(t, d, want, c.finish(t, d))
		})
	}
}
