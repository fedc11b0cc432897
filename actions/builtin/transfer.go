package builtin

import "github.com/quandohq/quando/rules"

var transfer = rules.Schema{
	Verb: "transfer", Main: "sector", Summary: "Transfer the conversation to a person, a sector or both",
	Args: []rules.Arg{
		{Name: "person", Kind: rules.KindName, Refers: "person", Summary: "the person's name or id"},
		{Name: "sector", Kind: rules.KindName, Refers: "sector", Summary: "the sector's name or id"},
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
	},
	OneOf:   []string{"person", "sector"},
	Needs:   "conversation",
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"attendances:read", "conversations:read"},
	Emits:   []string{"conversation.updated"},
	Example: "{ sector: Supervisors, reason: No first response in 15 minutes }",
}
