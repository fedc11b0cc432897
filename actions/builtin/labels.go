package builtin

import (
	"context"
	"slices"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var (
	addLabels    = labelVerb("add_labels", "Add labels to the conversation", rules.Arg{Summary: "names or ids"})
	removeLabels = labelVerb("remove_labels", "Take labels off the conversation", rules.Arg{Summary: "names or ids"})
	setLabels    = labelVerb("set_labels", "Give the conversation these labels and no others", rules.Arg{Null: true, Summary: "names or ids; an empty list takes all off"})
)

// labelVerb returns the schema of a verb that changes labels, of the conversation.
func labelVerb(verb, summary string, labels rules.Arg) rules.Schema {
	labels.Name, labels.Kind, labels.Refers, labels.Required = "labels", rules.KindNames, "label", true
	return rules.Schema{
		Verb: verb, Group: "labels", Main: "labels", Summary: summary, Args: []rules.Arg{labels, anotherConversation},
		Needs: "conversation", Unless: []string{"conversation"},
		Scopes:  []string{"conversations:read", "conversations:write"},
		Emits:   []string{"conversation.updated"},
		Example: "[vip]",
	}
}

// planLabels plans a change of the conversation's labels, given the ids that a step names.
func planLabels(change func(ids []string) labelChange) planner {
	return func(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
		ids, err := d.labels(ctx, s.Args, "labels")
		if err != nil {
			return actions.Next{}, err
		}
		return d.planConversationLabels(ctx, s, change(ids))
	}
}

// A labelChange is a change of labels that applies to any list of them.
type labelChange struct {
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
	Only   bool     `json:"only,omitempty"` // remove all others than Add
}

// apply returns the labels after the change.
func (c labelChange) apply(labels []string) []string {
	if c.Only {
		return c.Add
	}
	return merged(labels, c.Add, c.Remove)
}

// isApplied reports whether the change leaves the labels as they are.
func (c labelChange) isApplied(labels []string) bool { return sameLabels(c.apply(labels), labels) }

// labels turns the names in an argument into the ids of labels, each once.
func (d *desk) labels(ctx context.Context, a args, arg string) ([]string, error) {
	ids := []string{}
	for _, name := range a.texts(arg) {
		id, err := d.directory.ID(ctx, service.KindLabel, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// merged returns the labels with some added and some removed, in their old order.
func merged(labels, add, remove []string) []string {
	out := []string{}
	for _, id := range slices.Concat(labels, add) {
		if !slices.Contains(out, id) && !slices.Contains(remove, id) {
			out = append(out, id)
		}
	}
	return out
}

// sameLabels reports whether two lists hold the same labels, in any order.
func sameLabels(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id string) bool { return !slices.Contains(b, id) })
}
