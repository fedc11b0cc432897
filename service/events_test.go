package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEventIDs(t *testing.T) {
	p := DefaultProfile()
	type ids struct{ Conversation, Contact, Message, Attendance, Card string }
	for _, tc := range []struct {
		name, event, data string
		want              ids
	}{
		{"message, as the sandbox sends it", "message.received", `{"message":` + jsonMessage + `,"conversation":` + jsonConversation + `,"contact":` + jsonContact + `}`,
			ids{Conversation: idConv, Contact: idContact, Message: idMsg}},
		{"message, bare", "message.received", `{"id":"$msg","conversation_id":"$conv","text":"oi","message":"oi"}`, ids{Conversation: idConv, Message: idMsg}},
		{"message, bare and nested", "message.sent", `{"id":"$msg","chat":{"id":"$conv"},"contact":{"id":"$contact"}}`, ids{Conversation: idConv, Contact: idContact, Message: idMsg}},
		{"message, ids only", "message.received", `{"message_id":"$msg","conversation_id":"$conv","contact_id":"$contact"}`, ids{Conversation: idConv, Contact: idContact, Message: idMsg}},
		{"message that knows its conversation", "message.received", `{"message":{"id":"$msg","conversation":{"id":"$conv"}}}`, ids{Conversation: idConv, Message: idMsg}},
		{"conversation", "conversation.updated", `{"conversation":` + jsonConversation + `,"changed":["assignee_id"]}`, ids{Conversation: idConv, Contact: idContact}},
		{"conversation, bare", "conversation.updated", jsonConversation, ids{Conversation: idConv, Contact: idContact}},
		{"attendance", "attendance.opened", `{"attendance":` + jsonAttendance + `}`, ids{Conversation: idConv, Contact: idContact, Attendance: idAtt}},
		{"attendance, bare", "attendance.closed", jsonAttendance, ids{Conversation: idConv, Contact: idContact, Attendance: idAtt}},
		{"card", "kanban.card.moved", `{"card":` + jsonCard + `,"from_stage_id":"$stage","to_stage_id":"$stage2"}`, ids{Conversation: idConv, Contact: idContact, Card: idCard}},
		{"card, bare", "kanban.card.created", jsonCard, ids{Conversation: idConv, Contact: idContact, Card: idCard}},
		{"card, id only", "kanban.card.moved", `{"card_id":"$card","from_stage_id":"$stage","to_stage_id":"$stage2"}`, ids{Card: idCard}},
		{"test event", "webhook.test", `{"message":"hello"}`, ids{}},
		{"nothing", "message.received", `{}`, ids{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := object(t, fill(tc.data))
			id := func(k Kind) string { return p.EventID(k, tc.event, data) }
			got := ids{id(KindConversation), id(KindContact), id(KindMessage), id(KindAttendance), id(KindCard)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEventsThatOnlyNameTheirObject shows that an event with nothing but ids is not decoded as the
// object.
func TestEventsThatOnlyNameTheirObject(t *testing.T) {
	p := DefaultProfile()
	for event, data := range map[string]string{
		"message.received": `{"message_id":"$msg","conversation_id":"$conv"}`, "attendance.closed": `{"attendance_id":"$att","conversation_id":"$conv"}`,
		"conversation.updated": `{"conversation_id":"$conv","changed":["sector_id"]}`, "kanban.card.moved": `{"card_id":"$card","from_stage_id":"$stage","to_stage_id":"$stage2"}`,
	} {
		for _, kind := range []Kind{KindMessage, KindAttendance, KindConversation, KindCard} {
			if o, ok := p.EventObject(kind, event, object(t, fill(data))); ok {
				t.Errorf("%s: %v is taken for a %s", event, o, kind)
			}
		}
	}
}

func TestEventMessageSide(t *testing.T) {
	p := DefaultProfile()
	for data, want := range map[string]string{
		`{"message":{"direction":"in"}}`: Inbound, `{"message":{"direction":"OUTBOUND"}}`: Outbound, `{"fromMe":true}`: Outbound, `{"sender":"customer"}`: Inbound,
		`{"sender":{"kind":"team"}}`: Outbound, `{"message":{"text":"who knows"}}`: Inbound,
	} {
		if m, ok := p.EventMessage("message.received", object(t, data)); !ok || m.Direction != want {
			t.Errorf("%s: %q, %v; want %q", data, m.Direction, ok, want)
		}
	}
	if m, _ := p.EventMessage("message.sent", object(t, fill(`{"id":"$msg","conversation":"$conv"}`))); m.Direction != Outbound || m.ConversationID != idConv {
		t.Errorf("got %+v", m)
	}
}

func TestEventCardMove(t *testing.T) {
	p := DefaultProfile()
	want := CardMove{FromStageID: idStage, ToStageID: idStage2, By: Actor{Kind: "team", ID: idPerson, Name: "Ana"}}
	for _, data := range []string{
		`{"card":` + jsonCard + `,"from_stage_id":"$stage","to_stage_id":"$stage2","moved_by":{"kind":"team","id":"$person","name":"Ana"}}`,
		`{"card_id":"$card","from_stage":{"id":"$stage"},"to_stage":{"id":"$stage2"},"user":{"type":"team","id":"$person","name":"Ana"}}`,
	} {
		if diff := cmp.Diff(want, p.EventCardMove(object(t, fill(data)))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestEventChanged(t *testing.T) {
	p := DefaultProfile()
	for _, data := range []string{`{"changed":["assignee_id","sector_id"]}`, `{"changes":{"sector_id":{},"assignee_id":{}}}`} {
		if diff := cmp.Diff([]string{"assignee_id", "sector_id"}, p.EventChanged(object(t, data))); diff != "" {
			t.Error(diff)
		}
	}
}
