package builtin

import (
	"context"
	"iter"
	"slices"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var createCard = rules.Schema{
	Verb: "create_card", Group: "cards", Summary: "Create a card; it becomes the card at hand",
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
	lane := "" // of the card's events: that of its conversation or, without one, not known yet
	if card.ConversationID != "" {
		lane = actions.ConversationLane(card.ConversationID)
	}
	g := generation(s, callCreateCard)
	request := createCardRequest{Key: idempotencyKey(s, callCreateCard, g), Card: card}
	return planCall(s, callCreateCard, actions.Intent{
		Generation: g, Lane: lane, Elsewhere: card.ConversationID == "" || card.ConversationID != s.Conversation, Emits: createCard.Emits,
	}, request, before)
}

func (d *desk) newCard(ctx context.Context, a args) (card service.NewCard, err error) {
	card = service.NewCard{
		Description: a.text("description"), Priority: a.text("priority"), ContactID: a.text("contact"), ConversationID: a.text("conversation"),
	}
	if card.Title, err = a.requiredText("title"); err != nil {
		return card, err
	}
	board, err := a.requiredText("board")
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
	due, err := a.dayOrTime("due", d.location)
	if err == nil && !due.IsZero() {
		card.DueDate = &due
	}
	return card, err
}

// callCreateCard is POST /kanban/cards with a key: the same key and card return the first answer
// again. If the service does not know how the first call ended, the board is searched for the card.
const callCreateCard = "create_card"

type createCardCall struct{ *desk }

type createCardRequest struct {
	Key  string          `json:"key"`
	Card service.NewCard `json:"card"`
}

type createCardBefore struct {
	Twins []string `json:"twins"` // the ids of cards that already looked the same
}

func (c createCardCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, before, err := decodeIntent[createCardRequest, createCardBefore](i)
	if err != nil {
		return actions.Receipt{}, err
	}
	card, err := c.client.CreateCard(ctx, in.Key, in.Card)
	if !isPending(err) {
		if err != nil {
			return actions.Receipt{}, err
		}
		return in.receipt(card.Card), nil
	}
	found, lookErr := c.created(ctx, in.Card, before)
	switch {
	case lookErr != nil:
		return actions.Receipt{}, lookErr
	case found == nil:
		return actions.Receipt{}, actions.Stale(err) // the key is used up, and no card was created
	}
	return in.receipt(*found), nil
}

func (c createCardCall) settle(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Settlement, error) {
	old := tooOld(s, i)
	if !old && !s.Last {
		return repeat() // the key shows more reliably than a search whether the card exists
	}
	in, before, err := decodeIntent[createCardRequest, createCardBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	found, err := c.created(ctx, in.Card, before)
	if err != nil {
		return actions.Settlement{}, err
	}
	switch {
	case found == nil && old:
		return settled(actions.Unknown, phrases.CardCallOld)
	case found == nil:
		return repeat()
	}
	return happened(in.receipt(*found))
}

// created returns the card that a call has created: one that looks like it and is not among the
// older ones.
func (d *desk) created(ctx context.Context, n service.NewCard, before createCardBefore) (*service.Card, error) {
	for card, err := range d.lookalikes(ctx, n) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(before.Twins, card.ID) {
			continue
		}
		whole, err := d.client.GetCard(ctx, card.ID)
		return &whole, err
	}
	return nil, nil
}

const (
	maxCardSearch = 100 // how many characters the service searches cards by
	maxLookalikes = 500 // how many cards one search compares
)

// lookalikes yields the cards of a board with the fields of a new card. The stage is ignored,
// because cards are moved.
func (d *desk) lookalikes(ctx context.Context, n service.NewCard) iter.Seq2[service.Card, error] {
	title := []rune(n.Title)
	q := service.CardQuery{Board: n.BoardID, Q: string(title[:min(len(title), maxCardSearch)]), Status: d.Profile().Cards.SearchStatus}
	return func(yield func(service.Card, error) bool) {
		seen := 0
		for card, err := range d.client.Cards(ctx, q) {
			if (err != nil || looksLike(card, n)) && !yield(card, err) {
				return
			}
			if seen++; seen >= maxLookalikes {
				return
			}
		}
	}
}

// looksLike reports whether a card has the fields of a new one.
func looksLike(card service.Card, n service.NewCard) bool {
	return card.Title == n.Title && card.BoardID == n.BoardID &&
		(n.ContactID == "" || card.ContactID == n.ContactID) && (n.ConversationID == "" || card.ConversationID == n.ConversationID)
}

// made compares the card with the requested one.
func (c createCardCall) made(ctx context.Context, i actions.Intent, about actions.Subject) (bool, error) {
	in, before, err := decodeIntent[createCardRequest, createCardBefore](i)
	if err != nil || about.Card == "" || slices.ContainsFunc(before.Twins, func(id string) bool { return sameID(id, about.Card) }) {
		return false, err
	}
	card, err := c.client.GetCard(ctx, about.Card)
	return err == nil && looksLike(card, in.Card), err
}

func (r createCardRequest) receipt(card service.Card) actions.Receipt {
	return receipt(cardFact(card),
		actions.Caused{Event: "kanban.card.created", Object: card.ID, Stage: card.StageID},
		// A card may begin in a winning stage.
		actions.Caused{Event: "kanban.card.completed", Object: card.ID, Stage: card.StageID})
}
