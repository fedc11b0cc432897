package service

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIsWhole takes each field away from whole objects: without any that rules can ask for, it is
// not whole any more.
func TestIsWhole(t *testing.T) {
	p := DefaultProfile()
	for kind, c := range map[Kind]struct {
		object string
		spare  []string // unused fields, or implied by another
	}{
		KindMessage: {jsonMessage, []string{"conversation_id", "client_id", "media_id", "reply_to_external_id", "external_id", "direction", "sender"}},
		// The count of unread messages implies the flag.
		KindConversation: {jsonConversation, []string{"phone", "unread", "unread_count", "created_at", "updated_at"}},
		KindContact:      {jsonContact, []string{"created_at", "updated_at"}},
		KindAttendance:   {jsonAttendance, []string{"close_reason"}},
		KindCard:         {jsonCard, []string{"version", "status", "created_at", "updated_at"}},
	} {
		object := object(t, c.object)
		if !p.IsWhole(kind, object) {
			t.Errorf("a %s as the service shows it is not whole", kind)
		}
		var spare []string
		for _, name := range slices.Sorted(maps.Keys(object)) {
			part := maps.Clone(object)
			delete(part, name)
			if p.IsWhole(kind, part) {
				spare = append(spare, name)
			}
			part[name] = map[string]any{"of": "another kind"}
			if p.IsWhole(kind, part) && !slices.Contains(c.spare, name) && name != "last_message" {
				t.Errorf("a %s whose %s is of another kind is whole", kind, name)
			}
		}
		slices.Sort(c.spare)
		if diff := cmp.Diff(c.spare, spare); diff != "" {
			t.Errorf("a %s is whole without (-want +got):\n%s", kind, diff)
		}
	}
}

func TestIsWholeLooksCloser(t *testing.T) {
	p := DefaultProfile()
	for name, c := range map[string]struct {
		kind   Kind
		change map[string]any
		want   bool
	}{
		"no labels":              {KindContact, map[string]any{"label_ids": []any{}}, true},
		"labels without ids":     {KindContact, map[string]any{"label_ids": []any{map[string]any{"name": "vip"}}}, false},
		"a flag that is neither": {KindContact, map[string]any{"blocked": nil}, false},
		"an empty name":          {KindContact, map[string]any{"name": ""}, true},
		"a time that is none":    {KindAttendance, map[string]any{"first_response_at": "soon"}, false},
		"nested people":          {KindAttendance, map[string]any{"assignee_id": map[string]any{"id": "p", "name": "Ana"}}, true},
		"a file without a text":  {KindMessage, map[string]any{"text": nil, "media_id": "m"}, true},
		"no id":                  {KindCard, map[string]any{"id": nil}, false},
		"one label":              {KindCard, map[string]any{"label_ids": "vip", "label_id": "l"}, true},
	} {
		raw := object(t, map[Kind]string{KindContact: jsonContact, KindAttendance: jsonAttendance, KindMessage: jsonMessage, KindCard: jsonCard}[c.kind])
		maps.Copy(raw, c.change)
		if got := p.IsWhole(c.kind, raw); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if p.IsWhole(KindLabel, object(t, jsonLabel)) {
		t.Error("a label is nothing that events carry")
	}
}

// TestIsWholeWithoutPaths shows how to say that a service does not have a field at all.
func TestIsWholeWithoutPaths(t *testing.T) {
	p, errs := ProfileFromMap(map[string]any{"conversation": map[string]any{"muted": []any{}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	raw := object(t, jsonConversation)
	delete(raw, "muted")
	if !p.IsWhole(KindConversation, raw) {
		t.Error("a field that the service does not have is missed")
	}
}
