package builtin

import "github.com/quandohq/quando/rules"

var findCard = rules.Schema{
	Verb: "find_card", Summary: "Find a card; it becomes the card at hand",
	Args: []rules.Arg{
		{Name: "board", Kind: rules.KindName, Refers: "board", Summary: "the board's name or id"},
		{Name: "q", Kind: rules.KindText, Longest: 100, Summary: "a text to look for, at most 100 characters"},
		{Name: "label", Kind: rules.KindName, Refers: "label", Summary: "the label's name or id"},
		{Name: "priority", Kind: rules.KindChoice, Values: priorities, Summary: "the priority"},
		{Name: "due", Kind: rules.KindChoice, Values: []string{"any", "today", "week", "overdue", "none"}, Summary: "by due date"},
		{Name: "status", Kind: rules.KindText, Summary: "`open`, `all` or another status of the service"},
		{Name: "expect", Kind: rules.KindChoice, Values: []string{"one", "any"}, Summary: "`one`: fail unless exactly one is found. `any`, the default: take the first, or nil"},
	},
	OneOf:  []string{"board", "q", "label", "priority", "due"},
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"read"},
	Example: "{ board: Sales, q: \"{{ contact.phone }}\", expect: one }",
}
