package builtin

import "github.com/quandohq/quando/rules"

var removeLabels = rules.Schema{
	Verb: "remove_labels", Main: "labels", Summary: "Take labels off the conversation",
	Args: []rules.Arg{
		{Name: "labels", Kind: rules.KindNames, Refers: "label", Required: true, Summary: "names or ids"},
	},
	Needs:   "conversation",
	Scopes:  []string{"conversations:read", "conversations:write"},
	Emits:   []string{"conversation.updated"},
	Example: "[vip]",
}
