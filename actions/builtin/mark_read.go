package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var markRead = rules.Schema{
	Verb: "mark_read", Summary: "Mark the conversation as read",
	Needs:  "conversation",
	Scopes: []string{"conversations:write"},
	Emits:  []string{"conversation.updated"},
}

// planMarkRead asks without looking first: to look would take a scope that the call itself does not need.
func planMarkRead(_ context.Context, _ *desk, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(callMarkRead); ok {
		return done(nil)
	}
	id, err := args(s.Args).of("conversation", s.Conversation)
	if err != nil {
		return actions.Next{}, err
	}
	return intend(s, callMarkRead, actions.Intent{Emits: markRead.Emits}, markReadRequest{Conversation: id}, nil)
}
