package builtin

import (
	"context"
	"errors"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var sendMessage = rules.Schema{
	Verb: "send_message", Main: "text", Summary: "Send a message",
	Args: []rules.Arg{
		{Name: "text", Kind: rules.KindText, Summary: "what to write; with media, the caption"},
		{Name: "media", Kind: rules.KindName, Refers: "media", Scopes: []string{"media:write"}, Summary: "a file in the rule set's `media` folder, or the id of one that was uploaded"},
		{Name: "reply_to", Kind: rules.KindText, Summary: "the external id of the message to answer, such as `{{ message.external_id }}`"},
		{Name: "to", Kind: rules.KindTarget, Fields: target, Scopes: []string{"conversations:write"}, Emits: opens,
			Summary: "another conversation's id; or `{phone, channel}` or `{contact, channel}`, whose conversation is opened first"},
	},
	OneOf: []string{"text", "media"},
	Needs: "conversation", Unless: "to",
	Result:  rules.MessageType,
	Scopes:  []string{"messages:send"},
	Emits:   []string{"message.sent", "conversation.updated"},
	Example: "\"Hello {{ contact.name }}!\"",
}

// planSendMessage opens the conversation where there is none yet, then uploads the file, then sends: each has a receipt
// before the next begins.
func planSendMessage(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callSend); ok {
		return result(ctx, r, rules.MessageType, nil)
	}
	a := args(s.Args)
	if a.text("text") == "" && a.text("media") == "" {
		return actions.Next{}, actions.Permanent(errors.New("there is nothing to send: text and media are empty"))
	}
	conversation, next, err := d.addressee(ctx, s)
	if err != nil || next.Intent != nil {
		return next, err
	}
	media, next, err := d.planMedia(s)
	if err != nil || next.Intent != nil {
		return next, err
	}
	request := sendRequest{Conversation: conversation, Message: service.NewMessage{
		ClientID: clientID(s), Text: a.text("text"), MediaID: media, ReplyToExternalID: a.text("reply_to"),
	}}
	return intend(s, callSend, actions.Intent{Lane: conversationLane(s, conversation), Emits: sendMessage.Emits}, request, nil)
}

// addressee is the conversation that a message goes to, or the plan to open it.
func (d *desk) addressee(ctx context.Context, s *actions.Step) (string, actions.Next, error) {
	a := args(s.Args)
	to, ok := a["to"].(map[string]any)
	if !ok {
		if a.has("to") {
			id, err := a.need("to")
			return id, actions.Next{}, err
		}
		id, err := a.of("conversation", s.Conversation)
		return id, actions.Next{}, err
	}
	if r, ok := s.Receipt(callOpen); ok {
		answer, err := recorded[struct{ ID string }](r.Answer)
		return answer.ID, actions.Next{}, err
	}
	found, next, err := d.planOpen(ctx, s, to)
	if found == nil {
		return "", next, err
	}
	return found.ID, next, err
}

// conversationLane is empty for the run's own conversation.
func conversationLane(s *actions.Step, conversation string) string {
	if conversation == s.Conversation {
		return ""
	}
	return actions.ConversationLane(conversation)
}
