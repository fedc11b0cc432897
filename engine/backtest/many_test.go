package backtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// TestExactlyWhatDiffers changes what a rule does with one message of ten: those runs differ, and
// no others.
func TestExactlyWhatDiffers(t *testing.T) {
	const text = `
rules:
  - { id: greet, when: message.received, do: [{ send_message: "Hello {{ contact.name }}" }, { add_labels: [vip] }] }
  - { id: read, when: message.received, do: [{ mark_read: }] }
`
	messages := 300
	if testing.Short() {
		messages = 50
	}
	j := must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{}))
	defer j.Close()
	o := optionsOf(j, "default", service.Snapshot{}, fill(t, j, text, time.Date(2026, 11, 1, 8, 0, 0, 0, saoPaulo), messages))
	for _, c := range []struct {
		name, to string
		differs  func(i int) bool
	}{
		{"nothing", "Hello {{ contact.name }}", func(int) bool { return false }},
		{"the words alone", "{{ 'Hello ' + contact.name }}", func(int) bool { return false }},
		{"what is said to some", "{{ message.text == 'hello 7' ? 'Hi' : 'Hello' }} {{ contact.name }}", func(i int) bool { return i%10 == 7 }},
		{"what is said to all", "Hi {{ contact.name }}", func(int) bool { return true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := must(backtest.Run(t.Context(), o, desktest.Compile(t, replace(text, "Hello {{ contact.name }}", c.to))))
			var want, got []string
			for i := range messages {
				if c.differs(i) {
					want = append(want, fmt.Sprint("greet e", i))
				}
			}
			for _, d := range r.Differences {
				got = append(got, d.Rule+" "+d.Event)
			}
			if diff := cmp.Diff(want, got); diff != "" || len(r.Effects) != 3*messages || len(r.NotRecorded) > 0 {
				t.Errorf("%d effects, %d not recorded, differences (-want +got):\n%s", len(r.Effects), len(r.NotRecorded), diff)
			}
		})
	}
}

// fill lets an engine live through messages that come every ten seconds.
func fill(b testing.TB, j *sqlite.Journal, text string, at time.Time, n int) time.Time {
	b.Helper()
	set := desktest.Compile(b, text)
	list := []actions.Action{}
	for _, s := range builtin.Schemas() {
		list = append(list, noAction{s})
	}
	offline := builtin.NewOffline(builtin.OfflineOptions{})
	e := must(engine.New(engine.Options{Journal: j}, engine.Workspace{Name: "default", Actions: must(actions.NewRegistry(list...)), Desk: noDesk{offline}, Location: saoPaulo}))
	if err := e.SetRules("default", set); err != nil {
		b.Fatal(err)
	}
	var batch []rules.Event
	for i := range n {
		at = at.Add(10 * time.Second)
		c := fmt.Sprintf("20000000-0000-4000-8000-%012d", i*7919%1000)
		event := rules.Event{
			Workspace: "default", ID: fmt.Sprint("e", i), Type: "message.received", Lane: "conversation:" + c, CreatedAt: at, ReceivedAt: at,
			Data: map[string]any{
				"message": map[string]any{"id": fmt.Sprint("m", i), "conversation_id": c, "text": fmt.Sprint("hello ", i%10), "direction": "inbound", "created_at": at.Format(time.RFC3339),
					"media_id": nil, "client_id": nil, "external_id": nil, "reply_to_external_id": nil},
				"contact":      map[string]any{"id": "c" + c, "name": "Ana " + c[30:], "phone": "+55", "company": nil, "city": nil, "channel_id": nil, "label_ids": []any{}, "blocked": false},
				"conversation": map[string]any{"id": c, "kind": "direct", "name": "Ana"},
			},
		}
		if batch = append(batch, event); len(batch) == 50 || i == n-1 {
			must(e.Accept(b.Context(), batch...))
			must(e.Tick(b.Context(), at))
			batch = nil
		}
	}
	return at
}

// noAction does at once what it is asked for.
type noAction struct{ schema rules.Schema }

func (a noAction) Schema() rules.Schema { return a.schema }

func (a noAction) Plan(_ context.Context, s *actions.Step) (actions.Next, error) {
	if len(s.Receipts) > 0 {
		return actions.Next{Result: &actions.Result{Outcome: actions.Done}}, nil
	}
	return actions.Next{Intent: &actions.Intent{Call: "x", At: s.Now, Request: json.RawMessage(`{}`)}}, nil
}

func (noAction) Do(context.Context, *actions.Step, actions.Intent) (actions.Receipt, error) {
	return actions.Receipt{Call: "x"}, nil
}

func (noAction) Settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return actions.Settlement{Verdict: actions.Repeat}, nil
}

func (noAction) Made(context.Context, actions.Intent, actions.Subject) (bool, error) {
	return false, nil
}

// noDesk knows what events carry, and nothing else.
type noDesk struct{ *builtin.Offline }

func (d noDesk) Read(ctx context.Context, e rules.Event) (actions.Carried, actions.Subject, error) {
	facts, about, err := d.Carried(ctx, e)
	return actions.Told(facts), about, err
}
func (noDesk) Fact(context.Context, string, *actions.Subject) (any, error)  { return nil, nil }
func (noDesk) HumanActive(context.Context, string, time.Time) (bool, error) { return false, nil }
func (noDesk) Received(context.Context, string, time.Time) ([]rules.Event, error) {
	return nil, nil
}
func (noDesk) WaitingSince(context.Context, string) (time.Time, error) { return time.Time{}, nil }
func (noDesk) Items(context.Context, string, map[string]any) iter.Seq2[engine.Item, error] {
	return nil
}
func (noDesk) Probe(context.Context) error { return nil }
