package builtin

import "github.com/quandohq/quando/rules"

var readConversation = rules.Schema{
	Verb: "read_conversation", Main: "conversation", Summary: "Read the conversation afresh",
	Args: []rules.Arg{
		{Name: "conversation", Kind: rules.KindText, Summary: "another conversation's id"},
	},
	Needs: "conversation", Unless: "conversation",
	Result: rules.ConversationType, Gives: "conversation",
	Scopes: []string{"conversations:read"},
}
