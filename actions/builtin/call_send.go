package builtin

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// callSend is POST …/messages. It carries a client_id of its own: for a repeat the service returns the message already created.
const callSend = "send"

type sendCall struct{ *desk }

type sendRequest struct {
	Conversation string             `json:"conversation"`
	Message      service.NewMessage `json:"message"`
}

func (c sendCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, ok := i.Planned.(sendRequest)
	if !ok || !in.survives() {
		var err error
		if in, err = recorded[sendRequest](i.Request); err != nil {
			return actions.Receipt{}, err
		}
	}
	m, err := c.SendMessage(ctx, in.Conversation, in.Message)
	if err != nil {
		return actions.Receipt{}, err
	}
	told := messageMembers(in.complete(m), "engine")
	r := actions.Receipt{Caused: []actions.Caused{
		{Event: "message.sent", Object: m.ID, Set: withID(`{"client_id":`, in.Message.ClientID, `}`)},
		{Event: "conversation.updated", Object: in.Conversation, Set: withID(`{"last_message":{"id":`, m.ID, `}}`)},
	}}
	r.Answer, _ = appendMembers(make([]byte, 0, 512), told[:]) // one that cannot be recorded is not worth a failure: the call has been made
	r.Fact = object(told[:])                                   // all of it is texts and a time in UTC, which come back from JSON as they are
	return r, nil
}

// survives reports whether the request comes back from JSON as it is: what is no character does not.
func (r sendRequest) survives() bool {
	m := &r.Message
	return utf8.ValidString(m.Text) && utf8.ValidString(r.Conversation) && utf8.ValidString(m.ReplyToExternalID) && utf8.ValidString(m.MediaID)
}

// withID writes JSON with an id in it; an empty one is null.
func withID(before, id, after string) json.RawMessage {
	b := append(make([]byte, 0, len(before)+len(id)+len(after)+len("null")), before...)
	if id == "" {
		b = append(b, "null"...)
	} else {
		b = plain.AppendText(b, id)
	}
	return append(b, after...)
}

// complete completes what the service's answer may leave out with what was sent.
func (r sendRequest) complete(m service.Message) service.Message {
	m.ConversationID, m.ClientID = r.Conversation, r.Message.ClientID
	if m.Text == "" {
		m.Text = r.Message.Text
	}
	if m.MediaID == "" {
		m.MediaID = r.Message.MediaID
	}
	return m
}

func (sendCall) settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return repeat()
}

// made knows a message by its client_id.
func (c sendCall) made(ctx context.Context, i actions.Intent, about actions.Subject) (bool, error) {
	in, err := recorded[sendRequest](i.Request)
	if err != nil || about.Message == "" {
		return false, err
	}
	m, err := c.GetMessage(ctx, about.Message)
	return err == nil && sameID(m.ClientID, in.Message.ClientID), err
}
