package contract_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

const week = 7 * 24 * time.Hour

// A repeat with the same key or client_id is harmless, and the caller can tell.
func TestIdempotency(t *testing.T) {
	newCard := func(w *world) service.NewCard {
		return service.NewCard{BoardID: w.board, StageID: w.lead, Title: "Once", LabelIDs: []string{w.label}, ContactID: w.contact}
	}
	t.Run("the same card twice", func(t *testing.T) {
		w := newWorld(t)
		first := must(w.Client.CreateCard(w.ctx, "card-of-maria", newCard(w)))(t)
		before := len(w.Effects())
		second := must(w.Client.CreateCard(w.ctx, "card-of-maria", newCard(w)))(t)
		want(t, "the first is replayed", first.Replayed, false)
		want(t, "the second is replayed", second.Replayed, true)
		same(t, "the card", second.Card, first.Card)
		want(t, "effects of the second", len(w.effects(before)), 0)
		other := must(w.NewKey(sandbox.NewKey{Scopes: sandbox.Scopes}))(t)
		third := must(w.client(other.APIKey).CreateCard(w.ctx, "card-of-maria", newCard(w)))(t)
		if third.Replayed || third.ID == first.ID {
			t.Error("another API key shares the reservation")
		}
	})
	t.Run("the same move twice", func(t *testing.T) {
		w := newWorld(t)
		first := must(w.Client.MoveCard(w.ctx, "move-to-won", w.card, "1", w.won))(t)
		second := must(w.Client.MoveCard(w.ctx, "move-to-won", w.card, "1", w.won))(t)
		want(t, "replayed", second.Replayed, true)
		want(t, "version", second.Version, first.Version)
	})
	t.Run("a key lasts 7 days", func(t *testing.T) {
		w := newWorld(t)
		first := must(w.Client.CreateCard(w.ctx, "card-of-maria", newCard(w)))(t)
		w.later(week - time.Second)
		want(t, "replayed until then", must(w.Client.CreateCard(w.ctx, "card-of-maria", newCard(w)))(t).Replayed, true)
		w.later(time.Second)
		again := must(w.Client.CreateCard(w.ctx, "card-of-maria", newCard(w)))(t)
		if again.Replayed || again.ID == first.ID {
			t.Error("the key is still taken")
		}
	})
	for name, fault := range map[string]sandbox.Fault{
		"dropped after the effect": {Kind: "drop_after"},
		"503 after the effect":     {Kind: "status_after"},
	} {
		t.Run("pending: "+name, func(t *testing.T) { testPending(t, fault) })
	}
	t.Run("pending: the caller went away", func(t *testing.T) {
		w := newWorld(t)
		hasty := w.client(w.APIKey(), func(o *service.Options) { o.Timeout = 500 * time.Millisecond })
		noError(t, w.AddFault(sandbox.Fault{Operation: "POST /kanban/cards/{id}/move", Kind: "delay", Delay: sandbox.Duration(700 * time.Millisecond), Count: 1}))
		_, err := hasty.MoveCard(w.ctx, "move-to-won", w.card, "1", w.won)
		want(t, "uncertain", service.IsUncertain(err), true)
		// Whatever became of the call, a repeat with the same key moves the card at most once.
		time.Sleep(300 * time.Millisecond)
		_, err = w.Client.MoveCard(w.ctx, "move-to-won", w.card, "1", w.won)
		if e, failed := errors.AsType[*service.Error](err); failed && !e.Pending {
			t.Error(err)
		}
		want(t, "version", must(w.GetCard(w.ctx, w.card))(t).Version, "2")
	})
	t.Run("a refused call reserves nothing", func(t *testing.T) {
		w := newWorld(t)
		_, err := w.Client.MoveCard(w.ctx, "move-to-won", w.card, "7", w.won)
		want(t, "a version conflict", service.IsVersionConflict(err), true)
		card := must(w.GetCard(w.ctx, w.card))(t)
		moved := must(w.Client.MoveCard(w.ctx, "move-to-won", w.card, card.Version, w.won))(t)
		want(t, "replayed", moved.Replayed, false)
	})
	t.Run("the same message twice", func(t *testing.T) {
		w := newWorld(t)
		before := len(w.Effects())
		m := service.NewMessage{ClientID: uuid.NewString(), Text: "once"}
		first, second := must(w.SendMessage(w.ctx, w.conversation, m))(t), must(w.SendMessage(w.ctx, w.conversation, m))(t)
		same(t, "the message", second, first)
		same(t, "effects", w.effects(before), []string{"POST /conversations/{id}/messages"})
	})
	for _, kind := range []string{"drop_after", "status_after"} {
		t.Run("a message repeated after "+kind, func(t *testing.T) {
			w := newWorld(t)
			before := len(w.Effects())
			m := service.NewMessage{ClientID: uuid.NewString(), Text: "once"}
			noError(t, w.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: kind, Count: 1}))
			_, err := w.SendMessage(w.ctx, w.conversation, m)
			want(t, "uncertain", service.IsUncertain(err), true)
			sent := must(w.SendMessage(w.ctx, w.conversation, m))(t)
			want(t, "the last message", must(w.GetConversation(w.ctx, w.conversation))(t).LastMessage.ID, sent.ID)
			want(t, "effects", len(w.effects(before)), 1)
		})
	}
}

// testPending moves a card whose answer is lost. The client's connections are kept ones, on which
// net/http would repeat by itself a request that it takes for repeatable.
func testPending(t *testing.T, fault sandbox.Fault) {
	w := newWorld(t)
	before, sent := len(w.Effects()), len(w.wire.exchanges())
	fault.Operation, fault.Count = "POST /kanban/cards/{id}/move", 1
	noError(t, w.AddFault(fault))
	_, err := w.Client.MoveCard(w.ctx, "move-to-won", w.card, "1", w.won)
	e := refused(t, err)
	want(t, "uncertain", e.Uncertain, true)
	want(t, "pending", e.Pending, false)
	want(t, "requests", len(w.wire.exchanges())-sent, 1)

	_, err = w.Client.MoveCard(w.ctx, "move-to-won", w.card, "1", w.won)
	e = refused(t, err)
	same(t, e.Error(), outcomeOf(e), outcome{Status: http.StatusConflict, Code: "idempotency_pending", Pending: true})
	want(t, "a version conflict", service.IsVersionConflict(err), false)
	want(t, "moves", len(w.effects(before)), 1)

	// What the caller is told to do: look at the card.
	card := must(w.GetCard(w.ctx, w.card))(t)
	want(t, "stage", card.StageID, w.won)
	want(t, "version", card.Version, "2")

	w.later(week)
	back := must(w.Client.MoveCard(w.ctx, "move-to-won", w.card, card.Version, w.lead))(t)
	if back.Replayed || back.StageID != w.lead {
		t.Errorf("after 7 days: %+v", back)
	}
}
