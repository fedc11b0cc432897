package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var createCard = rules.Schema{
	Verb: "create_card", Summary: "Create a card; it becomes the card at hand",
	Args: []rules.Arg{
		{Name: "board", Kind: rules.KindName, Refers: "board", Required: true, Summary: "the board's name or id"},
		{Name: "stage", Kind: rules.KindName, Refers: "stage", Summary: "the stage, the board's first unless given"},
		{Name: "title", Kind: rules.KindText, Required: true, Summary: "the title"},
		{Name: "description", Kind: rules.KindText, Summary: "the description"},
		{Name: "priority", Kind: rules.KindChoice, Values: priorities, Summary: "the priority"},
		{Name: "label", Kind: rules.KindNames, Refers: "label", Summary: "labels"},
		{Name: "due", Kind: rules.KindWhen, Summary: "the due date"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id, such as `{{ contact.id }}`"},
		{Name: "conversation", Kind: rules.KindText, Summary: "a conversation's id, such as `{{ conversation.id }}`"},
	},
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"write"},
	Reads:   []string{"read"},
	Emits:   []string{"kanban.card.completed", "kanban.card.created"},
	Example: "{ board: Sales, stage: Lead, title: \"{{ contact.name }}\" }",
}

func planCreateCard(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callCreateCard); ok {
		return result(ctx, r, rules.CardType, d.facts.nameCard)
	}
	card, err := d.newCard(ctx, s.Args)
	if err != nil {
		return actions.Next{}, err
	}
	before := createCardBefore{Twins: []string{}}
	for twin, err := range d.lookalikes(ctx, card) {
		if err != nil {
			return actions.Next{}, err
		}
		before.Twins = append(before.Twins, twin.ID)
	}
	g := generation(s, callCreateCard)
	request := createCardRequest{Key: idempotencyKey(s, callCreateCard, g), Card: card}
	return intend(s, callCreateCard, actions.Intent{
		Generation: g, Elsewhere: card.ConversationID == "" || card.ConversationID != s.Conversation, Emits: createCard.Emits,
	}, request, before)
}

func (d *desk) newCard(ctx context.Context, a args) (card service.NewCard, err error) {
	card = service.NewCard{
		Description: a.text("description"), Priority: a.text("priority"), ContactID: a.text("contact"), ConversationID: a.text("conversation"),
	}
	if card.Title, err = a.need("title"); err != nil {
		return card, err
	}
	board, err := a.need("board")
	if err != nil {
		return card, err
	}
	if card.BoardID, err = d.directory.ID(ctx, service.KindBoard, board); err != nil {
		return card, err
	}
	if stage := a.text("stage"); stage != "" {
		if card.StageID, err = d.directory.StageID(ctx, card.BoardID, stage); err != nil {
			return card, err
		}
	}
	if card.LabelIDs, err = d.labels(ctx, a, "label"); err != nil {
		return card, err
	}
	due, err := a.when("due", d.location)
	if err == nil && !due.IsZero() {
		card.DueDate = &due
	}
	return card, err
}
