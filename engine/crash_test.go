package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// stepOfVerb has a step for each verb of an action, for Ana's conversation with a card in the stage
// Proposal.
var stepOfVerb = map[string]string{
	"send_message":        `send_message: "hello"`,
	"send_message/phone":  `send_message: { text: "hello", to: { phone: "` + bia + `", channel: Main } }`,
	"transfer":            `transfer: { sector: Supervisors, reason: because }`,
	"set_sector":          `set_sector: { sector: Sales, reason: because }`,
	"add_labels":          `add_labels: [vip, after-hours]`,
	"remove_labels":       `remove_labels: [proposal-sent]`,
	"set_labels":          `set_labels: [vip]`,
	"update_conversation": `update_conversation: { pinned: true, name: Important }`,
	"mark_read":           `mark_read`,
	"open_conversation":   `open_conversation: { channel: Main, phone: "` + bia + `", name: Bia }`,
	"close_attendance":    `close_attendance: { reason: done }`,
	"create_contact":      `create_contact: { name: Bia, phone: "` + bia + `" }`,
	"update_contact":      `update_contact: { company: ACME, add_labels: [vip] }`,
	"find_card":           `find_card: { board: Sales, q: "Ana's order", expect: one }`,
	"move_card":           `move_card: { card: "{{ card.id }}", to: Follow-up, only_from: Proposal }`,
	"create_card":         `create_card: { board: Sales, title: Another, priority: high }`,
	"update_card":         `update_card: { card: "{{ card.id }}", title: Changed, priority: urgent }`,
	"read_attendance":     `read_attendance`,
	"read_conversation":   `read_conversation`,
	"read_contact":        `read_contact`,
	"read_messages":       `read_messages`,
	"read_assignments":    `read_assignments`,
	"read_report":         `read_report: { from: "2026-11-01", to: "2026-11-13" }`,
	"list_attendances":    `list_attendances: { status: open, sector: Sales }`,
	"list_conversations":  `list_conversations: { unread: true }`,
	"list_contacts":       `list_contacts: { max: 5 }`,
	"list_cards":          `list_cards: { board: Sales }`,
	"http_request":        `http_request: { method: POST, url: "OUTSIDE", json: { a: 1 }, repeatable: true }`,
	"wait":                `wait: 10m`,
	"wait_for":            `wait_for: { event: attendance.closed, timeout: 20m }`,
}

// errDead is the error of every operation after the process has died.
var errDead = errors.New("the process is dead")

// A reaper kills an engine at its n-th point: before or after a journal write or a call.
type reaper struct {
	mu     sync.Mutex
	at     int // 0 means never
	points []string
	dead   bool
}

// pass returns errDead if the process dies at a point, or is dead.
func (r *reaper) pass(point string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead {
		return errDead
	}
	r.points = append(r.points, point)
	if len(r.points) == r.at {
		r.dead = true
		return errDead
	}
	return nil
}

func (r *reaper) died() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dead
}

type mortalJournal struct {
	fileJournal
	r *reaper
}

func (j mortalJournal) Save(ctx context.Context, l *journal.Lane, c *journal.Change) error {
	if err := j.r.pass("before save"); err != nil {
		return err
	}
	if err := j.fileJournal.Save(ctx, l, c); err != nil {
		return err
	}
	return j.r.pass("after save")
}

func (j mortalJournal) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	if err := j.r.pass("before accept"); err != nil {
		return nil, err
	}
	fresh, err := j.fileJournal.Accept(ctx, events)
	if err != nil {
		return nil, err
	}
	return fresh, j.r.pass("after accept")
}

type mortalAction struct {
	actions.Action
	r *reaper
}

func (a mortalAction) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	if err := a.r.pass("before " + i.Call); err != nil {
		return actions.Receipt{}, err
	}
	receipt, err := a.Action.Do(ctx, s, i)
	if dead := a.r.pass("after " + i.Call); dead != nil {
		return actions.Receipt{}, dead
	}
	return receipt, err
}

// mortal makes a desk's engine die at the reaper's point.
func mortal(r *reaper) func(*deskOptions) {
	return func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal { return mortalJournal{j, r} }
		o.action = func(a actions.Action) actions.Action { return mortalAction{a, r} }
	}
}

// outside is another system, which recognises a repeated request by its key.
type outside struct {
	*httptest.Server
	mu    sync.Mutex
	calls int
	keys  []string
}

func newOutside(t *testing.T) *outside {
	o := &outside{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.calls++
		if key := r.Header.Get("Idempotency-Key"); !slices.Contains(o.keys, key) {
			o.keys = append(o.keys, key)
		}
	}))
	t.Cleanup(o.Close)
	return o
}

// allow lets http_request reach the other system.
func (o *outside) allow(options *deskOptions) {
	options.http = []builtin.HTTPHost{{Host: strings.TrimPrefix(o.URL, "http://"), Private: true}}
}

// A story is what a step led to when the engine died at a point.
type story struct {
	effects []string
	state   journal.State
	steps   []journal.StepState
	points  []string
	outside int
}

// runStep runs a rule with one step for Ana's message, on an engine that dies at the n-th point.
func runStep(t *testing.T, step string, n int) story {
	t.Helper()
	r := &reaper{}
	other := newOutside(t)
	text := fmt.Sprintf(`
rules:
  - id: it
    when: manual
    do:
      - %s
      - log: done
`, strings.ReplaceAll(step, "OUTSIDE", other.URL+"/hook"))
	d := newDesk(t, text, mortal(r), other.allow)
	w := d.customer(ana, "hello")
	card := must(d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Proposal", Title: "Ana's order", Conversation: w.Conversation.String()}))
	must(d.client.UpdateConversation(t.Context(), w.Conversation.String(), labelled(d, "proposal-sent")))
	d.rest()
	d.effects()
	r.mu.Lock()
	r.points, r.at = nil, n
	r.mu.Unlock()
	event := rules.Event{
		Workspace: "default", ID: "manual/1", Type: "manual", Rule: "it", Lane: actions.ConversationLane(w.Conversation.String()),
		CreatedAt: d.clock.Now(), ReceivedAt: d.clock.Now(), Data: map[string]any{"conversation_id": w.Conversation.String(), "card_id": card.ID.String()},
	}
	for {
		if _, err := d.engine.Accept(t.Context(), event); err != nil && !errors.Is(err, errDead) {
			t.Fatal(err)
		} else if err == nil {
			break
		}
		d.revive(r) // the delivery got no answer, and is repeated
	}
	for range 60 {
		if _, err := d.engine.Tick(t.Context(), d.clock.Now()); err != nil && !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		if r.died() { // perhaps in the decision on an arriving event, outside of the tick
			d.revive(r)
		}
		if err := d.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.awaitArrived(r)
		d.move(d.clock.Now().Add(time.Minute))
	}
	s := story{effects: d.effects(), points: r.points, outside: len(other.keys)}
	for _, run := range d.runs("it") {
		s.state += run.State
		for _, step := range run.Steps {
			s.steps = append(s.steps, step.State)
		}
	}
	if d.t.Failed() || s.state != journal.Done {
		t.Logf("%s", d.trace())
	}
	return s
}

// awaitArrived waits for the visits of arriving events without advancing the clock, unless the
// engine dies in one.
func (d *desk) awaitArrived(r *reaper) {
	if d.arrived == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.arrived()
	}()
	for !r.died() {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// labelled returns a patch that sets one label.
func labelled(d *desk, name string) service.ConversationPatch {
	id := must(service.NewDirectory(d.client).ID(d.t.Context(), service.KindLabel, name))
	return service.ConversationPatch{LabelIDs: service.Set([]string{id})}
}

// revive starts the engine again after its death.
func (d *desk) revive(r *reaper) {
	d.t.Helper()
	r.mu.Lock()
	r.dead, r.at = false, 0
	r.mu.Unlock()
	d.restart()
}

// everyPoint returns how far apart the points are at which tests let the engine die: all of them,
// or few in the short form.
func everyPoint() int {
	if testing.Short() {
		return 40
	}
	return 1
}

// TestDeathAtEveryPoint shows that wherever the process dies, each effect exists exactly once after
// the restart, and the run ends.
func TestDeathAtEveryPoint(t *testing.T) {
	for _, verb := range slices.Sorted(maps.Keys(stepOfVerb)) {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			whole := runStep(t, stepOfVerb[verb], 0)
			if whole.state != journal.Done {
				t.Fatalf("without any death the run is %q: %+v", whole.state, whole)
			}
			t.Logf("%d points: %v; effects %v", len(whole.points), whole.points, whole.effects)
			for n := 1; n <= len(whole.points); n += everyPoint() {
				got := runStep(t, stepOfVerb[verb], n)
				if !slices.Equal(got.effects, whole.effects) || got.state != whole.state || !slices.Equal(got.steps, whole.steps) || got.outside != whole.outside {
					t.Errorf("dead at point %d, %s:\n got %+v\nwant %+v", n, whole.points[n-1], got, whole)
				}
			}
		})
	}
}
