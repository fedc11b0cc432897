package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

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

func planAddLabels(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	ids, err := d.labels(ctx, s.Args, "labels")
	if err != nil {
		return actions.Next{}, err
	}
	return d.planConversationLabels(ctx, s, labelChange{Add: ids})
}
