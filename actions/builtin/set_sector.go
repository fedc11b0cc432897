package builtin

import "github.com/quandohq/quando/rules"

var setSector = rules.Schema{
	Verb: "set_sector", Main: "sector", Summary: "Set the conversation's sector, or take it away with null",
	Args: []rules.Arg{
		{Name: "sector", Kind: rules.KindName, Refers: "sector", Required: true, Null: true, Summary: "the sector's name or id, or null"},
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
	},
	Needs:   "conversation",
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"conversations:read"},
	Emits:   []string{"conversation.updated"},
	Example: "Finance",
}
