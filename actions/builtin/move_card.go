package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var moveCard = rules.Schema{
	Verb: "move_card", Group: "cards", Main: "to", Summary: "Move a card to another stage",
	Args: []rules.Arg{
		{Name: "card", Kind: rules.KindText, Summary: "the id of another card than the one at hand"},
		{Name: "to", Kind: rules.KindName, Refers: "stage", Required: true, Summary: "the stage's name or id"},
		{Name: "only_from", Kind: rules.KindNames, Refers: "stage", Summary: "move it only when it is in one of these stages"},
		{Name: "board", Kind: rules.KindName, Refers: "board", Summary: "the board of the stage, the card's own unless given"},
	},
	Needs: "card", Unless: []string{"card"},
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"write"},
	Reads:   []string{"read"},
	Emits:   []string{"kanban.card.completed", "kanban.card.moved"},
	Example: "{ to: Follow-up, only_from: Proposal }",
}

// planMoveCard reads the card anew each time, so that only_from is checked against its present
// stage.
func planMoveCard(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callMoveCard); ok {
		return result(ctx, r, rules.CardType, d.facts.nameCard)
	}
	a := args(s.Args)
	id, err := a.objectID("card", s.Card)
	if err != nil {
		return actions.Next{}, err
	}
	card, err := d.client.GetCard(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	to, from, err := d.stages(ctx, a, card)
	if err != nil {
		return actions.Next{}, err
	}
	there := card.StageID == to
	if there || len(from) > 0 && !slices.Contains(from, card.StageID) {
		fact, err := d.facts.Card(ctx, card)
		if err != nil {
			return actions.Next{}, err
		}
		if there {
			return alreadyDone(fact, phrases.CardInStage)
		}
		reason := phrases.New(phrases.CardElsewhere, stageOf(fact), strings.Join(a.texts("only_from"), ", "))
		return actions.Next{Result: &actions.Result{Outcome: actions.Skipped, Why: reason, Value: fact}}, nil
	}
	g := generation(s, callMoveCard)
	request := moveCardRequest{Card: id, Stage: to, Version: card.Version, Key: idempotencyKey(s, callMoveCard, g)}
	return planCall(s, callMoveCard, actions.Intent{Generation: g, Lane: cardLane(s, card), Emits: moveCard.Emits},
		request, moveCardBefore{Stage: card.StageID, Version: card.Version})
}

// stages returns the stage that a card moves to, and those it may come from.
func (d *desk) stages(ctx context.Context, a args, card service.Card) (to string, from []string, err error) {
	board, err := d.id(ctx, a, "board", service.KindBoard)
	if err != nil {
		return "", nil, err
	}
	if board != "" && board != card.BoardID {
		return "", nil, actions.Permanent(phrases.New(phrases.CardNotOnBoard, a.text("board")))
	}
	name, err := a.requiredText("to")
	if err != nil {
		return "", nil, err
	}
	if to, err = d.directory.StageID(ctx, card.BoardID, name); err != nil {
		return "", nil, err
	}
	for _, name := range a.texts("only_from") {
		id, err := d.directory.StageID(ctx, card.BoardID, name)
		if err != nil {
			return "", nil, err
		}
		from = append(from, id)
	}
	if a.has("only_from") && len(from) == 0 {
		return "", nil, actions.Permanent(fmt.Errorf("only_from names no stage"))
	}
	return to, from, nil
}

// stageOf returns the name of the stage in a card's facts, as far as it is known.
func stageOf(fact map[string]any) string {
	if name, ok := fact["stage_name"].(string); ok {
		return name
	}
	return textOf(fact["stage_id"])
}

// callMoveCard is POST /kanban/cards/{id}/move, with the version that the card was read with and a
// key of its own: the same key replays the answer, and of two calls with one version only one has
// its effect.
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
	in, err := decodeRecorded[moveCardRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	card, err := c.client.MoveCard(ctx, in.Key, in.Card, in.Version, in.Stage)
	if isPending(err) {
		return c.afterPending(ctx, s, i, err)
	}
	if err != nil {
		return actions.Receipt{}, err
	}
	return in.receipt(c.cardAfter(ctx, in.Card, card.Card)), nil
}

// afterPending reads the card if the service does not know how an earlier call with the same key
// ended. The key is used up, so a move that has not happened is planned anew with another key.
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
	return actions.Receipt{}, actions.Uncertain(pending) // Settle handles everything else
}

func (c moveCardCall) settle(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := decodeIntent[moveCardRequest, moveCardBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	card, err := c.client.GetCard(ctx, in.Card)
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

// cardAfter returns the card in the answer to a change, and reads it if the answer does not have
// it.
func (d *desk) cardAfter(ctx context.Context, id string, card service.Card) service.Card {
	if card.ID != "" {
		return card
	}
	// The change has been made, so a card that cannot be read must not fail it.
	if read, err := d.client.GetCard(ctx, id); err == nil {
		return read
	}
	return service.Card{ID: id}
}

// cardLane returns the lane of a card's events: its conversation's, or else its own. It is empty if
// that is the run's own lane.
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
