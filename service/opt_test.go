package service

import (
	"encoding/json"
	"testing"
	"time"
)

// A change that was recorded is repeated as it was: what was left alone stays left alone, and null
// stays null.
func TestChangesSurviveJSON(t *testing.T) {
	for want, change := range map[string]any{
		`{}`:                                 &ConversationPatch{},
		`{"archived":false}`:                 &ConversationPatch{Archived: Set(false)},
		`{"name":null,"label_ids":["a"]}`:    &ConversationPatch{Name: Null[string](), LabelIDs: Set([]string{"a"})},
		`{"label_ids":[]}`:                   &ContactPatch{LabelIDs: Set[[]string](nil)},
		`{"title":"t","due_date":null}`:      &CardPatch{Title: Set("t"), DueDate: Null[time.Time]()},
		`{"board_id":"b","label_ids":["a"]}`: &NewCard{BoardID: "b", LabelIDs: []string{"a"}},
	} {
		first, err := json.Marshal(change)
		if err != nil || string(first) != want {
			t.Errorf("recorded %s, %v; want %s", first, err, want)
		}
		switch back := change.(type) {
		case *ConversationPatch:
			*back = ConversationPatch{}
		case *ContactPatch:
			*back = ContactPatch{}
		case *CardPatch:
			*back = CardPatch{}
		case *NewCard:
			*back = NewCard{}
		}
		if err := json.Unmarshal(first, change); err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(change); string(again) != want {
			t.Errorf("%s comes back as %s", want, again)
		}
	}
}
