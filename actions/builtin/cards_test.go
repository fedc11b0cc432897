package builtin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// before calls happens just before a request of this kind reaches the service, once.
func (d *desk) before(method, suffix string, happens func()) {
	d.faults.see(func(r *http.Request) {
		if r.Method == method && strings.HasSuffix(r.URL.Path, suffix) {
			d.faults.see(nil)
			happens()
		}
	})
}

func (d *desk) edit(title string) {
	ctx := context.Background()
	card := must(d.client.GetCard(ctx, d.card))
	must(d.client.UpdateCard(ctx, d.card, card.Version, service.CardPatch{Title: service.Set(title)}))
}

func TestMoveAfterAVersionConflict(t *testing.T) {
	d := newDesk(t)
	d.before("POST", "/move", func() { d.edit("edited meanwhile") })
	run := d.drive("move_card", d.step(m{"to": "Follow-up", "only_from": []any{"Proposal"}}))
	r, err := run.run()
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, r, actions.Done, "")
	d.wantEffects(moveOp, 1)
	if len(run.intents) != 2 || run.intents[1].Generation != 1 || keyOf(run.intents[0]) == keyOf(run.intents[1]) {
		t.Errorf("want two intents with two keys, got %+v", run.intents)
	}
	if got := d.readCard(); got.Title != "edited meanwhile" {
		t.Errorf("the edit is lost: %+v", got)
	}
}

func keyOf(i actions.Intent) string {
	var r struct{ Key string }
	_ = json.Unmarshal(i.Request, &r)
	return r.Key
}

// TestMoveAfterAVersionConflictChecksOnlyFromAgain shows that only_from is checked again if the
// card has changed between the read and the move.
func TestMoveAfterAVersionConflictChecksOnlyFromAgain(t *testing.T) {
	d := newDesk(t)
	d.before("POST", "/move", func() { must(d.MoveCard(sandbox.MoveCard{Card: d.card, Stage: "Won", Person: "Bruno"})) })
	r := d.do("move_card", m{"to": "Follow-up", "only_from": []any{"Proposal", "Lead"}})
	wantOutcome(t, r, actions.Skipped, "the card is in Won, and only_from says Proposal, Lead")
	d.wantEffects(moveOp, 0)
}

func TestMoveFromTheWrongStageIsSkipped(t *testing.T) {
	d := newDesk(t)
	r := d.do("move_card", m{"to": "Won", "only_from": []any{"Lead"}})
	wantOutcome(t, r, actions.Skipped, "the card is in Proposal, and only_from says Lead")
	if fact, ok := r.Value.(m); !ok || fact["stage_name"] != "Proposal" {
		t.Errorf("the result is %v, want the card", r.Value)
	}
	d.wantEffects(moveOp, 0)
}

// TestMoveWithAPendingKeyThatHappened drops the connection after the move: the key stays pending,
// and the card shows that the move is done.
func TestMoveWithAPendingKeyThatHappened(t *testing.T) {
	d := newDesk(t)
	run := d.drive("move_card", d.step(m{"to": "Follow-up"}))
	next := must(run.action.Plan(context.Background(), run.now()))
	d.fault(sandbox.Fault{Operation: moveOp, Kind: "drop_after", Count: 1})
	if _, err := run.action.Do(context.Background(), run.now(), *next.Intent); !actions.IsUncertain(err) {
		t.Fatalf("want an uncertain error, got %v", err)
	}
	r, err := run.action.Do(context.Background(), run.now(), *next.Intent) // without settling: 409 pending
	if err != nil {
		t.Fatal(err)
	}
	want := actions.Caused{Event: "kanban.card.moved", Object: d.card, Stage: d.readCard().StageID}
	if len(r.Caused) == 0 || r.Caused[0].Event != want.Event || r.Caused[0].Object != want.Object || r.Caused[0].Stage != want.Stage {
		t.Errorf("caused %+v, want %+v first", r.Caused, want)
	}
	d.wantEffects(moveOp, 1)
}

// TestMoveWithAPendingKeyThatDidNotHappen has a key that is pending although the move did not
// happen: a new key is used.
func TestMoveWithAPendingKeyThatDidNotHappen(t *testing.T) {
	d := newDesk(t)
	d.fault(sandbox.Fault{Operation: moveOp, Kind: "drop_after", Count: 1})
	run := d.drive("move_card", d.step(m{"to": "Follow-up"}))
	run.crash = func(point string, n int) bool {
		if point != "do" || n != 1 {
			return false
		}
		// As if the service had lost the move and kept the reservation of the key.
		d.rewindCard()
		return len(run.errs) == 0 && len(run.settled) == 0
	}
	r, err := run.run()
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, r, actions.Done, "")
	if len(run.intents) != 2 || run.intents[1].Generation != 1 {
		t.Errorf("want a second generation, got %+v", run.intents)
	}
	d.wantEffects(moveOp, 2)
	if got := d.readCard(); got.Version != "2" {
		t.Errorf("the card is at version %s", got.Version)
	}
}

// rewindCard sets the card back to its first state, including the version.
func (d *desk) rewindCard() {
	proposal := d.stage("Proposal")
	d.rewrite("cards", func(card m) bool {
		if card["id"] == d.card {
			card["stage_id"], card["version"] = proposal, 1
		}
		return true
	})
}

// rewrite changes the items of a part of the sandbox's state, and drops those that keep refuses.
func (d *desk) rewrite(part string, keep func(item m) bool) {
	var state m
	if err := json.Unmarshal(d.State(), &state); err != nil {
		d.t.Fatal(err)
	}
	items := []any{}
	for _, item := range state[part].([]any) {
		if keep(item.(m)) {
			items = append(items, item)
		}
	}
	state[part] = items
	if err := d.SetState(must(json.Marshal(state))); err != nil {
		d.t.Fatal(err)
	}
}

func TestMoveThatAPersonOvertookIsSuperseded(t *testing.T) {
	for _, kind := range []string{"status_before", "status_after", "drop_after"} {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			r, _ := d.meanwhile("move_card", m{"to": "Follow-up"}, sandbox.Fault{Operation: moveOp, Kind: kind}, func() {
				must(d.MoveCard(sandbox.MoveCard{Card: d.card, Stage: "Won", Person: "Bruno"}))
			})
			wantOutcome(t, r, actions.Superseded, "somebody else")
		})
	}
}

func TestEditDuringAnUncertainMove(t *testing.T) {
	d := newDesk(t)
	r, run := d.meanwhile("move_card", m{"to": "Follow-up"}, sandbox.Fault{Operation: moveOp, Kind: "status_before"}, func() { d.edit("edited") })
	wantOutcome(t, r, actions.Done, "")
	if !slices.Contains(run.settled, actions.Replan) {
		t.Errorf("settled %v, want it planned anew", run.settled)
	}
	d.wantEffects(moveOp, 1)
}

func TestUpdateReappliesToTheNewVersion(t *testing.T) {
	d := newDesk(t)
	d.before("PATCH", d.card, func() { d.edit("edited meanwhile") })
	wantOutcome(t, d.do("update_card", m{"priority": "urgent"}), actions.Done, "")
	if got := d.readCard(); got.Priority != "urgent" || got.Title != "edited meanwhile" {
		t.Errorf("%+v", got)
	}
}

// TestGenerationsAreBounded shows that a card that changes at every attempt is given up.
func TestGenerationsAreBounded(t *testing.T) {
	d := newDesk(t)
	n := 0
	d.faults.see(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/move") {
			n++
			must(d.MoveCard(sandbox.MoveCard{Card: d.card, Stage: []string{"Lead", "Won"}[n%2], Person: "Bruno"}))
		}
	})
	_, err := d.drive("move_card", d.step(m{"to": "Follow-up"})).run()
	if !actions.IsPermanent(err) || n != 6 {
		t.Errorf("after %d tries: %v", n, err)
	}
	d.wantEffects(moveOp, 0)
}

// TestOldCardCallsAreNotRepeated shows that a card call is not repeated after six days: the service
// may have forgotten the key, and a repeat would be a second call.
func TestOldCardCallsAreNotRepeated(t *testing.T) {
	for verb, args := range map[string]m{"move_card": {"to": "Follow-up"}, "create_card": {"board": "Sales", "title": "New"}} {
		for _, kind := range []string{"status_before", "drop_after"} {
			t.Run(verb+" "+kind, func(t *testing.T) {
				d := newDesk(t)
				operation := map[string]string{"move_card": moveOp, "create_card": createOp}[verb]
				r, _ := d.meanwhile(verb, args, sandbox.Fault{Operation: operation, Kind: kind}, func() { d.clock.Advance(6*24*time.Hour + time.Minute) })
				if kind == "status_before" {
					wantOutcome(t, r, unknown, "six days")
					d.wantEffects(operation, 0)
					return
				}
				wantOutcome(t, r, actions.Done, "")
				d.wantEffects(operation, 1)
			})
		}
	}
}

// TestCreatedCardIsToldFromItsTwin shows that an older card that looks the same is not taken for
// the created one: here the created card is lost, and its key stays pending.
func TestCreatedCardIsToldFromItsTwin(t *testing.T) {
	d := newDesk(t)
	r, run := d.meanwhile("create_card", m{"board": "Sales", "title": "Ana's order"}, sandbox.Fault{Operation: createOp, Kind: "drop_after"}, func() {
		d.rewrite("cards", func(card m) bool { return card["id"] == d.card })
	})
	wantOutcome(t, r, actions.Done, "")
	d.wantEffects(createOp, 2)
	if fact := r.Value.(m); fact["id"] == d.card || fact["stage_name"] != "Lead" || len(run.intents) != 2 {
		t.Errorf("%v after %d intents", fact, len(run.intents))
	}
}

// TestUpdateThatAPersonOvertookIsSuperseded shows that a person's priority is not overwritten by a
// change whose outcome was unknown.
func TestUpdateThatAPersonOvertookIsSuperseded(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("update_card", m{"priority": "urgent"}, sandbox.Fault{Operation: "PATCH /kanban/cards/{id}", Kind: "status_before"}, func() {
		must(d.client.UpdateCard(context.Background(), d.card, d.readCard().Version, service.CardPatch{Priority: service.Set("low")}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	if got := d.readCard(); got.Priority != "low" {
		t.Errorf("%+v", got)
	}
}

func TestUpdateTakesAway(t *testing.T) {
	d := newDesk(t)
	d.do("update_card", m{"due": "2026-12-24T18:00:00-03:00", "label": []any{"vip"}})
	if got := d.readCard(); got.DueDate == nil || len(got.LabelIDs) != 1 {
		t.Fatalf("%+v", got)
	}
	d.do("update_card", m{"due": nil, "label": nil})
	if got := d.readCard(); got.DueDate != nil || len(got.LabelIDs) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestCardLanes shows that a card's events come in the lane of its conversation, or else in its
// own.
func TestCardLanes(t *testing.T) {
	d := newDesk(t)
	alone := must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Nobody's"})).ID.String()
	for _, c := range []struct {
		name, conversation, atHand, card, want string
	}{
		{"of the run's conversation", d.conversation, d.card, d.card, ""},
		{"of another conversation", "", d.card, d.card, actions.ConversationLane(d.conversation)},
		{"of no conversation", d.conversation, d.card, alone, actions.CardLane(alone)},
		{"at hand, of no conversation", "", alone, alone, ""},
	} {
		step := d.step(m{"card": c.card, "to": "Won"})
		step.Conversation, step.Card = c.conversation, c.atHand
		run := d.drive("move_card", step)
		next := must(run.action.Plan(context.Background(), run.now()))
		if next.Intent.Lane != c.want {
			t.Errorf("%s: lane %q, want %q", c.name, next.Intent.Lane, c.want)
		}
	}
}

func TestFindCard(t *testing.T) {
	d := newDesk(t)
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Ana's other order", Conversation: d.conversation}))
	if _, err := d.drive("find_card", d.step(m{"board": "Sales", "q": ana, "expect": "one"})).run(); !actions.IsPermanent(err) || !strings.Contains(err.Error(), "more than one") {
		t.Errorf("two cards: %v", err)
	}
	if _, err := d.drive("find_card", d.step(m{"board": "Sales", "q": "nothing", "expect": "one"})).run(); !actions.IsPermanent(err) || !strings.Contains(err.Error(), "no card") {
		t.Errorf("no card: %v", err)
	}
	if r := d.do("find_card", m{"board": "Sales", "q": "nothing"}); r.Value != nil {
		t.Errorf("no card: %+v", r)
	}
	if r := d.do("find_card", m{"board": "Sales", "q": "Ana's order"}); r.Value.(m)["stage_name"] != "Proposal" {
		t.Errorf("%+v", r)
	}
}
