package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// hasSubsteps reports whether a step contains steps, which are walked even if the step itself is
// done.
func hasSubsteps(s *rules.Step) bool { return s.Verb == "choose" || s.Verb == "for_each" }

// branch takes the steps of a choose or a for_each. It records the branch or the list before it
// takes the first of them.
func (k *walk) branch(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	if taken.State.Finished() {
		if err := k.restore(s, taken, rec); err != nil {
			return over, err
		}
	} else {
		var reason *phrases.Phrase
		var err error
		if s.Verb == "choose" {
			reason, err = k.choose(s, rec)
		} else {
			reason, err = k.evaluateList(s, rec)
		}
		if err != nil {
			return k.handleError(ctx, s, taken, rec, err)
		}
		if flow, err := k.end(ctx, s, taken, rec, journal.StepDone, nil, reason); flow != onward || err != nil {
			return flow, err
		}
	}
	if s.Verb == "choose" {
		if rec.Branch == nil || *rec.Branch < 0 || *rec.Branch >= len(s.Branches) {
			return onward, nil
		}
		return k.takeSteps(ctx, s.Branches[*rec.Branch].Do)
	}
	outer, before := k.indexes, *k.facts
	defer func() { k.indexes = outer }()
	from := k.passed[taken.Path]
	if err := k.restoreItems(taken.Path, from); err != nil {
		return over, err
	}
	for i, raw := range items(rec.Items, from) {
		item, err := decode(raw)
		if err != nil {
			return over, err
		}
		k.indexes = append(slices.Clone(outer), i)
		k.putBack(before)
		k.setName(s.As, item)
		if flow, err := k.takeSteps(ctx, s.Do); flow != onward || err != nil {
			return flow, err
		}
	}
	k.putBack(before)
	return onward, nil
}

// putBack makes the conversation before a for_each the one at hand again: what an item takes up is
// at hand for that item alone.
func (k *walk) putBack(before facts) {
	if k.facts.about != before.about {
		k.facts.putBack(before)
		k.eval.Forget()
	}
}

// items yields the items of a recorded list, as they are recorded, starting at index from. It skips
// the items before that without decoding them: a for_each may wait at each of thousands of items.
func items(list json.RawMessage, from int) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		depth, quoted, begin, i := 0, false, 0, 0
		for at := 0; at < len(list); at++ {
			c := list[at]
			switch {
			case quoted && c == '\\':
				at++
			case c == '"':
				quoted = !quoted
			case quoted:
			case depth == 1 && (c == ',' || c == ']'):
				if item := bytes.TrimSpace(list[begin:at]); len(item) > 0 {
					if i >= from && !yield(i, item) {
						return
					}
					i++
				}
				begin = at + 1
			case c == '[' || c == '{':
				if depth++; depth == 1 {
					begin = at + 1
				}
			case c == ']' || c == '}':
				depth--
			}
		}
	}
}

// choose finds the branch to take, and returns the reason.
func (k *walk) choose(s *rules.Step, rec *record) (*phrases.Phrase, error) {
	chosen := -1
	rec.Branch = &chosen
	for i, b := range s.Branches {
		if b.If == nil {
			chosen = i
			return phrases.New(phrases.Else), nil
		}
		met, err := k.eval.True(b.If)
		if err != nil {
			return nil, err
		}
		if met {
			chosen, rec.Values = i, named(k.eval.Values(b.If))
			return phrases.Text(b.If.Text), nil
		}
	}
	return phrases.New(phrases.NoBranch), nil
}

// evaluateList evaluates the list of a for_each, and returns a phrase with its length.
func (k *walk) evaluateList(s *rules.Step, rec *record) (*phrases.Phrase, error) {
	value, err := k.eval.Value(s.In)
	if err != nil {
		return nil, err
	}
	raw, err := encode(value)
	if err != nil {
		return nil, err
	}
	items, err := decode(raw)
	if err != nil {
		return nil, err
	}
	list, ok := items.([]any)
	if !ok && items != nil {
		kind := phrases.NoListNumber
		switch items.(type) {
		case string:
			kind = phrases.NoListText
		case bool:
			kind = phrases.NoListFlag
		case map[string]any:
			kind = phrases.NoListObject
		}
		return nil, phrases.New(phrases.NoList, s.In.Text, phrases.New(kind))
	}
	if len(list) > s.MaxItems {
		return nil, phrases.New(phrases.TooManyItems, s.In.Text, len(list), s.MaxItems)
	}
	rec.Items = raw
	return phrases.New(phrases.Items, len(list)), nil
}
