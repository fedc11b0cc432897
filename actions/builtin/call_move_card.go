package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

// callMoveCard is POST /kanban/cards/{id}/move, with the version that the card was read with and a key of its own: the same key
// replays the answer, and of two calls with one version only one has its effect.
const callMoveCard = "move_card"

type moveCardCall struct{ *desk }

type moveCardRequest struct {
	Card    string `json:"card"`
	Stage   string `json:"stage"`
	Version string `json:"version"`
	Key     string `json:"key"`
}

type moveCardBefore struct {
	Stage   string `json:"stage"`
	Version string `json:"version"`
}

func (c moveCardCall) do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := recorded[moveCardRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	card, err := c.MoveCard(ctx, in.Key, in.Card, in.Version, in.Stage)
	if isPending(err) {
		return c.afterPending(ctx, s, i, err)
	}
	if err != nil {
		return actions.Receipt{}, err
	}
	return in.receipt(c.cardAfter(ctx, in.Card, card.Card)), nil
}

// afterPending looks at the card when the service does not know how an earlier call with the same key ended: the key is spent, so
// what has not happened is planned anew with another.
func (c moveCardCall) afterPending(ctx context.Context, s *actions.Step, i actions.Intent, pending error) (actions.Receipt, error) {
	found, err := c.settle(ctx, s, i)
	switch {
	case err != nil:
		return actions.Receipt{}, err
	case found.Verdict == actions.Happened:
		return found.Receipt, nil
	case found.Verdict == actions.Repeat:
		return actions.Receipt{}, actions.Stale(pending)
	}
	return actions.Receipt{}, actions.Uncertain(pending) // and Settle says what else is the matter
}

func (c moveCardCall) settle(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := recordedBoth[moveCardRequest, moveCardBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	card, err := c.GetCard(ctx, in.Card)
	switch {
	case err != nil:
		return actions.Settlement{}, err
	case card.StageID == in.Stage:
		return happened(in.receipt(card))
	case tooOld(s, i):
		return settled(actions.Unknown, phrases.CardMoveOld)
	case card.StageID != before.Stage:
		return settled(actions.Overtook, phrases.CardMovedByOther)
	case card.Version != before.Version:
		return settled(actions.Replan, phrases.CardChanged)
	}
	return repeat()
}

func (r moveCardRequest) receipt(card service.Card) actions.Receipt {
	card.ID, card.StageID = r.Card, r.Stage
	return receipt(cardFact(card),
		actions.Caused{Event: "kanban.card.moved", Object: r.Card, Stage: r.Stage},
		actions.Caused{Event: "kanban.card.completed", Object: r.Card, Stage: r.Stage})
}

// cardAfter is the card that a change was answered with, read where the answer does not tell.
func (d *desk) cardAfter(ctx context.Context, id string, card service.Card) service.Card {
	if card.ID != "" {
		return card
	}
	// The change has been made: a card that cannot be read is not worth a failure.
	if read, err := d.GetCard(ctx, id); err == nil {
		return read
	}
	return service.Card{ID: id}
}

// cardLane is the lane of a card's events: its conversation, else the card itself. It is empty for the run's own.
func cardLane(s *actions.Step, card service.Card) string {
	switch {
	case card.ConversationID != "" && card.ConversationID == s.Conversation:
		return ""
	case card.ConversationID != "":
		return actions.ConversationLane(card.ConversationID)
	case s.Conversation == "" && card.ID == s.Card:
		return ""
	}
	return actions.CardLane(card.ID)
}
