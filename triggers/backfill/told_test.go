package backfill_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/backfill"
)

const talkRules = `
rules:
  - { id: on-received, when: message.received, do: [{ send_message: "hello {{ contact.name }}" }] }
  - { id: on-sent, when: message.sent, do: [{ log: sent }] }
  - { id: on-opened, when: attendance.opened, do: [{ log: "{{ attendance.protocol }} of {{ contact.name }}" }] }
  - { id: on-closed, when: attendance.closed, do: [{ log: closed }] }
`

// The very first start reports nothing of the past, however recent; the next start reports
// everything since.
func TestFirstStart(t *testing.T) {
	d := newDesk(t, talkRules, func(o *deskOptions) { o.events = []string{} })
	d.customer(1, "before")
	d.move(d.clock().Add(time.Second))
	d.pass(time.Hour)
	if list := d.all(); len(list) > 0 {
		t.Errorf("the past is told:\n%s", d.trace())
	}
	d.stop()
	d.pass(10 * time.Minute)
	d.customer(2, "while it was down")
	must(d.TeamClose(sandbox.TeamClose{Conversation: "Customer 1", Person: "Bruno"}))
	d.pass(10 * time.Minute)
	d.start()
	d.pass(10 * time.Minute)
	for typ, want := range map[string]int{"message.received": 1, "message.sent": 1, "attendance.opened": 1, "attendance.closed": 1} {
		if got := len(d.of(typ)); got != want || d.counted[typ] != want {
			t.Errorf("%d of %s, counted %d", got, typ, d.counted[typ])
		}
	}
	if v := d.verdicts("on-sent"); v[journal.Own] != 1 || len(v) != 1 {
		t.Errorf("the engine's own message: %v", v)
	}
}

// A found event equals the delivered one: the same facts, in the same lane, at the object's own
// time.
func TestFoundAsTold(t *testing.T) {
	told, lost := newDesk(t, talkRules), newDesk(t, talkRules)
	for _, d := range []*desk{told, lost} {
		d.pass(time.Minute)
		if d == lost {
			d.fault("delivery", "lose", 0, 0, 0)
		}
		d.customer(1, "hello")
		d.pass(10 * time.Minute)
		must(d.TeamClose(sandbox.TeamClose{Conversation: "Customer 1", Person: "Bruno"}))
		d.pass(20 * time.Minute)
	}
	p := service.DefaultProfile()
	for _, typ := range []string{"message.received", "message.sent", "attendance.opened", "attendance.closed"} {
		a, b := told.of(typ), lost.of(typ)
		if len(a) != 1 || len(b) != 1 || a[0].Found() || !b[0].Found() {
			t.Fatalf("%s: told %d, found %d", typ, len(a), len(b))
		}
		if a[0].Lane != b[0].Lane || a[0].Tenant != b[0].Tenant || typ != "message.sent" && !a[0].CreatedAt.Equal(b[0].CreatedAt) {
			t.Errorf("%s: told %+v, found %+v", typ, a[0].Event, b[0].Event)
		}
		for _, kind := range []service.Kind{service.KindMessage, service.KindConversation, service.KindContact, service.KindAttendance} {
			if x, y := p.EventID(kind, typ, a[0].Data), p.EventID(kind, typ, b[0].Data); x != y && typ != "message.sent" {
				t.Errorf("%s: the %s is %q, found %q", typ, kind, x, y)
			}
			object, carried := p.EventObject(kind, typ, a[0].Data)
			found, ok := p.EventObject(kind, typ, b[0].Data)
			if carried && (!ok || p.IsWhole(kind, object) != p.IsWhole(kind, found)) {
				t.Errorf("%s: found without the whole %s", typ, kind)
			}
		}
	}
	if v := lost.verdicts("on-sent"); v[journal.Own] != 1 || len(v) != 1 {
		t.Errorf("the engine's own message, found: %v", v)
	}
}

// A delivery after its event was found is a duplicate, and a delivered event is not found.
func TestEitherOrder(t *testing.T) {
	d := newDesk(t, talkRules)
	d.pass(time.Minute)
	d.customer(1, "delivered")
	d.pass(20 * time.Minute)
	if len(d.counted) > 0 {
		t.Errorf("found what was delivered: %v", d.counted)
	}
	d.fault("delivery", "drop_before", 0, 0, 0)
	d.customer(2, "delivered late")
	must(d.TeamClose(sandbox.TeamClose{Conversation: "Customer 1", Person: "Bruno"}))
	d.pass(20 * time.Minute)
	before := len(d.all())
	if d.counted["message.received"] != 1 || d.counted["attendance.closed"] != 1 || d.counted["attendance.opened"] != 1 {
		t.Errorf("found %v", d.counted)
	}
	d.ClearFaults()
	d.pass(8 * time.Hour)
	for what, n := range d.identities() {
		if n != 1 {
			t.Errorf("%s: %d times", what, n)
		}
	}
	if after := len(d.of("message.received")) + len(d.of("attendance.closed")); after != 3 || before == 0 {
		t.Errorf("%d", after)
	}
}

// An attendance that no pass has seen open is closed right before a pass, or while it reads. Its
// webhook may still be in flight, so that a later pass reports it, however long ago it was opened.
func TestClosedWhenThePassComes(t *testing.T) {
	for _, when := range []string{"before the pass", "while it reads"} {
		t.Run(when, func(t *testing.T) {
			reads := &closesOnRead{}
			d := newDesk(t, talkRules, func(o *deskOptions) {
				o.transport = reads
				o.tune = func(b *backfill.Options) { b.Every = 30 * time.Minute }
			})
			d.pass(time.Hour + time.Minute)
			d.fault("delivery", "lose", 0, 0, 0)
			d.customer(1, "hello")
			d.pass(28 * time.Minute)
			closes := sync.OnceFunc(func() { must(d.TeamClose(sandbox.TeamClose{Conversation: "Customer 1", Person: "Bruno"})) })
			if when == "while it reads" {
				reads.closes = closes
			} else {
				closes()
			}
			d.pass(2 * time.Hour)
			if got := len(d.of("attendance.closed")); got != 1 {
				t.Errorf("%d times closed:\n%s", got, d.trace())
			}
		})
	}
}

// closesOnRead closes an attendance right before the list of the open ones is read.
type closesOnRead struct{ closes func() }

func (c *closesOnRead) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.closes != nil && r.URL.Query().Get("status") == "open" {
		c.closes()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Two webhook events of one message are two events, also when the message was found before.
func TestTwoEventsOfOneMessage(t *testing.T) {
	d := newDesk(t, talkRules)
	d.pass(time.Minute)
	w := d.customer(1, "hello")
	d.settle()
	again := []byte(`{"message":{"id":"` + w.Message.String() + `","text":"hello","direction":"inbound"},"conversation":{"id":"` + w.Conversation.String() + `"}}`)
	must(d.Raise("message.received", again))
	d.pass(20 * time.Minute)
	if got := len(d.of("message.received")); got != 2 {
		t.Errorf("%d events", got)
	}
}

// A pass searches only for what rules need, and not for what webhooks may still deliver.
func TestOnlyWhatIsNeeded(t *testing.T) {
	calls := &watched{}
	d := newDesk(t, `rules: [{ id: it, when: attendance.opened, do: [{ log: opened }] }]`, calls.watch)
	d.pass(time.Hour)
	d.fault("delivery", "lose", 0, 0, 0)
	d.customer(1, "hello")
	d.source.Wake("test")
	d.pass(time.Minute)
	if n := len(d.of("attendance.opened")); n != 0 {
		t.Error("found what may be on its way")
	}
	d.pass(10 * time.Minute)
	if n := len(d.of("attendance.opened")); n != 1 || len(d.all()) != 1 {
		t.Errorf("%d found", n)
	}
	for _, path := range calls.paths() {
		if strings.Contains(path, "/messages") || strings.HasPrefix(path, "/v1/kanban") || path == "/v1/conversations" {
			t.Errorf("%s was asked for", path)
		}
	}
}

// A delivery with little data is matched too, in either order.
func TestDeliveriesThatCarryLittle(t *testing.T) {
	for name, data := range map[string]func(message string) map[string]any{
		"the message's id": func(id string) map[string]any { return map[string]any{"message_id": id} },
		"the message without its conversation": func(id string) map[string]any {
			return map[string]any{"message": map[string]any{"id": id, "text": "hello"}}
		},
		"the message itself": func(id string) map[string]any { return map[string]any{"id": id, "text": "hello"} },
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, delivered first %v", name, first), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, talkRulesOnly)
				d.pass(time.Minute)
				d.fault("delivery", "lose", 0, 0, 0)
				at := d.clock()
				w := d.customer(1, "hello")
				want := 202
				if !first {
					want = 200
					d.pass(10 * time.Minute)
				}
				if got := d.deliver("delivered", "message.received", at, data(w.Message.String())); got != want {
					t.Errorf("answered with %d, want %d", got, want)
				}
				d.pass(20 * time.Minute)
				if got := len(d.of("message.received")); got != 1 {
					t.Errorf("%d events:\n%s", got, d.trace())
				}
			})
		}
	}
}

// Nothing reports what happens on a private number.
func TestPrivateNumbers(t *testing.T) {
	d := newDesk(t, talkRules)
	if err := d.AddState([]byte(`{"channels":[{"name":"Secret","private":true}]}`)); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Minute)
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511955554444", Name: "Private", Text: "psst", Channel: "Secret"}))
	d.pass(time.Hour)
	if len(d.all()) > 0 {
		t.Errorf("told:\n%s", d.trace())
	}
}

// A number that becomes private is not reported from then on.
func TestNumberBecomesPrivate(t *testing.T) {
	var private atomic.Bool
	d := newDesk(t, talkRulesOnly, shown(func(path string, o map[string]any) {
		if path == "/v1/channels" && private.Load() {
			o["private"] = true
		}
	}))
	d.pass(time.Minute)
	d.fault("delivery", "lose", 0, 0, 0)
	d.customer(1, "hello")
	d.pass(20 * time.Minute)
	private.Store(true)
	d.customer(1, "psst")
	d.pass(20 * time.Minute)
	if got := len(d.of("message.received")); got != 1 {
		t.Errorf("told:\n%s", d.trace())
	}
}

// watched is a service that records its calls.
type watched struct {
	http.RoundTripper
	requests chan string
}

func (w *watched) watch(o *deskOptions) {
	w.requests = make(chan string, 100000)
	o.transport = w
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.requests <- r.URL.Path
	return http.DefaultTransport.RoundTrip(r)
}

func (w *watched) paths() (list []string) {
	for len(w.requests) > 0 {
		list = append(list, <-w.requests)
	}
	return list
}
