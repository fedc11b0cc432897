package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var setSector = rules.Schema{
	Verb: "set_sector", Group: "people", Main: "sector", Summary: "Set the conversation's sector, or take it away with null",
	Args: []rules.Arg{
		{Name: "sector", Kind: rules.KindName, Refers: "sector", Required: true, Null: true, Summary: "the sector's name or id, or null"},
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
		anotherConversation,
	},
	Needs: "conversation", Unless: []string{"conversation"},
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
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	sector := "" // null: in no sector
	if a["sector"] != nil {
		if sector, err = d.id(ctx, a, "sector", service.KindSector); err != nil {
			return actions.Next{}, err
		}
	}
	conversation, err := d.client.GetConversation(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	if conversation.SectorID == sector {
		return alreadyDone(nil, phrases.ConversationInSector)
	}
	return planCall(s, callSetSector, actions.Intent{Lane: conversationLane(s, id), Emits: setSector.Emits},
		sectorRequest{Conversation: id, Sector: sector, Reason: a.text("reason")}, sectorBefore{Sector: conversation.SectorID})
}

// callSetSector is PUT …/sector. It sets an absolute value, so a repeat is harmless, unless the
// conversation was moved to a third sector meanwhile.
const callSetSector = "set_sector"

type sectorCall struct{ *desk }

type sectorRequest struct {
	Conversation string `json:"conversation"`
	Sector       string `json:"sector"` // empty removes it from every sector
	Reason       string `json:"reason,omitempty"`
}

type sectorBefore struct {
	Sector string `json:"sector"`
}

func (c sectorCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[sectorRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	change := service.SectorChange{SectorID: service.Null[string](), Reason: in.Reason}
	if in.Sector != "" {
		change.SectorID = service.Set(in.Sector)
	}
	if _, err := c.client.SetSector(ctx, in.Conversation, change); err != nil {
		return actions.Receipt{}, err
	}
	return in.receipt(), nil
}

func (c sectorCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := decodeIntent[sectorRequest, sectorBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	now, err := c.client.GetConversation(ctx, in.Conversation)
	switch {
	case err != nil:
		return actions.Settlement{}, err
	case now.SectorID == in.Sector:
		return happened(in.receipt())
	case now.SectorID == before.Sector:
		return repeat()
	}
	return settled(actions.Overtook, phrases.SectorSetByOther)
}

func (r sectorRequest) receipt() actions.Receipt {
	return receipt(nil, actions.Caused{Event: "conversation.updated", Object: r.Conversation, Set: encodeSet(map[string]any{"sector": orNil(r.Sector)})})
}
