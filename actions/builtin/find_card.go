package builtin

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var findCard = rules.Schema{
	Verb: "find_card", Group: "cards", Summary: "Find a card; it becomes the card at hand",
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

func planFindCard(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	a := args(s.Args)
	q := service.CardQuery{Q: a.text("q"), Priority: a.text("priority"), Due: a.text("due"), Status: a.text("status"), TZ: d.zone()}
	for _, name := range []string{"q", "priority", "due", "status"} {
		if a.has(name) && a.text(name) == "" {
			// With a filter less, the search would find other cards than intended.
			return actions.Next{}, actions.Permanent(fmt.Errorf("%s is empty", name))
		}
	}
	var err error
	if q.Board, err = d.id(ctx, a, "board", service.KindBoard); err != nil {
		return actions.Next{}, err
	}
	if q.Label, err = d.id(ctx, a, "label", service.KindLabel); err != nil {
		return actions.Next{}, err
	}
	q.Limit = 2 // enough to know whether there is exactly one
	page, err := d.client.ListCards(ctx, q)
	if err != nil {
		return actions.Next{}, err
	}
	one := a.text("expect") == "one"
	switch n := len(page.Items); {
	case n == 0 && one:
		return actions.Next{}, actions.Permanent(phrases.New(phrases.NotOneCard))
	case n > 1 && one:
		return actions.Next{}, actions.Permanent(phrases.New(phrases.SeveralCards))
	case n == 0:
		return alreadyDone(nil, phrases.NoCardFits)
	}
	fact, err := d.facts.Card(ctx, page.Items[0])
	if err != nil {
		return actions.Next{}, err
	}
	return done(fact)
}

// zone returns the name of the zone for a search by due date; empty leaves it to the service.
func (d *desk) zone() string {
	if name := d.location.String(); name != "UTC" && name != "Local" {
		return name
	}
	return ""
}
