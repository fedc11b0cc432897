package builtin

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/quandohq/quando/actions"
)

// A patch sets absolute values, so a repeat is harmless, with two exceptions: a person who has set
// a third value meanwhile, and labels that were added in between. The fields of a patch and of the
// object's facts have the same names.

// fieldsOf returns the fields that a patch sets.
func fieldsOf(patch any) map[string]any {
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil
	}
	var fields map[string]any
	_ = json.Unmarshal(raw, &fields) // it was encoded just now
	return fields
}

// patchedFields returns the fields of an object's facts that a patch sets.
func patchedFields(fact, patch map[string]any) map[string]any {
	out := make(map[string]any, len(patch))
	for name := range patch {
		out[name] = fact[name]
	}
	return fieldsOf(out) // as they are after decoding
}

// settlePatch compares what a patch sets with the values before it and the present ones.
func settlePatch(want, before, now map[string]any, labels *labelChange) actions.Verdict {
	arrived, foreign, foreignLabels := true, false, false
	for name := range want {
		there := sameValue(now[name], want[name])
		if !there && !sameValue(now[name], before[name]) {
			foreignLabels = foreignLabels || name == "label_ids"
			foreign = foreign || name != "label_ids"
		}
		if name == "label_ids" && labels != nil {
			there = labels.isApplied(idsOf(now[name]))
		}
		arrived = arrived && there
	}
	switch {
	case arrived:
		return actions.Happened
	case foreign, foreignLabels && (labels == nil || labels.Only):
		return actions.Overtook
	case foreignLabels:
		return actions.Replan // the same change, applied to the present labels
	}
	return actions.Repeat
}

// sameValue compares recorded values. Lists are sets of labels, and an empty text equals nil.
func sameValue(a, b any) bool {
	if a == "" {
		a = nil
	}
	if b == "" {
		b = nil
	}
	x, isList := a.([]any)
	y, isListToo := b.([]any)
	if isList && isListToo {
		return sameLabels(idsOf(x), idsOf(y))
	}
	return reflect.DeepEqual(a, b)
}

func idsOf(v any) []string {
	list, _ := v.([]any)
	ids := make([]string, 0, len(list))
	for _, item := range list {
		if id, ok := item.(string); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
