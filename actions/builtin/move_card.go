package builtin

import "github.com/quandohq/quando/rules"

var moveCard = rules.Schema{
	Verb: "move_card", Main: "to", Summary: "Move a card to another stage",
	Args: []rules.Arg{
		{Name: "card", Kind: rules.KindText, Summary: "the id of another card than the one at hand"},
		{Name: "to", Kind: rules.KindName, Refers: "stage", Required: true, Summary: "the stage's name or id"},
		{Name: "only_from", Kind: rules.KindNames, Refers: "stage", Summary: "move it only when it is in one of these stages"},
		{Name: "board", Kind: rules.KindName, Refers: "board", Summary: "the board of the stage, the card's own unless given"},
	},
	Needs: "card", Unless: "card",
	Result: rules.CardType, Gives: "card",
	Scopes:  []string{"write"},
	Reads:   []string{"read"},
	Emits:   []string{"kanban.card.completed", "kanban.card.moved"},
	Example: "{ to: Follow-up, only_from: Proposal }",
}
