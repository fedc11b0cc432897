package builtin_test

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/service/sandbox"
)

func TestMessageHasOneClientID(t *testing.T) {
	d := newDesk(t)
	d.do("send_message", m{"text": "once"})
	d.do("send_message", m{"text": "once"}) // the same step, as if the journal had lost everything
	d.wantEffects("POST /conversations/{id}/messages", 1)
	if key := string(d.Effects()[0].Key); key != "6f84a312-f3d4-52a9-8ec3-79069cb5ddd9" {
		t.Errorf("the client_id of a step has changed to %s: what is under way would be sent again", key)
	}
	run := d.drive("send_message", d.step(m{"text": "twice"}))
	run.step.Key = "acme/rule/event/2"
	if _, err := run.run(); err != nil {
		t.Fatal(err)
	}
	d.wantEffects("POST /conversations/{id}/messages", 2)
}

// TestMessageAtHandIsTheRecordedOne shows that a message and its result are as recorded, also if
// nothing had to be decoded.
func TestMessageAtHandIsTheRecordedOne(t *testing.T) {
	for _, text := range []string{"once", "cut \xc3", "<b>\u2028"} {
		d := newDesk(t)
		run := d.drive("send_message", d.step(m{"text": text}))
		intent := must(run.action.Plan(t.Context(), run.now())).Intent
		atHand := must(run.action.Do(t.Context(), run.now(), *intent))
		readBack := must(run.action.Do(t.Context(), run.now(), *throughJSON(intent)))
		if string(atHand.Answer) != string(readBack.Answer) {
			t.Errorf("%q: the answer is %s, read back %s", text, atHand.Answer, readBack.Answer)
		}
		var results []any
		for _, r := range []actions.Receipt{atHand, *throughJSON(&atHand)} {
			run.step.Receipts = []actions.Receipt{r}
			results = append(results, must(run.action.Plan(t.Context(), run.now())).Result.Value)
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Errorf("%q: the result is %v, read back %v", text, results[0], results[1])
		}
		d.wantEffects("POST /conversations/{id}/messages", 1)
	}
}

func TestHeldAndPermanentAnswers(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		status int
		is     func(error) bool
	}{
		{400, actions.IsPermanent}, {404, actions.IsPermanent}, {409, actions.IsPermanent}, {413, actions.IsPermanent},
		{401, actions.IsHeld}, {403, actions.IsDenied}, {500, actions.IsUncertain}, {503, actions.IsUncertain},
		{429, func(err error) bool { return actions.Wait(err) == 30*time.Second && !actions.IsUncertain(err) }},
	} {
		d.fault(sandbox.Fault{Operation: transferOp, Kind: "status_before", Status: c.status, RetryAfter: 30, Count: 1})
		run := d.drive("transfer", d.step(m{"person": "Carla"}))
		next := must(run.action.Plan(context.Background(), run.now()))
		_, err := run.action.Do(context.Background(), run.now(), *next.Intent)
		if !c.is(err) {
			t.Errorf("%d: %v", c.status, err)
		}
		d.clock.Advance(time.Minute)
	}
	d.wantEffects(transferOp, 0)
}

// TestKeylessCreationIsLookedUpBeforeARepeat shows that an object that is created without a key is
// looked up before the call is repeated: unlike the sandbox, another service may create it twice.
func TestKeylessCreationIsLookedUpBeforeARepeat(t *testing.T) {
	for operation, step := range map[string]struct {
		verb string
		args m
	}{
		"POST /conversations": {"send_message", m{"text": "Hi", "to": m{"phone": nobody, "channel": "Main"}}},
		"POST /contacts":      {"create_contact", m{"name": "Rui", "phone": nobody}},
	} {
		t.Run(operation, func(t *testing.T) {
			d := newDesk(t)
			var mu sync.Mutex
			asked := 0
			d.faults.see(func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1") == operation {
					asked++
				}
			})
			r, _ := d.meanwhile(step.verb, step.args, sandbox.Fault{Operation: operation, Kind: "status_after"}, func() {})
			wantOutcome(t, r, actions.Done, "")
			mu.Lock()
			defer mu.Unlock()
			if asked != 1 {
				t.Errorf("asked for %d times", asked)
			}
		})
	}
}

// TestLanes shows that a step that writes to another customer moves to the lane of the phone, then
// to that of the conversation.
func TestLanes(t *testing.T) {
	d := newDesk(t)
	run := d.drive("send_message", d.step(m{"text": "Hi", "to": m{"phone": nobody, "channel": "Main"}}))
	must(run.run())
	var lanes []string
	for _, i := range run.intents {
		lanes = append(lanes, i.Lane)
	}
	if len(lanes) != 2 || lanes[0] != actions.PhoneLane(nobody) || lanes[1] == "" || lanes[1] == d.conversation {
		t.Errorf("lanes %q", lanes)
	}
	run = d.drive("send_message", d.step(m{"text": "Hi", "to": d.conversation}))
	run.step.Key += "/2"
	must(run.run())
	if run.intents[0].Lane != "" {
		t.Errorf("the run's own conversation is the lane %q", run.intents[0].Lane)
	}
}

// TestReceiptsTellWhatTheyCause shows that receipts name the objects of the events that a call
// causes.
func TestReceiptsTellWhatTheyCause(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		verb  string
		args  m
		event string
		id    func() string
	}{
		{"send_message", m{"text": "x"}, "message.sent", func() string { return d.readConversation().LastMessage.ID }},
		{"add_labels", m{"labels": []any{"vip"}}, "conversation.updated", func() string { return d.conversation }},
		{"transfer", m{"person": "Carla"}, "conversation.updated", func() string { return d.conversation }},
		{"set_sector", m{"sector": "Sales"}, "conversation.updated", func() string { return d.conversation }},
		{"mark_read", nil, "conversation.updated", func() string { return d.conversation }},
		{"move_card", m{"to": "Won"}, "kanban.card.moved", func() string { return d.card }},
		{"close_attendance", nil, "attendance.closed", func() string { return d.attendance }},
	} {
		run := d.drive(c.verb, d.step(c.args))
		must(run.run())
		r := run.step.Receipts[len(run.step.Receipts)-1]
		if len(r.Caused) == 0 || r.Caused[0].Event != c.event || r.Caused[0].Object != c.id() {
			t.Errorf("%s caused %+v, want %s of %s first", c.verb, r.Caused, c.event, c.id())
		}
		emits := d.registry.Action(c.verb).Schema().Emits
		for _, caused := range r.Caused {
			if !slices.Contains(emits, caused.Event) {
				t.Errorf("%s caused %s, which its schema does not tell", c.verb, caused.Event)
			}
		}
	}
}

func TestTextThatIsTooLongIsNotSent(t *testing.T) {
	d := newDesk(t)
	if _, err := d.drive("send_message", d.step(m{"text": strings.Repeat("x", 65<<10)})).run(); !actions.IsPermanent(err) {
		t.Errorf("%v", err)
	}
	d.wantEffects("POST /conversations/{id}/messages", 0)
}

// TestCatalogIsThatOfTheActions shows that the catalog needs no client, because rules are checked
// without one.
func TestCatalogIsThatOfTheActions(t *testing.T) {
	d := newDesk(t)
	if diff := cmp.Diff(must(d.registry.Catalog()).Verbs(), builtin.Catalog().Verbs()); diff != "" {
		t.Error(diff)
	}
	if _, err := builtin.New(builtin.Options{}); err == nil {
		t.Error("verbs without a client")
	}
}

// TestUnknownCallFailsForGood shows that an intent that another version recorded is not carried
// out.
func TestUnknownCallFailsForGood(t *testing.T) {
	d := newDesk(t)
	run := d.drive("send_message", d.step(nil))
	if _, err := run.action.Do(t.Context(), run.now(), actions.Intent{Call: "telegram"}); !actions.IsPermanent(err) {
		t.Errorf("%v", err)
	}
	if _, err := run.action.Settle(t.Context(), run.now(), actions.Intent{Call: "send", Request: []byte("{")}); err != nil {
		t.Errorf("a message is repeated whatever was recorded: %v", err)
	}
	if _, err := run.action.Do(t.Context(), run.now(), actions.Intent{Call: "send", Request: []byte("{")}); !actions.IsPermanent(err) {
		t.Errorf("%v", err)
	}
}
