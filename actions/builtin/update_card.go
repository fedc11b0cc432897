package builtin

import (
	"context"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var updateCard = rules.Schema{
	Verb: "update_card", Group: "cards", Summary: "Change a card",
	Args: []rules.Arg{
		{Name: "card", Kind: rules.KindText, Summary: "the id of another card than the one at hand"},
		{Name: "title", Kind: rules.KindText, Summary: "the title"},
		{Name: "description", Kind: rules.KindText, Summary: "the description"},
		{Name: "priority", Kind: rules.KindChoice, Values: priorities, Summary: "the priority"},
		{Name: "label", Kind: rules.KindNames, Refers: "label", Null: true, Summary: "labels"},
		{Name: "due", Kind: rules.KindWhen, Null: true, Summary: "the due date, or null for none"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id"},
		{Name: "conversation", Kind: rules.KindText, Summary: "a conversation's id"},
	},
	OneOf: []string{"title", "description", "priority", "label", "due", "contact", "conversation"},
	Needs: "card", Unless: []string{"card"},
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"write"},
	Reads:   []string{"read"},
	Example: "{ priority: urgent }",
}

func planUpdateCard(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callPatchCard); ok {
		return result(ctx, r, rules.CardType, d.facts.nameCard)
	}
	a := args(s.Args)
	id, err := a.objectID("card", s.Card)
	if err != nil {
		return actions.Next{}, err
	}
	patch, err := d.cardPatch(ctx, a)
	if err != nil {
		return actions.Next{}, err
	}
	card, err := d.client.GetCard(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	want := d.patchFields(patch)
	now := patchedFields(d.cardFields(card), want)
	if settlePatch(want, now, now, nil) == actions.Happened {
		fact, err := d.facts.Card(ctx, card)
		if err != nil {
			return actions.Next{}, err
		}
		return alreadyDone(fact, phrases.CardIsSo)
	}
	return planCall(s, callPatchCard, actions.Intent{Generation: generation(s, callPatchCard), Lane: cardLane(s, card)},
		patchCardRequest{Card: id, Version: card.Version, Patch: patch}, patchCardBefore{Version: card.Version, Fields: now})
}

func (d *desk) cardPatch(ctx context.Context, a args) (patch service.CardPatch, err error) {
	for name, field := range map[string]*service.Opt[string]{
		"title": &patch.Title, "description": &patch.Description, "priority": &patch.Priority,
		"contact": &patch.ContactID, "conversation": &patch.ConversationID,
	} {
		if text := a.text(name); text != "" {
			*field = service.Set(text)
		}
	}
	if a.has("label") {
		ids, err := d.labels(ctx, a, "label")
		if err != nil {
			return patch, err
		}
		patch.LabelIDs = service.Set(ids)
	}
	if a.has("due") {
		due, err := a.dayOrTime("due", d.location)
		if err != nil {
			return patch, err
		}
		patch.DueDate = service.Null[time.Time]()
		if !due.IsZero() {
			patch.DueDate = service.Set(due)
		}
	}
	return patch, nil
}

// callPatchCard is PATCH /kanban/cards/{id} with the version that the card was read with: if the
// card has changed since, the call has no effect and is planned anew.
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

// cardFields returns the fields of a card that a patch may set, by the patch's own names.
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

// patchFields returns the fields that a patch sets, comparable with those of a card.
func (d *desk) patchFields(p service.CardPatch) map[string]any {
	fields := fieldsOf(p)
	if due, ok := p.DueDate.Get(); ok {
		fields["due_date"] = d.day(due)
	}
	return fields
}

// day formats a due date as the service stores it: as a day, or as a time.
func (d *desk) day(t time.Time) string {
	if d.Profile().Cards.DueFormat == "date" {
		return t.Format(time.DateOnly)
	}
	return t.UTC().Format(time.RFC3339)
}

func (c patchCardCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[patchCardRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	card, err := c.client.UpdateCard(ctx, in.Card, in.Version, in.Patch)
	if err != nil {
		return actions.Receipt{}, err
	}
	return receipt(cardFact(c.cardAfter(ctx, in.Card, card.Card))), nil
}

func (c patchCardCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := decodeIntent[patchCardRequest, patchCardBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	card, err := c.client.GetCard(ctx, in.Card)
	if err != nil {
		return actions.Settlement{}, err
	}
	want := c.patchFields(in.Patch)
	switch v := settlePatch(want, before.Fields, patchedFields(c.cardFields(card), want), nil); {
	case v == actions.Happened:
		return happened(receipt(cardFact(card)))
	case v == actions.Overtook:
		return settled(v, phrases.ChangedByOther)
	case card.Version != before.Version:
		return settled(actions.Replan, phrases.CardChanged)
	}
	return repeat()
}
