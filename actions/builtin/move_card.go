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
	Verb: "move_card", Main: "to", Summary: "Move a card to another stage",
	Args: []rules.Arg{
		{Name: "card", Kind: rules.KindText, Summary: "the id of another card than the one at hand"},
		{Name: "to", Kind: rules.KindName, Refers: "stage", Required: true, Summary: "the stage's name or id"},
		{Name: "only_from", Kind: rules.KindNames, Refers: "stage", Summary: "move it only when it is in one of these stages"},
		{Name: "board", Kind: rules.KindName, Refers: "board", Summary: "the board of the stage, the card's own unless given"},
	},
	Needs: "card", Unless: "card",
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"write"},
	Reads:   []string{"read"},
	Emits:   []string{"kanban.card.completed", "kanban.card.moved"},
	Example: "{ to: Follow-up, only_from: Proposal }",
}

// planMoveCard reads the card anew each time, so that only_from is checked against where the card is now.
func planMoveCard(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callMoveCard); ok {
		return result(ctx, r, rules.CardType, d.facts.nameCard)
	}
	a := args(s.Args)
	id, err := a.of("card", s.Card)
	if err != nil {
		return actions.Next{}, err
	}
	card, err := d.GetCard(ctx, id)
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
			return already(fact, phrases.CardInStage)
		}
		reason := phrases.New(phrases.CardElsewhere, stageOf(fact), strings.Join(a.texts("only_from"), ", "))
		return actions.Next{Result: &actions.Result{Outcome: actions.Skipped, Why: reason, Value: fact}}, nil
	}
	g := generation(s, callMoveCard)
	request := moveCardRequest{Card: id, Stage: to, Version: card.Version, Key: idempotencyKey(s, callMoveCard, g)}
	return intend(s, callMoveCard, actions.Intent{Generation: g, Lane: cardLane(s, card), Emits: moveCard.Emits},
		request, moveCardBefore{Stage: card.StageID, Version: card.Version})
}

// stages finds the stage that a card goes to, and those it may come from.
func (d *desk) stages(ctx context.Context, a args, card service.Card) (to string, from []string, err error) {
	board, err := d.id(ctx, a, "board", service.KindBoard)
	if err != nil {
		return "", nil, err
	}
	if board != "" && board != card.BoardID {
		return "", nil, actions.Permanent(fmt.Errorf("the card is not on the board %s", a.text("board")))
	}
	name, err := a.need("to")
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

// stageOf names the stage of a card's facts as well as it is known.
func stageOf(fact map[string]any) string {
	if name, ok := fact["stage_name"].(string); ok {
		return name
	}
	return textOf(fact["stage_id"])
}
