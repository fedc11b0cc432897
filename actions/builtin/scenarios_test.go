package builtin_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

const (
	transferOp = "POST /conversations/{id}/transfer"
	closeOp    = "POST /conversations/{id}/attendance/close"
	moveOp     = "POST /kanban/cards/{id}/move"
	patchOp    = "PATCH /conversations/{id}"
)

// meanwhile runs a step whose n-th try is answered 503, after its effect or before, and lets something happen before it is settled.
func (d *desk) meanwhile(verb string, args m, f sandbox.Fault, happens func()) (actions.Result, *driver) {
	d.t.Helper()
	f.Count = 1
	d.fault(f)
	run := d.drive(verb, d.step(args))
	run.crash = func(point string, _ int) bool {
		if point == "do" && happens != nil {
			happens()
			happens = nil
			return true
		}
		return false
	}
	result, err := run.run()
	if err != nil {
		d.t.Fatal(err)
	}
	return result, run
}

func (d *desk) effects(operation string) int {
	n := 0
	for _, e := range d.Effects() {
		if e.Operation == operation {
			n++
		}
	}
	return n
}

func (d *desk) wantEffects(operation string, want int) {
	d.t.Helper()
	if got := d.effects(operation); got != want {
		d.t.Errorf("%s took effect %d times, want %d", operation, got, want)
	}
}

func wantOutcome(t *testing.T, r actions.Result, want actions.Outcome, reason string) {
	t.Helper()
	if r.Outcome != want || !strings.Contains(r.Reason, reason) {
		t.Errorf("ended as %s (%s), want %s (%s)", r.Outcome, r.Reason, want, reason)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTransferAnsweredAfterItsEffectIsMadeOnce(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("transfer", m{"sector": "Supervisors"}, sandbox.Fault{Operation: transferOp, Kind: "status_after"}, func() {})
	wantOutcome(t, r, actions.Done, "")
	d.wantEffects(transferOp, 1)
}

func TestTransferThatAPersonOvertookIsSuperseded(t *testing.T) {
	for _, kind := range []string{"status_before", "status_after"} {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			r, _ := d.meanwhile("transfer", m{"sector": "Supervisors"}, sandbox.Fault{Operation: transferOp, Kind: kind}, func() {
				must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"}))
			})
			wantOutcome(t, r, actions.Superseded, "somebody else")
			if now := d.readConversation(); now.AssigneeID != d.id(service.KindPerson, "Bruno") {
				t.Error("the conversation was taken back from Bruno")
			}
		})
	}
}

// A person who puts the conversation back to where it was leaves it looking untouched: only the history tells.
func TestTransferThatAPersonTookBackIsNotRepeated(t *testing.T) {
	d := newDesk(t)
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Ana", Sector: "Support"}))
	r, _ := d.meanwhile("transfer", m{"sector": "Supervisors"}, sandbox.Fault{Operation: transferOp, Kind: "status_after"}, func() {
		must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Ana", Sector: "Support"}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	d.wantEffects(transferOp, 1)
}

func TestTransferToWhereItIsMakesNoCall(t *testing.T) {
	d := newDesk(t)
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Carla", To: "Carla", Sector: "Supervisors"}))
	wantOutcome(t, d.do("transfer", m{"sector": "supervisors"}), actions.Done, "already")
	d.wantEffects(transferOp, 0)
}

// After a pause the world is looked at again: what was right before it may be wrong now.
func TestTransferAfterAPauseDoesNotTakeTheConversationFromAPerson(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("transfer", m{"person": "Carla"}, sandbox.Fault{Operation: transferOp, Kind: "status_before", Status: 429, RetryAfter: 30}, func() {
		must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno"}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	d.wantEffects(transferOp, 0)
}

func TestSectorThatAPersonChoseStays(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("set_sector", m{"sector": "Support"}, sandbox.Fault{Operation: "PUT /conversations/{id}/sector", Kind: "status_before"}, func() {
		must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", Sector: "Sales"}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	d.wantEffects("PUT /conversations/{id}/sector", 0)
}

func TestSectorNull(t *testing.T) {
	d := newDesk(t)
	d.do("set_sector", m{"sector": "Sales"})
	run := d.drive("set_sector", d.step(m{"sector": nil}))
	run.step.Key += "/2"
	if _, err := run.run(); err != nil {
		t.Fatal(err)
	}
	if now := d.readConversation(); now.SectorID != "" {
		t.Errorf("the sector is %s, want none", now.SectorID)
	}
}

func TestCloseNeverClosesTheNextAttendance(t *testing.T) {
	for _, kind := range []string{"status_before", "status_after"} {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			r, _ := d.meanwhile("close_attendance", m{"reason": "silence"}, sandbox.Fault{Operation: closeOp, Kind: kind}, func() {
				if kind == "status_before" {
					must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
				}
				must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "one more thing"}))
			})
			wantOutcome(t, r, actions.Done, "")
			now, err := d.client.CurrentAttendance(context.Background(), d.conversation)
			if err != nil || now == nil || now.ID == d.attendance || now.Status != service.StatusOpen {
				t.Errorf("the customer's next attendance is not open: %+v, %v", now, err)
			}
		})
	}
}

// The run is about an attendance that was closed long ago; what is open now is another matter.
func TestCloseOfAnOlderAttendanceMakesNoCall(t *testing.T) {
	d := newDesk(t)
	must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
	wantOutcome(t, d.do("close_attendance", nil), actions.Done, "no open attendance")
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "hello again"}))
	wantOutcome(t, d.do("close_attendance", nil), actions.Done, "stays open")
	d.wantEffects(closeOp, 0)
}

// Between the look and the call somebody closes it: the service refuses, and all is as it should be.
func TestCloseOfWhatWasJustClosed(t *testing.T) {
	d := newDesk(t)
	d.faults.see(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/attendance/close") {
			d.faults.see(nil)
			must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
		}
	})
	wantOutcome(t, d.do("close_attendance", nil), actions.Done, "")
	d.wantEffects(closeOp, 0)
}

func TestLabelsOfOthersAreKept(t *testing.T) {
	d := newDesk(t)
	vip, late := d.id(service.KindLabel, "vip"), d.id(service.KindLabel, "sla-breach")
	r, run := d.meanwhile("add_labels", m{"labels": []any{"vip"}}, sandbox.Fault{Operation: patchOp, Kind: "status_before"}, func() {
		must(d.client.UpdateConversation(context.Background(), d.conversation, service.ConversationPatch{LabelIDs: service.Set([]string{late})}))
	})
	wantOutcome(t, r, actions.Done, "")
	if !slices.Contains(run.settled, actions.Replan) {
		t.Errorf("settled %v, want it planned anew", run.settled)
	}
	if got := d.readConversation().LabelIDs; !slices.Contains(got, vip) || !slices.Contains(got, late) {
		t.Errorf("labels %v, want both", got)
	}
}

// Somebody who read the labels before us writes them after us: read back, the label is missing, and is given again.
func TestLabelsAreReadBack(t *testing.T) {
	d := newDesk(t)
	vip, late := d.id(service.KindLabel, "vip"), d.id(service.KindLabel, "sla-breach")
	patched := false
	d.faults.see(func(r *http.Request) {
		if r.Method == http.MethodPatch {
			patched = true
		} else if patched { // the read after the write
			d.faults.see(nil)
			must(d.client.UpdateConversation(context.Background(), d.conversation, service.ConversationPatch{LabelIDs: service.Set([]string{late})}))
		}
	})
	wantOutcome(t, d.do("add_labels", m{"labels": []any{"vip"}}), actions.Done, "")
	if got := d.readConversation().LabelIDs; !slices.Contains(got, vip) || !slices.Contains(got, late) {
		t.Errorf("labels %v, want both", got)
	}
}

func TestSetLabelsThatAPersonOvertookIsSuperseded(t *testing.T) {
	d := newDesk(t)
	late := d.id(service.KindLabel, "sla-breach")
	r, _ := d.meanwhile("set_labels", m{"labels": []any{"vip"}}, sandbox.Fault{Operation: patchOp, Kind: "status_before"}, func() {
		must(d.client.UpdateConversation(context.Background(), d.conversation, service.ConversationPatch{LabelIDs: service.Set([]string{late})}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
}

func TestWhatIsAlreadySoMakesNoCall(t *testing.T) {
	d := newDesk(t)
	d.do("add_labels", m{"labels": []any{"vip"}})
	d.do("update_conversation", m{"pinned": true})
	before := len(d.Effects())
	for verb, args := range map[string]m{
		"add_labels":          {"labels": []any{"VIP"}},
		"remove_labels":       {"labels": []any{"after-hours"}},
		"set_labels":          {"labels": []any{"vip"}},
		"update_conversation": {"pinned": true, "name": "Ana Lima"},
		"set_sector":          {"sector": nil},
		"move_card":           {"to": "Proposal", "only_from": []any{"Lead"}},
		"update_card":         {"title": "Ana's order", "due": nil},
		"update_contact":      {"name": "Ana Lima", "blocked": false},
		"create_contact":      {"name": "Other", "phone": "(11) 98888-7777"},
		"open_conversation":   {"phone": ana, "channel": "Main"},
	} {
		run := d.drive(verb, d.step(args))
		run.step.Key += "/again"
		r, err := run.run()
		if err != nil || r.Outcome != actions.Done || !strings.Contains(r.Reason, "already") || len(run.intents) > 0 {
			t.Errorf("%s: %+v, %v, %d intents", verb, r, err, len(run.intents))
		}
	}
	if n := len(d.Effects()); n != before {
		t.Errorf("%d effects more", n-before)
	}
}

func TestUnknownNamesFailForGoodWithNearOnes(t *testing.T) {
	d := newDesk(t)
	for verb, args := range map[string]m{
		"transfer":          {"sector": "Supervisor"},
		"add_labels":        {"labels": []any{"vipp"}},
		"move_card":         {"to": "Folow-up"},
		"open_conversation": {"phone": nobody, "channel": "Mains"},
		"create_card":       {"board": "Sale", "title": "x"},
	} {
		_, err := d.drive(verb, d.step(args)).run()
		if !actions.IsPermanent(err) || !strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// An argument whose expression gave nothing must not widen what a step does.
func TestEmptyArgumentsFailForGood(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		verb string
		args m
	}{
		{"send_message", m{"text": nil}}, {"send_message", m{"text": "x", "to": nil}}, {"send_message", m{"text": "x", "to": m{"phone": nil, "channel": "Main"}}},
		{"transfer", m{"person": nil, "sector": "Sales"}}, {"find_card", m{"board": "Sales", "q": nil}}, {"find_card", m{"board": nil, "q": "x"}},
		{"move_card", m{"card": nil, "to": "Won"}}, {"move_card", m{"to": "Won", "only_from": nil}}, {"update_contact", m{"contact": nil, "city": "x"}},
		{"send_message", m{"media": "../secret"}}, {"send_message", m{"media": "missing.pdf"}},
	} {
		if r, err := d.drive(c.verb, d.step(c.args)).run(); !actions.IsPermanent(err) {
			t.Errorf("%s %v: %+v, %v", c.verb, c.args, r, err)
		}
	}
	if n := len(d.Effects()); n > 0 {
		t.Errorf("%d effects", n)
	}
}

func TestMessageHasOneClientID(t *testing.T) {
	d := newDesk(t)
	d.do("send_message", m{"text": "once"})
	d.do("send_message", m{"text": "once"}) // the same step, as after a journal that lost everything
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

func TestHeldAndPermanentAnswers(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		status int
		is     func(error) bool
	}{
		{400, actions.IsPermanent}, {404, actions.IsPermanent}, {409, actions.IsPermanent}, {413, actions.IsPermanent},
		{401, actions.IsHeld}, {403, actions.IsHeld}, {500, actions.IsUncertain}, {503, actions.IsUncertain},
		{429, func(err error) bool { return actions.Wait(err) == 30*time.Second && !actions.IsUncertain(err) }},
	} {
		d.fault(sandbox.Fault{Operation: transferOp, Kind: "status_before", Status: c.status, RetryAfter: 30, Count: 1})
		run := d.drive("transfer", d.step(m{"person": "Carla"}))
		next := must(run.action.Plan(context.Background(), run.now()))
		_, err := run.action.Do(context.Background(), run.now(), *next.Intent)
		if !c.is(err) {
			t.Errorf("%d: %v", c.status, err)
		}
		d.clock.advance(time.Minute)
	}
	d.wantEffects(transferOp, 0)
}

// What has no key is looked up before it is asked for again, since another service than the sandbox may make it twice.
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

// A step that writes to somebody else is taken to the lane of the phone, then of the conversation.
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

// What the engine will hear of its own doing is told by id.
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
