package builtin

import "github.com/quandohq/quando/rules"

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
