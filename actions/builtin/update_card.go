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
	Verb: "update_card", Summary: "Change a card",
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
	Needs: "card", Unless: "card",
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
	id, err := a.of("card", s.Card)
	if err != nil {
		return actions.Next{}, err
	}
	patch, err := d.cardPatch(ctx, a)
	if err != nil {
		return actions.Next{}, err
	}
	card, err := d.GetCard(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	want := d.patchFields(patch)
	now := part(d.cardFields(card), want)
	if settlePatch(want, now, now, nil) == actions.Happened {
		fact, err := d.facts.Card(ctx, card)
		if err != nil {
			return actions.Next{}, err
		}
		return already(fact, phrases.CardIsSo)
	}
	return intend(s, callPatchCard, actions.Intent{Generation: generation(s, callPatchCard), Lane: cardLane(s, card)},
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
		due, err := a.when("due", d.location)
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
