package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

// result ends a step with the facts that a call recorded, after finding the names that belong to them.
func result(ctx context.Context, r actions.Receipt, t *rules.Type, name func(context.Context, map[string]any) error) (actions.Next, error) {
	v := r.Fact
	if v == nil {
		var err error
		if v, err = actions.Typed(t, r.Answer); err != nil {
			return actions.Next{}, actions.Permanent(err)
		}
	}
	if fact, ok := v.(map[string]any); ok && name != nil {
		if err := name(ctx, fact); err != nil {
			return actions.Next{}, err
		}
	}
	return done(v)
}

// read ends a step that only reads.
func read[T any](value T, err error) (actions.Next, error) {
	if err != nil {
		return actions.Next{}, err
	}
	return done(value)
}
