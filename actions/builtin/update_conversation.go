package builtin

import "github.com/quandohq/quando/rules"

var updateConversation = rules.Schema{
	Verb: "update_conversation", Summary: "Archive, pin, mute or rename the conversation",
	Args: []rules.Arg{
		{Name: "archived", Kind: rules.KindFlag, Summary: "whether it is archived"},
		{Name: "pinned", Kind: rules.KindFlag, Summary: "whether it is pinned"},
		{Name: "muted", Kind: rules.KindFlag, Summary: "whether it is muted"},
		{Name: "name", Kind: rules.KindText, Summary: "the new name"},
	},
	OneOf:   []string{"archived", "pinned", "muted", "name"},
	Needs:   "conversation",
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"conversations:read"},
	Emits:   []string{"conversation.updated"},
	Example: "{ archived: true }",
}
