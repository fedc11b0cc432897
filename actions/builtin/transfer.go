package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var transfer = rules.Schema{
	Verb: "transfer", Main: "sector", Summary: "Transfer the conversation to a person, a sector or both",
	Args: []rules.Arg{
		{Name: "person", Kind: rules.KindName, Refers: "person", Summary: "the person's name or id"},
		{Name: "sector", Kind: rules.KindName, Refers: "sector", Summary: "the sector's name or id"},
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
	},
	OneOf:   []string{"person", "sector"},
	Needs:   "conversation",
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"attendances:read", "conversations:read"},
	Emits:   []string{"conversation.updated"},
	Example: "{ sector: Supervisors, reason: No first response in 15 minutes }",
}

func planTransfer(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(callTransfer); ok {
		return done(nil)
	}
	a := args(s.Args)
	id, err := a.of("conversation", s.Conversation)
	if err != nil {
		return actions.Next{}, err
	}
	to := service.Transfer{Reason: a.text("reason")}
	if to.UserID, err = d.id(ctx, a, "person", service.KindPerson); err != nil {
		return actions.Next{}, err
	}
	if to.SectorID, err = d.id(ctx, a, "sector", service.KindSector); err != nil {
		return actions.Next{}, err
	}
	return d.planTransferTo(ctx, s, transferRequest{Conversation: id, To: to})
}
