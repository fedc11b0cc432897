package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var readMessages = rules.Schema{
	Verb: "read_messages", Group: "lists", Main: "limit", Summary: "Read the conversation's newest messages, newest first",
	Args: []rules.Arg{
		{Name: "limit", Kind: rules.KindNumber, Min: 1, Max: 100, Summary: "how many, 1 to 100; 30 unless given"},
		{Name: "before", Kind: rules.KindText, Summary: "only older ones than this cursor"},
		{Name: "after", Kind: rules.KindText, Summary: "only newer ones than this cursor"},
		anotherConversation,
	},
	Needs: "conversation", Unless: []string{"conversation"},
	Result: rules.ListOf(rules.MessageType), Gives: "messages",
	Scopes:  []string{"messages:read"},
	Example: "{ limit: 10 }",
}

func planReadMessages(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	a := args(s.Args)
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	q := service.MessageQuery{Before: a.text("before"), After: a.text("after")}
	if q.Limit, err = a.number("limit"); err != nil {
		return actions.Next{}, err
	}
	if q.Limit == 0 {
		q.Limit = 30
	}
	page, err := d.client.ListMessages(ctx, id, q)
	if err != nil {
		return actions.Next{}, err
	}
	return read(d.facts.Messages(ctx, page.Items))
}
