package builtin

import (
	"context"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

// callPatchCard is PATCH /kanban/cards/{id} with the version that the card was read with: on a card that has changed since, it has no
// effect and is planned anew.
const callPatchCard = "patch_card"

type patchCardCall struct{ *desk }

type patchCardRequest struct {
	Card    string            `json:"card"`
	Version string            `json:"version"`
	Patch   service.CardPatch `json:"patch"`
}

type patchCardBefore struct {
	Version string         `json:"version"`
	Fields  map[string]any `json:"fields"`
}

// cardFields are the fields of a card that a patch may set, by the patch's own names.
func (d *desk) cardFields(c service.Card) map[string]any {
	fields := map[string]any{
		"title": c.Title, "description": c.Description, "priority": c.Priority, "label_ids": listOf(c.LabelIDs),
		"due_date": nil, "contact_id": c.ContactID, "conversation_id": c.ConversationID,
	}
	if c.DueDate != nil {
		fields["due_date"] = d.day(*c.DueDate)
	}
	return fields
}

// patchFields are the fields that a patch sets, comparable with those of a card.
func (d *desk) patchFields(p service.CardPatch) map[string]any {
	fields := fieldsOf(p)
	if due, ok := p.DueDate.Get(); ok {
		fields["due_date"] = d.day(due)
	}
	return fields
}

// day writes a due date as the service keeps it: as a day, or as a moment.
func (d *desk) day(t time.Time) string {
	if d.Profile().Cards.DueFormat == "date" {
		return t.Format(time.DateOnly)
	}
	return t.UTC().Format(time.RFC3339)
}

func (c patchCardCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := recorded[patchCardRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	card, err := c.UpdateCard(ctx, in.Card, in.Version, in.Patch)
	if err != nil {
		return actions.Receipt{}, err
	}
	return receipt(cardFact(c.cardAfter(ctx, in.Card, card.Card))), nil
}

func (c patchCardCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := recordedBoth[patchCardRequest, patchCardBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	card, err := c.GetCard(ctx, in.Card)
	if err != nil {
		return actions.Settlement{}, err
	}
	want := c.patchFields(in.Patch)
	switch v := settlePatch(want, before.Fields, part(c.cardFields(card), want), nil); {
	case v == actions.Happened:
		return happened(receipt(cardFact(card)))
	case v == actions.Overtook:
		return settled(v, phrases.ChangedByOther)
	case card.Version != before.Version:
		return settled(actions.Replan, phrases.CardChanged)
	}
	return repeat()
}
