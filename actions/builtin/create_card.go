package builtin

import "github.com/quandohq/quando/rules"

var createCard = rules.Schema{
	Verb: "create_card", Summary: "Create a card; it becomes the card at hand",
	Args: []rules.Arg{
		{Name: "board", Kind: rules.KindName, Refers: "board", Required: true, Summary: "the board's name or id"},
		{Name: "stage", Kind: rules.KindName, Refers: "stage", Summary: "the stage, the board's first unless given"},
		{Name: "title", Kind: rules.KindText, Required: true, Summary: "the title"},
		{Name: "description", Kind: rules.KindText, Summary: "the description"},
		{Name: "priority", Kind: rules.KindChoice, Values: priorities, Summary: "the priority"},
		{Name: "label", Kind: rules.KindNames, Refers: "label", Summary: "labels"},
		{Name: "due", Kind: rules.KindWhen, Summary: "the due date"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id, such as `{{ contact.id }}`"},
		{Name: "conversation", Kind: rules.KindText, Summary: "a conversation's id, such as `{{ conversation.id }}`"},
	},
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"write"},
	Reads:   []string{"read"},
	Emits:   []string{"kanban.card.completed", "kanban.card.created"},
	Example: "{ board: Sales, stage: Lead, title: \"{{ contact.name }}\" }",
}
