package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/quandohq/quando/rules"
)

// nests reports whether a step has steps of its own, which are walked also when its own part is done.
func nests(s *rules.Step) bool { return s.Verb == "choose" || s.Verb == "for_each" }

// branch takes the steps of a choose or a for_each. The way is recorded before it is gone.
func (k *walk) branch(ctx context.Context, s *rules.Step, taken *Step, rec *record) (flow, error) {
	if !taken.State.Finished() {
		var err error
		if s.Verb == "choose" {
			err = k.choose(s, rec)
		} else {
			err = k.list(s, rec)
		}
		if err != nil {
			return k.trouble(ctx, s, taken, rec, err)
		}
		if flow, err := k.end(ctx, s, taken, rec, StepDone, nil, rec.Reason); flow != onward || err != nil {
			return flow, err
		}
	}
	if s.Verb == "choose" {
		if rec.Branch == nil || *rec.Branch < 0 || *rec.Branch >= len(s.Branches) {
			return onward, nil
		}
		return k.take(ctx, s.Branches[*rec.Branch].Do)
	}
	items, err := decode(rec.Items)
	if err != nil {
		return over, err
	}
	list, _ := items.([]any)
	outer := k.indexes
	defer func() { k.indexes = outer }()
	for i, item := range list {
		k.indexes = append(slices.Clone(outer), i)
		k.name(s.As, item)
		if flow, err := k.take(ctx, s.Do); flow != onward || err != nil {
			return flow, err
		}
	}
	return onward, nil
}

// choose finds the branch to take.
func (k *walk) choose(s *rules.Step, rec *record) error {
	chosen := -1
	rec.Branch, rec.Reason = &chosen, "no branch"
	for i, b := range s.Branches {
		if b.If != nil {
			met, err := k.eval.True(b.If)
			if err != nil {
				return err
			}
			if !met {
				continue
			}
			rec.Reason, rec.Values = b.If.Text, named(k.eval.Values(b.If))
		} else {
			rec.Reason = "else"
		}
		chosen = i
		return nil
	}
	return nil
}

// list works out what a for_each goes through.
func (k *walk) list(s *rules.Step, rec *record) error {
	value, err := k.eval.Value(s.In)
	if err != nil {
		return err
	}
	raw, err := encode(value)
	if err != nil {
		return err
	}
	items, err := decode(raw)
	if err != nil {
		return err
	}
	list, ok := items.([]any)
	if !ok && items != nil {
		return fmt.Errorf("for_each: %s gives no list", s.In.Text)
	}
	if len(list) > s.MaxItems {
		return fmt.Errorf("for_each: %s gives %d items, and max is %d", s.In.Text, len(list), s.MaxItems)
	}
	rec.Items, rec.Reason = raw, fmt.Sprintf("%d items", len(list))
	return nil
}
