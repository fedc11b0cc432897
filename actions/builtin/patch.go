package builtin

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/quandohq/quando/actions"
)

// A patch sets absolute values, so a repeat is harmless to everybody but a person who has chosen a
// third value meanwhile, and to labels that somebody else has given in between. The fields of a
// patch and of the object's facts have the same names.

// fieldsOf reads the fields that a patch sets.
func fieldsOf(patch any) map[string]any {
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil
	}
	var fields map[string]any
	_ = json.Unmarshal(raw, &fields) // what was just written can be read
	return fields
}

// part returns the fields of an object's facts that a patch sets.
func part(fact, patch map[string]any) map[string]any {
	out := make(map[string]any, len(patch))
	for name := range patch {
		out[name] = fact[name]
	}
	return fieldsOf(out) // as it reads when it has been recorded
}

// settlePatch compares what a patch was to set with what was there before and what is there now.
func settlePatch(want, before, now map[string]any, labels *labelChange) actions.Verdict {
	arrived, foreign, foreignLabels := true, false, false
	for name := range want {
		there := sameValue(now[name], want[name])
		if !there && !sameValue(now[name], before[name]) {
			foreignLabels = foreignLabels || name == "label_ids"
			foreign = foreign || name != "label_ids"
		}
		if name == "label_ids" && labels != nil {
			there = labels.in(idsOf(now[name]))
		}
		arrived = arrived && there
	}
	switch {
	case arrived:
		return actions.Happened
	case foreign, foreignLabels && (labels == nil || labels.Only):
		return actions.Overtook
	case foreignLabels:
		return actions.Replan // the same change, on the labels that are there now
	}
	return actions.Repeat
}

// sameValue compares recorded values. Lists are sets of labels, and an empty text is none.
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
