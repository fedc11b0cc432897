package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var readConversation = rules.Schema{
	Verb: "read_conversation", Group: "lists", Main: "conversation", Summary: "Read the conversation afresh, or another, which becomes the one at hand",
	Args:  []rules.Arg{anotherConversation},
	Needs: "conversation", Unless: []string{"conversation"},
	Result: rules.ConversationType, Gives: "conversation",
	Scopes: []string{"conversations:read"},
}

func planReadConversation(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	conversation, err := d.client.GetConversation(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	return read(d.facts.Conversation(ctx, conversation))
}
