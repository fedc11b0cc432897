package builtin

import "github.com/quandohq/quando/rules"

var updateCard = rules.Schema{
	Verb: "update_card", Summary: "Change a card",
	Args: []rules.Arg{
		{Name: "card", Kind: rules.KindText, Summary: "the id of another card than the one at hand"},
		{Name: "title", Kind: rules.KindText, Summary: "the title"},
		{Name: "description", Kind: rules.KindText, Summary: "the description"},
		{Name: "priority", Kind: rules.KindChoice, Values: priorities, Summary: "the priority"},
		{Name: "label", Kind: rules.KindNames, Refers: "label", Null: true, Summary: "labels"},
		{Name: "due", Kind: rules.KindWhen, Null: true, Summary: "the due date, or null for none"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id"},
		{Name: "conversation", Kind: rules.KindText, Summary: "a conversation's id"},
	},
	OneOf: []string{"title", "description", "priority", "label", "due", "contact", "conversation"},
	Needs: "card", Unless: "card",
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"write"},
	Reads:   []string{"read"},
	Example: "{ priority: urgent }",
}
