package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var setLabels = rules.Schema{
	Verb: "set_labels", Main: "labels", Summary: "Give the conversation these labels and no others",
	Args: []rules.Arg{
		{Name: "labels", Kind: rules.KindNames, Refers: "label", Required: true, Null: true, Summary: "names or ids; an empty list takes all off"},
	},
	Needs:   "conversation",
	Scopes:  []string{"conversations:read", "conversations:write"},
	Emits:   []string{"conversation.updated"},
	Example: "[vip]",
}

func planSetLabels(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	ids, err := d.labels(ctx, s.Args, "labels")
	if err != nil {
		return actions.Next{}, err
	}
	return d.planConversationLabels(ctx, s, labelChange{Add: ids, Only: true})
}
