package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

var _ engine.Desk = (*builtin.Desk)(nil)

// factTypes are the types of the facts that come from the service.
var factTypes = map[string]*rules.Type{
	"message": rules.MessageType, "conversation": rules.ConversationType, "contact": rules.ContactType, "attendance": rules.AttendanceType, "card": rules.CardType,
}

// raiseEvents does everything that raises events, and returns them as they were delivered.
func (d *desk) raiseEvents() []rules.Event {
	d.t.Helper()
	heard := d.newEvents()
	var events []rules.Event
	for _, happen := range []func() error{
		func() error {
			_, err := d.CustomerMessage(sandbox.CustomerMessage{Phone: nobody, Name: "Bia Rocha", Text: "good evening"})
			return err
		},
		func() error {
			_, err := d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "to all", Group: "Family"})
			return err
		},
		func() error {
			_, err := d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"})
			return err
		},
		func() error {
			_, err := d.TeamMessage(sandbox.TeamMessage{Conversation: d.conversation, Person: "Bruno", Text: "hi"})
			return err
		},
		func() error { d.do("add_labels", m{"labels": []any{"vip"}}); return nil },
		func() error { d.do("send_message", m{"text": "from the engine"}); return nil },
		func() error {
			_, err := d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Nobody's order"})
			return err
		},
		func() error {
			_, err := d.MoveCard(sandbox.MoveCard{Card: d.card, Stage: "Won", Person: "Bruno"})
			return err
		},
		func() error {
			_, err := d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno", Reason: "sold"})
			return err
		},
	} {
		if err := happen(); err != nil {
			d.t.Fatal(err)
		}
		events = append(events, d.checkCarried(heard())...)
	}
	return events
}

// checkCarried checks that events carry what the service returns when it is asked.
func (d *desk) checkCarried(events []rules.Event) []rules.Event {
	d.t.Helper()
	for _, e := range events {
		facts, about, err := d.tells.Carried(d.t.Context(), e)
		if err != nil {
			d.t.Fatal(err)
		}
		for name, carried := range facts {
			fits(d.t, e.Type+": "+name, factTypes[name], carried)
			asked := about
			fetched, err := d.tells.Fact(d.t.Context(), name, &asked)
			if err != nil {
				d.t.Fatal(err)
			}
			if asked != about {
				d.t.Errorf("%s is about %+v, and the %s tells %+v", e.Type, about, name, asked)
			}
			if diff := cmp.Diff(fetched, carried, ignoring(changedSince(e.Type, name)...)); diff != "" {
				d.t.Errorf("%s carries another %s than is fetched (-fetched +carried):\n%s", e.Type, name, diff)
			}
		}
	}
	return events
}

// changedSince lists the fields that only the event has, or that have changed since it was raised.
func changedSince(event, fact string) []string {
	switch {
	case fact == "card":
		return []string{"from_stage_id", "from_stage_name", "moved_by"}
	case fact == "conversation" && event == "attendance.opened":
		return []string{"last_message", "unread"}
	}
	return nil
}

func ignoring(fields ...string) cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool {
		step, ok := p.Last().(cmp.MapIndex)
		return ok && slices.Contains(fields, step.Key().String())
	}, cmp.Ignore())
}

// TestEventsCarryWhatTheServiceTells compares what each event carries with what the desk fetches.
func TestEventsCarryWhatTheServiceTells(t *testing.T) {
	d := newDesk(t, func(o *builtin.Options) {
		o.Own = func(_ context.Context, m service.Message) (bool, error) { return m.ClientID != "", nil }
	})
	carries := map[string][]string{}
	by := map[string][]string{}
	for _, e := range d.raiseEvents() {
		facts, _, _ := d.tells.Carried(t.Context(), e)
		for name := range facts {
			if !slices.Contains(carries[e.Type], name) {
				carries[e.Type] = append(carries[e.Type], name)
				slices.Sort(carries[e.Type])
			}
		}
		if message, ok := facts["message"].(m); ok {
			by[e.Type] = append(by[e.Type], message["by"].(string))
		}
	}
	want := map[string][]string{
		"message.received": {"contact", "conversation", "message"}, "message.sent": {"contact", "conversation", "message"},
		"conversation.updated": {"conversation"}, "attendance.opened": {"attendance", "contact", "conversation"},
		"attendance.closed":   {"attendance", "contact", "conversation"},
		"kanban.card.created": {"card"}, "kanban.card.moved": {"card"}, "kanban.card.completed": {"card"},
	}
	if diff := cmp.Diff(want, carries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"message.received": {"customer", "customer"}, "message.sent": {"team", "engine"}}, by); diff != "" {
		t.Errorf("who wrote (-want +got):\n%s", diff)
	}
}

// TestAbout shows what an event is about, also by the links of its objects.
func TestAbout(t *testing.T) {
	d := newDesk(t)
	card := must(json.Marshal(d.readCard().Raw))
	attendance := must(json.Marshal(must(d.client.GetAttendance(t.Context(), d.attendance)).Raw))
	for _, c := range []struct {
		name, event, data string
		want              actions.Subject
	}{
		{"a card points to its conversation, its contact and its attendance", "kanban.card.created", `{"card":{"id":"k","conversation_id":"c","contact_id":"p","attendance_id":"a"}}`,
			actions.Subject{Card: "k", Conversation: "c", Contact: "p", Attendance: "a"}},
		{"a whole card", "kanban.card.created", fmt.Sprintf(`{"card":%s}`, card), actions.Subject{Card: d.card, Conversation: d.conversation, Contact: d.contact}},
		{"a whole attendance", "attendance.opened", fmt.Sprintf(`{"attendance":%s}`, attendance), actions.Subject{Conversation: d.conversation, Contact: d.contact, Attendance: d.attendance}},
		{"a conversation points to its contact", "conversation.updated", `{"conversation":{"id":"c","contact":{"id":"p"}}}`, actions.Subject{Conversation: "c", Contact: "p"}},
		{"a message points to its conversation", "message.sent", `{"message":{"id":"m","conversation_id":"c"}}`, actions.Subject{Message: "m", Conversation: "c"}},
		{"a conversation by hand", "manual", `{"conversation_id":"c"}`, actions.Subject{Conversation: "c"}},
		{"a card by hand", "manual", `{"card_id":"k","contact_id":"p"}`, actions.Subject{Card: "k", Contact: "p"}},
		{"an attendance of a schedule", "schedule", `{"attendance":{"id":"a","conversation_id":"c","contact_id":"p"}}`, actions.Subject{Attendance: "a", Conversation: "c", Contact: "p"}},
		{"nothing", "message.received", `{}`, actions.Subject{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, about, err := d.tells.Carried(t.Context(), event(c.event, c.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, about); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func event(typ, data string) rules.Event {
	e := rules.Event{Workspace: "acme", ID: "e1", Type: typ}
	if err := json.Unmarshal([]byte(data), &e.Data); err != nil {
		panic(err)
	}
	return e
}

// TestPartsAreNotFacts removes fields from what events carry: the rest shows what the event is
// about, and the fact is fetched when it is asked for.
func TestPartsAreNotFacts(t *testing.T) {
	d := newDesk(t)
	data := `{"message":{"id":"m1"},"conversation":{"id":"c1","name":"Ana","kind":"direct"},"contact":{"id":"p1","name":"Ana","phone":"+55"},"attendance":{"id":"a1","status":"open"},"card":{"id":"k1","title":"x"}}`
	for _, typ := range append(vocabulary.EventTypes(), "manual", "schedule") {
		if typ == "kanban.card.moved" {
			continue
		}
		facts, about, err := d.tells.Carried(t.Context(), event(typ, data))
		if err != nil || len(facts) > 0 {
			t.Errorf("%s: decides on %v, %v", typ, facts, err)
		}
		if want := (actions.Subject{Message: "m1", Conversation: "c1", Contact: "p1", Attendance: "a1", Card: "k1"}); about != want {
			t.Errorf("%s: %+v", typ, about)
		}
	}
	// A message without its side has the side of the event that carries it, and no other.
	const message = `{"message":{"id":"m1","text":"hi","created_at":"2026-11-13T20:50:00Z"}}`
	for typ, want := range map[string]any{"message.received": "customer", "message.sent": "team", "manual": nil} {
		facts, _, err := d.tells.Carried(t.Context(), event(typ, message))
		got, carried := facts["message"].(m)
		if err != nil || carried != (want != nil) || got["by"] != want {
			t.Errorf("%s: %v, %v", typ, facts, err)
		}
	}
}

// TestMovedCard shows that a rule sees the stage that a card left, whatever the event carries of
// the card.
func TestMovedCard(t *testing.T) {
	d := newDesk(t)
	heard := d.newEvents()
	must(d.MoveCard(sandbox.MoveCard{Card: d.card, Stage: "Follow-up", Person: "Bruno"}))
	whole := heard()[0]
	must(d.MoveCard(sandbox.MoveCard{Card: d.card, Stage: "Lead", Person: "Carla"}))
	part := whole
	part.Data = maps.Clone(whole.Data)
	part.Data["card"] = m{"id": d.card}
	for name, e := range map[string]rules.Event{"a whole card": whole, "only its id": part} {
		facts, about, err := d.tells.Carried(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		card := facts["card"].(m)
		fits(t, name, rules.CardType, card)
		got := []any{card["from_stage_name"], card["stage_name"], card["stage_id"], card["moved_by"], card["title"]}
		want := []any{"Proposal", "Follow-up", d.stage("Follow-up"), d.id(service.KindPerson, "Bruno"), "Ana's order"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if about.Conversation != d.conversation || about.Card != d.card {
			t.Errorf("%s: %+v", name, about)
		}
	}
	// A card that cannot be read fails only the rules that ask for it; a service that is down is asked
	// again.
	part.Data["card"] = m{"id": "00000000-0000-4000-8000-000000000000"}
	if facts, about, err := d.tells.Carried(t.Context(), part); err != nil || facts["card"] != nil || about.Card == "" {
		t.Errorf("a card that is gone: %v, %+v, %v", facts, about, err)
	}
	part.Data["card"] = m{"id": d.card}
	d.fault(sandbox.Fault{Operation: "GET /kanban/cards/{id}", Kind: "status_before", Status: http.StatusForbidden})
	if facts, _, err := d.tells.Carried(t.Context(), part); err != nil || facts["card"] != nil {
		t.Errorf("a card that may not be read: %v, %v", facts, err)
	}
	d.ClearFaults()
	d.fault(sandbox.Fault{Operation: "GET /kanban/cards/{id}", Kind: "status_before", Status: http.StatusServiceUnavailable})
	if _, _, err := d.tells.Carried(t.Context(), part); err == nil || actions.IsPermanent(err) || actions.IsHeld(err) {
		t.Errorf("a service that is down: %v", err)
	}
}

// TestCarriedByAnotherProfile reads events of a service that uses other names; the engine's own
// events are read all the same.
func TestCarriedByAnotherProfile(t *testing.T) {
	profile, errs := service.ProfileFromMap(m{
		"event": m{"conversation": "payload.talk", "conversation_id": "payload.talk.id", "contact": []any{}, "contact_id": []any{}},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	d := newDesk(t)
	client := must(service.New(service.Options{BaseURL: d.base, APIKey: service.Secret(d.APIKey()), Now: d.clock.Now, Profile: &profile}))
	tells := must(builtin.NewDesk(builtin.Options{Client: client}))
	raw := must(json.Marshal(d.readConversation().Raw))
	for typ, data := range map[string]string{
		"conversation.updated": fmt.Sprintf(`{"payload":{"talk":%s}}`, raw), "manual": fmt.Sprintf(`{"conversation":%s}`, raw), "schedule": fmt.Sprintf(`{"conversation":%s}`, raw),
	} {
		facts, about, err := tells.Carried(t.Context(), event(typ, data))
		if conversation, _ := facts["conversation"].(m); err != nil || about.Conversation != d.conversation || conversation["channel_name"] != "Main" {
			t.Errorf("%s: %v, %+v, %v", typ, facts, about, err)
		}
	}
}

// TestNamesThatCannotBeFoundNow shows that a rule waits for names rather than decide without them.
func TestNamesThatCannotBeFoundNow(t *testing.T) {
	d := newDesk(t)
	d.fault(sandbox.Fault{Operation: "GET /channels", Kind: "status_before", Status: http.StatusServiceUnavailable})
	_, _, err := d.tells.Carried(t.Context(), event("conversation.updated", fmt.Sprintf(`{"conversation":%s}`, must(json.Marshal(d.readConversation().Raw)))))
	if err == nil || actions.IsPermanent(err) || actions.IsHeld(err) {
		t.Errorf("%v", err)
	}
}

// TestNamesThatNobodyAsksFor shows that an event is read without looking up the names that only
// some of its facts need.
func TestNamesThatNobodyAsksFor(t *testing.T) {
	d := newDesk(t)
	heard := d.newEvents()
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "good evening"}))
	events := heard()
	e := events[slices.IndexFunc(events, func(e rules.Event) bool { return e.Type == "message.received" })]
	d.fault(sandbox.Fault{Operation: "GET /channels", Kind: "status_before", Status: http.StatusServiceUnavailable})
	carried, about, err := d.tells.Read(t.Context(), e)
	if err != nil || about.Conversation != d.conversation {
		t.Fatal(about, err)
	}
	fact, ok, err := carried.Fact(t.Context(), "message")
	if message, _ := fact.(m); message["text"] != "good evening" || !ok || err != nil {
		t.Error(fact, ok, err)
	}
	if fact, ok, err := carried.Fact(t.Context(), "conversation"); ok || err == nil || actions.IsPermanent(err) {
		t.Error(fact, ok, err)
	}
	d.ClearFaults()
	d.clock.Advance(time.Minute)
	fact, ok, err = carried.Fact(t.Context(), "conversation")
	if conversation, _ := fact.(m); conversation["channel_name"] != "Main" || !ok || err != nil {
		t.Error(fact, ok, err)
	}
	if fact, ok, err := carried.Fact(t.Context(), "card"); fact != nil || ok || err != nil {
		t.Error(fact, ok, err)
	}
}

// TestIDsThatCannotBe shows that an event with an id that is too long is refused for good.
func TestIDsThatCannotBe(t *testing.T) {
	d := newDesk(t)
	long := strings.Repeat("x", 201)
	for _, name := range []string{"conversation", "contact", "message", "attendance", "card"} {
		for _, typ := range []string{"kanban.card.moved", "manual"} {
			if _, _, err := d.tells.Carried(t.Context(), event(typ, fmt.Sprintf(`{"%s":{"id":%q}}`, name, long))); !actions.IsPermanent(err) {
				t.Errorf("%s in %s: %v", name, typ, err)
			}
		}
	}
}

// FuzzCarried reads events with arbitrary data: they carry facts of the right types, or none, or
// cause a permanent error.
func FuzzCarried(f *testing.F) {
	d := newDesk(f)
	for _, e := range d.raiseEvents() {
		f.Add(e.Type, string(must(json.Marshal(e.Data))))
	}
	nested := strings.Repeat(`{"conversation":`, 200) + `1` + strings.Repeat(`}`, 200)
	for _, data := range []string{
		`{}`, `{"message":7,"conversation":[],"contact":true,"attendance":"x","card":{"id":{"id":{}}}}`, `{"conversation":{"id":"` + strings.Repeat("9", 400) + `"}}`, nested,
		`{"card":{"id":"k","board_id":"../../me","stage_id":"","label_ids":[[]]},"from_stage_id":{},"moved_by":[1]}`, `{"message":{"id":"m","text":{"body":[]},"created_at":-1,"media_id":1e300}}`,
	} {
		for _, typ := range []string{"message.received", "kanban.card.moved", "manual", "schedule", "no.such", ""} {
			f.Add(typ, data)
		}
	}
	f.Fuzz(func(t *testing.T, typ, data string) {
		e := rules.Event{ID: "e1", Type: typ}
		if json.Unmarshal([]byte(data), &e.Data) != nil {
			return
		}
		facts, about, err := d.tells.Carried(t.Context(), e)
		if err != nil {
			if !actions.IsPermanent(err) {
				t.Errorf("asked again for ever: %v", err)
			}
			return
		}
		for name, fact := range facts {
			if fact == nil || factTypes[name] == nil {
				t.Errorf("%s: %v", name, fact)
			}
			fits(t, name, factTypes[name], fact)
		}
		if lane := about.Lane(); len(lane) > 300 {
			t.Errorf("a lane of %d bytes", len(lane))
		}
	})
}
