package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is put together from the API's answers is read as a delivery is, whatever the profile says
// of deliveries.
func TestEventDataIsReadAsADelivery(t *testing.T) {
	flat := DefaultProfile()
	flat.Event.Message, flat.Event.Conversation, flat.Event.ConversationID = nil, nil, Paths{"chat_uuid"}
	deep := DefaultProfile()
	deep.Event.Message, deep.Event.MessageID = Paths{"payload.msg"}, Paths{"payload.msg.id"}
	deep.Event.Conversation, deep.Event.ConversationID = Paths{"payload.msg.chat"}, Paths{"payload.chat_uuid"}
	usual := DefaultProfile()
	for name, p := range map[string]*Profile{"default": &usual, "the data is the message": &flat, "elsewhere": &deep} {
		t.Run(name, func(t *testing.T) {
			message := map[string]any{"id": "m1", "text": "hello", "direction": "inbound", "created_at": "2026-11-13T12:00:00Z"}
			data := p.EventData("message.received", Objects{KindMessage: message, KindConversation: {"id": "c1", "kind": "direct"}})
			m, ok := p.EventMessage("message.received", data)
			if !ok || m.ID != "m1" || m.Text != "hello" {
				t.Errorf("the message: %+v, %v", m, data)
			}
			if kind, id := p.EventPlace("message.received", data); kind != KindConversation || id != "c1" {
				t.Errorf("the place: %s %s, %v", kind, id, data)
			}
			if got := p.EventIdentity("message.received", data); got != "m1" {
				t.Errorf("the identity: %q", got)
			}
			if len(message) != 4 {
				t.Errorf("the object was changed: %v", message)
			}
		})
	}
}

func TestEventIdentity(t *testing.T) {
	p := DefaultProfile()
	card := map[string]any{"id": "k1", "stage_id": "s1", "board_id": "b1", "conversation_id": "c1"}
	moved := p.CardMoveData(p.EventData("kanban.card.moved", Objects{KindCard: p.CardInStage(card, "s2")}), "s1", "s2")
	want := map[string]any{"card": map[string]any{"id": "k1", "stage_id": "s2", "board_id": "b1", "conversation_id": "c1"}, "from_stage_id": "s1", "to_stage_id": "s2"}
	if diff := cmp.Diff(want, moved); diff != "" {
		t.Error(diff)
	}
	long := map[string]any{"message": map[string]any{"id": string(make([]byte, 1000))}}
	for _, c := range []struct {
		typ  string
		data map[string]any
		want string
	}{
		{"kanban.card.moved", moved, "k1 to s2"},
		{"kanban.card.completed", map[string]any{"card": card}, "k1"},
		{"attendance.closed", map[string]any{"attendance": map[string]any{"id": "a1"}, "conversation": map[string]any{"id": "c1"}}, "a1"},
		{"message.sent", map[string]any{"id": "m1", "text": "hello", "conversation_id": "c1"}, "m1"},
		{"message.sent", long, ""},
		{"message.received", map[string]any{"conversation": map[string]any{"id": "c1"}}, ""},
		{"conversation.updated", map[string]any{"conversation": map[string]any{"id": "c1"}}, ""},
	} {
		if got := p.EventIdentity(c.typ, c.data); got != c.want {
			t.Errorf("%s: %q, want %q", c.typ, got, c.want)
		}
	}
}
