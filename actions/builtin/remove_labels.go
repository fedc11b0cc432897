package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var removeLabels = rules.Schema{
	Verb: "remove_labels", Main: "labels", Summary: "Take labels off the conversation",
	Args: []rules.Arg{
		{Name: "labels", Kind: rules.KindNames, Refers: "label", Required: true, Summary: "names or ids"},
	},
	Needs:   "conversation",
	Scopes:  []string{"conversations:read", "conversations:write"},
	Emits:   []string{"conversation.updated"},
	Example: "[vip]",
}

func planRemoveLabels(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	ids, err := d.labels(ctx, s.Args, "labels")
	if err != nil {
		return actions.Next{}, err
	}
	return d.planConversationLabels(ctx, s, labelChange{Remove: ids})
}
