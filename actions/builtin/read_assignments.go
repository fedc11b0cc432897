package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var readAssignments = rules.Schema{
	Verb: "read_assignments", Summary: "Read who was responsible for the conversation",
	Args:  []rules.Arg{anotherConversation},
	Needs: "conversation", Unless: []string{"conversation"},
	Result: rules.ListOf(rules.AssignmentType),
	Scopes: []string{"attendances:read"},
}

func planReadAssignments(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	history, err := d.ListAssignments(ctx, id)
	list := make([]any, len(history))
	for i, entry := range history {
		list[i] = d.facts.Assignment(entry)
	}
	return read(list, err)
}
