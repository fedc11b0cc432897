package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

var openConversation = rules.Schema{
	Verb: "open_conversation", Summary: "Open a conversation with a phone number or a contact",
	Args: []rules.Arg{
		{Name: "channel", Kind: rules.KindName, Refers: "channel", Required: true, Summary: "the WhatsApp number to write from"},
		{Name: "phone", Kind: rules.KindText, Summary: "a phone number"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id"},
		{Name: "name", Kind: rules.KindText, Summary: "the conversation's name"},
	},
	OneOf:   []string{"phone", "contact"},
	Not:     [][2]string{{"phone", "contact"}},
	Result:  rules.ConversationType,
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"contacts:read", "conversations:read"},
	Emits:   opens,
	Example: "{ channel: Main, phone: \"+5511999990000\" }",
}

func planOpenConversation(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callOpen); ok {
		return d.resultOpen(ctx, r)
	}
	found, next, err := d.planOpen(ctx, s, s.Args)
	if found == nil {
		return next, err
	}
	fact, err := d.facts.Conversation(ctx, *found)
	if err != nil {
		return actions.Next{}, err
	}
	return already(fact, phrases.ConversationIsThere)
}
