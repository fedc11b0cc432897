package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var markRead = rules.Schema{
	Verb: "mark_read", Group: "messages", Summary: "Mark the conversation as read",
	Args:  []rules.Arg{anotherConversation},
	Needs: "conversation", Unless: []string{"conversation"},
	Scopes: []string{"conversations:write"},
	Reads:  []string{"conversations:read"},
	Emits:  []string{"conversation.updated"},
}

// planMarkRead plans no call if the conversation is read already: the service would raise no event,
// and the next change by a person would be taken for the call's. A key that may not read
// conversations can still mark them.
func planMarkRead(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(callMarkRead); ok {
		return done(nil)
	}
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	c, err := d.client.GetConversation(ctx, id)
	switch {
	case err != nil && !actions.IsDenied(classify(err)):
		return actions.Next{}, err
	case err == nil && !c.Unread && d.Profile().IsWhole(service.KindConversation, c.Raw):
		return alreadyDone(nil, phrases.ConversationRead)
	}
	return planCall(s, callMarkRead, actions.Intent{Lane: conversationLane(s, id), Emits: markRead.Emits}, markReadRequest{Conversation: id}, nil)
}

// callMarkRead is POST …/read. A repeat is harmless.
const callMarkRead = "mark_read"

type markReadCall struct{ *desk }

type markReadRequest struct {
	Conversation string `json:"conversation"`
}

func (c markReadCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[markReadRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	if err := c.client.MarkRead(ctx, in.Conversation); err != nil {
		return actions.Receipt{}, err
	}
	return receipt(nil, actions.Caused{Event: "conversation.updated", Object: in.Conversation, Set: encodeSet(map[string]any{"unread": false})}), nil
}

func (markReadCall) settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return repeat()
}
