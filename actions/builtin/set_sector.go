package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var setSector = rules.Schema{
	Verb: "set_sector", Main: "sector", Summary: "Set the conversation's sector, or take it away with null",
	Args: []rules.Arg{
		{Name: "sector", Kind: rules.KindName, Refers: "sector", Required: true, Null: true, Summary: "the sector's name or id, or null"},
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
	},
	Needs:   "conversation",
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"conversations:read"},
	Emits:   []string{"conversation.updated"},
	Example: "Finance",
}

func planSetSector(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(callSetSector); ok {
		return done(nil)
	}
	a := args(s.Args)
	id, err := a.of("conversation", s.Conversation)
	if err != nil {
		return actions.Next{}, err
	}
	sector := "" // null: in no sector
	if a["sector"] != nil {
		if sector, err = d.id(ctx, a, "sector", service.KindSector); err != nil {
			return actions.Next{}, err
		}
	}
	conversation, err := d.GetConversation(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	if conversation.SectorID == sector {
		return already(nil, phrases.ConversationInSector)
	}
	return intend(s, callSetSector, actions.Intent{Emits: setSector.Emits},
		sectorRequest{Conversation: id, Sector: sector, Reason: a.text("reason")}, sectorBefore{Sector: conversation.SectorID})
}
