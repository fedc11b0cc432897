package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
)

// callMarkRead is POST …/read. A repeat is harmless.
const callMarkRead = "mark_read"

type markReadCall struct{ *desk }

type markReadRequest struct {
	Conversation string `json:"conversation"`
}

func (c markReadCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := recorded[markReadRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	if err := c.MarkRead(ctx, in.Conversation); err != nil {
		return actions.Receipt{}, err
	}
	return receipt(nil, actions.Caused{Event: "conversation.updated", Object: in.Conversation, Set: setting(map[string]any{"unread": false})}), nil
}

func (markReadCall) settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return repeat()
}
