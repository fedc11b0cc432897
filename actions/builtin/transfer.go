package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var transfer = rules.Schema{
	Verb: "transfer", Group: "people", Main: "sector", Summary: "Transfer the conversation to a person, a sector or both",
	Args: []rules.Arg{
		{Name: "person", Kind: rules.KindName, Refers: "person", Summary: "the person's name or id"},
		{Name: "sector", Kind: rules.KindName, Refers: "sector", Summary: "the sector's name or id"},
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
		anotherConversation,
	},
	OneOf: []string{"person", "sector"},
	Needs: "conversation", Unless: []string{"conversation"},
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
	id, err := d.conversationOf(ctx, s)
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

// callTransfer is POST …/transfer. It has no key: before a repeat the conversation and its history
// are read. If it is at the target the call is done; if it is unchanged the call is repeated; any
// other change has another sender and is not undone.
const callTransfer = "transfer"

type transferCall struct{ *desk }

type transferRequest struct {
	Conversation string           `json:"conversation"`
	To           service.Transfer `json:"to"`
}

type transferBefore struct {
	Assignee string `json:"assignee,omitempty"`
	Sector   string `json:"sector,omitempty"`
	History  string `json:"history"` // a digest of the assignments: a transfer there and back shows nowhere else
}

// at reports whether a conversation is at the target of the transfer. A transfer to a sector alone
// is also complete if a member of that sector has taken the conversation meanwhile: it is not taken
// back.
func (r transferRequest) at(c service.Conversation) bool {
	return (r.To.UserID == "" || r.To.UserID == c.AssigneeID) && (r.To.SectorID == "" || r.To.SectorID == c.SectorID)
}

// planTransferTo plans a transfer, unless the conversation is at the target.
func (d *desk) planTransferTo(ctx context.Context, s *actions.Step, request transferRequest) (actions.Next, error) {
	conversation, before, err := d.responsible(ctx, request.Conversation)
	if err != nil {
		return actions.Next{}, err
	}
	if request.at(conversation) {
		return alreadyDone(nil, phrases.ConversationIsThere)
	}
	return planCall(s, callTransfer, actions.Intent{Lane: conversationLane(s, request.Conversation), Emits: transfer.Emits}, request, before)
}

// responsible reads who is responsible for a conversation, with a digest of its history.
func (d *desk) responsible(ctx context.Context, id string) (service.Conversation, transferBefore, error) {
	c, err := d.client.GetConversation(ctx, id)
	if err != nil {
		return c, transferBefore{}, err
	}
	history, err := d.client.ListAssignments(ctx, id)
	if err != nil {
		return c, transferBefore{}, err
	}
	h := sha256.New()
	for _, a := range history {
		_, _ = fmt.Fprintf(h, "%s|%s|%s|%s|%s\n", a.ID, a.Action, a.UserID, a.SectorID, a.At)
	}
	return c, transferBefore{Assignee: c.AssigneeID, Sector: c.SectorID, History: hex.EncodeToString(h.Sum(nil)[:8])}, nil
}

func (c transferCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[transferRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	if _, err := c.client.TransferConversation(ctx, in.Conversation, in.To); err != nil {
		return actions.Receipt{}, err
	}
	return in.receipt(), nil
}

func (c transferCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := decodeIntent[transferRequest, transferBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	conversation, now, err := c.responsible(ctx, in.Conversation)
	switch {
	case err != nil:
		return actions.Settlement{}, err
	case in.at(conversation):
		return happened(in.receipt())
	case now == before:
		return repeat()
	}
	return settled(actions.Overtook, phrases.ConversationMovedByOther)
}

func (r transferRequest) receipt() actions.Receipt {
	set := map[string]any{}
	if r.To.UserID != "" {
		set["assignee"] = r.To.UserID
	}
	if r.To.SectorID != "" {
		set["sector"] = r.To.SectorID
	}
	return receipt(nil, actions.Caused{Event: "conversation.updated", Object: r.Conversation, Set: encodeSet(set)})
}
