package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestItemsAreReadBack shows that the items of a for_each are decoded one by one as they were
// recorded together.
func TestItemsAreReadBack(t *testing.T) {
	for _, list := range [][]any{
		nil, {}, {1}, {nil}, {"a", "b"}, {`a,"]\`, `[\\",`, "{"}, {[]any{}, []any{1, []any{2}}, map[string]any{"a": []any{"]"}, "b,": "}"}}, {1, nil, true, "é", 2.5, []any{nil}}, {""}, {[]any{[]any{}}},
	} {
		raw, err := encode(list)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := decoded.([]any)
		for from := range len(want) + 2 {
			got, next := []any{}, from
			for i, item := range items(raw, from) {
				v, err := decode(item)
				if err != nil || i != next {
					t.Fatalf("%s from %d: item %d is %s: %v", raw, from, i, item, err)
				}
				got, next = append(got, v), next+1
			}
			if diff := cmp.Diff(want[min(from, len(want)):], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s from %d: %s", raw, from, diff)
			}
		}
	}
	for range items(json.RawMessage("null"), 0) {
		t.Error("nothing has an item")
	}
}
