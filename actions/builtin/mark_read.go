package builtin

import "github.com/quandohq/quando/rules"

var markRead = rules.Schema{
	Verb: "mark_read", Summary: "Mark the conversation as read",
	Needs:  "conversation",
	Scopes: []string{"conversations:write"},
	Emits:  []string{"conversation.updated"},
}
