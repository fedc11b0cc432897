package builtin

import "github.com/quandohq/quando/rules"

var addLabels = rules.Schema{
	Verb: "add_labels", Main: "labels", Summary: "Add labels to the conversation",
	Args: []rules.Arg{
		{Name: "labels", Kind: rules.KindNames, Refers: "label", Required: true, Summary: "names or ids"},
	},
	Needs:   "conversation",
	Scopes:  []string{"conversations:read", "conversations:write"},
	Emits:   []string{"conversation.updated"},
	Example: "[vip]",
}
