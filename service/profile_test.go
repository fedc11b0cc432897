package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProfileFromMap(t *testing.T) {
	p, errs := ProfileFromMap(map[string]any{
		"header_prefix": "X-Desk",
		"attendance":    map[string]any{"protocol": []any{"ticket.code"}, "status": "situation"},
		"cards": map[string]any{
			"get":  map[string]any{"path": ""},
			"move": map[string]any{"method": "PATCH", "path": "/kanban/cards/{id}", "body": map[string]any{"stage_id": "column"}},
		},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := DefaultProfile()
	want.HeaderPrefix = "X-Desk"
	want.Attendance.Protocol, want.Attendance.Status = Paths{"ticket.code"}, Paths{"situation"}
	want.Cards.Get.Path = ""
	want.Cards.Move = CardOperation{"PATCH", "/kanban/cards/{id}", map[string]string{"stage_id": "column"}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Header("Signature") != "X-Desk-Signature" {
		t.Error(p.Header("Signature"))
	}
}

func TestProfileFromMapReportsEverything(t *testing.T) {
	_, errs := ProfileFromMap(map[string]any{
		"header_prefx": "X",
		"attendance":   map[string]any{"protocol": 3, "asignee_id": "x"},
		"label":        "name",
		"list":         map[string]any{"items": []any{"a", 1}},
		"event":        map[string]any{"self": map[string]any{"message.": "letter"}},
		"cards":        map[string]any{"version_in": "footer", "move": map[string]any{"path": "/move", "body": map[string]any{"colour": "c"}}, "create": map[string]any{"path": ""}},
	})
	got := errors.Join(errs...).Error()
	for _, want := range []string{
		"profile: header_prefx: unknown key; did you mean header_prefix?",
		"profile: attendance.asignee_id: unknown key; did you mean assignee_id",
		"profile: attendance.protocol: expected a name or a list of names, found a number",
		"profile: label: expected a mapping, found a string",
		"profile: list.items: expected a name or a list of names, found a list",
		`profile: event.self.message.: "letter" is none of`,
		`profile: cards.version_in: "footer" is none of header, body, both`,
		`profile: cards.move.path: "/move" must contain {id} once`,
		"profile: cards.move.body.colour: is not a field of a card",
		"profile: cards.create.path: is missing",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no problem says %q in:\n%s", want, got)
		}
	}
}

// Each fixture is decoded through the first candidate of each field: the default profile and the
// description agree.
func TestDefaultProfileFitsTheDescription(t *testing.T) {
	p := DefaultProfile()
	for kind, raw := range map[string]string{"conversation": jsonConversation, "message": jsonMessage, "contact": jsonContact, "attendance": jsonAttendance, "card": jsonCard, "board": jsonBoard, "webhook": jsonHookSecret, "sector": jsonSector} {
		for _, field := range p.Unseen(kind, object(t, raw)) {
			switch kind + "." + field {
			// Other ways to say what the description says with another field.
			case "message.from_me", "attendance.contact", "attendance.assignee", "card.label_id", "sector.queue_waiting", "webhook.event_name":
			default:
				t.Errorf("%s.%s is not found in %s", kind, field, raw)
			}
		}
	}
	if got := p.Unseen("attendance", object(t, `{"id":"1","status":null}`)); len(got) == 0 || got[0] != "protocol" {
		t.Errorf("unseen: %v", got)
	}
}
