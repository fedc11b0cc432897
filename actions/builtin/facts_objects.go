package builtin

import (
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// The facts of an object without the names of what it refers to. Names are looked up separately,
// because that takes calls, and no call may come between an effect and its receipt.

func messageFact(m service.Message) map[string]any {
	var by any
	switch m.Direction {
	case service.Inbound:
		by = "customer"
	case service.Outbound:
		by = "team"
	}
	told := messageMembers(m, by)
	return object(told[:])
}

// messageMembers returns the members of a message with the given sender.
func messageMembers(m service.Message, by any) [9]member {
	return [9]member{
		{"by", by}, {"client_id", orNil(m.ClientID)}, {"conversation_id", orNil(m.ConversationID)}, {"created_at", timeOrNil(&m.CreatedAt)}, {"external_id", orNil(m.ExternalID)},
		{"id", orNil(m.ID)}, {"media_id", orNil(m.MediaID)}, {"reply_to_external_id", orNil(m.ReplyToExternalID)}, {"text", m.Text},
	}
}

func conversationFact(c service.Conversation) map[string]any {
	fact := map[string]any{
		"id": orNil(c.ID), "kind": orNil(c.Kind), "name": orNil(c.Name), "archived": c.Archived, "pinned": c.Pinned, "muted": c.Muted,
		"unread": c.Unread, "label_ids": listOf(c.LabelIDs), "labels": nil, "channel": orNil(c.ChannelID), "channel_name": nil,
		"assignee": orNil(c.AssigneeID), "assignee_name": nil, "sector": orNil(c.SectorID), "sector_name": nil,
		"contact_id": orNil(c.ContactID), "last_message": nil,
	}
	if c.LastMessage != nil {
		fact["last_message"] = messageFact(*c.LastMessage)
	}
	return fact
}

func contactFact(c service.Contact) map[string]any {
	return map[string]any{
		"id": orNil(c.ID), "name": orNil(c.Name), "phone": c.Phone, "company": orNil(c.Company), "city": orNil(c.City),
		"channel_id": orNil(c.ChannelID), "label_ids": listOf(c.LabelIDs), "labels": nil, "blocked": c.Blocked,
	}
}

func attendanceFact(a service.Attendance) map[string]any {
	fact := map[string]any{
		"id": orNil(a.ID), "protocol": a.Protocol, "status": orNil(a.Status), "conversation_id": orNil(a.ConversationID),
		"contact_id": orNil(a.ContactID), "assignee": orNil(a.AssigneeID), "assignee_name": nil, "sector": orNil(a.SectorID),
		"sector_name": nil, "opened_at": timeOrNil(&a.OpenedAt), "first_response": timeOrNil(a.FirstResponseAt), "closed_at": timeOrNil(a.ClosedAt),
	}
	if a.Assignee != nil && a.Assignee.ID == a.AssigneeID {
		fact["assignee_name"] = orNil(a.Assignee.Name)
	}
	return fact
}

func cardFact(c service.Card) map[string]any {
	return map[string]any{
		"id": orNil(c.ID), "board_id": orNil(c.BoardID), "board_name": nil, "stage_id": orNil(c.StageID), "stage_name": nil,
		"title": c.Title, "description": orNil(c.Description), "priority": orNil(c.Priority), "label_ids": listOf(c.LabelIDs),
		"due": timeOrNil(c.DueDate), "version": orNil(c.Version), "contact_id": orNil(c.ContactID),
		"conversation_id": orNil(c.ConversationID), "attendance_id": orNil(c.AttendanceID),
		"from_stage_id": nil, "from_stage_name": nil, "moved_by": nil,
	}
}

// A member of an object. The members of one object are sorted by name, so that they can be written
// as they are.
type member struct {
	name  string
	value any
}

// object returns the object with these members.
func object(members []member) map[string]any {
	out := make(map[string]any, len(members))
	for _, m := range members {
		out[m.name] = m.value
	}
	return out
}

// appendMembers encodes an object as plain.Append does, without sorting its members.
func appendMembers(b []byte, members []member) (_ []byte, err error) {
	for i, m := range members {
		if b = append(b, ','); i == 0 {
			b[len(b)-1] = '{'
		}
		b = append(plain.AppendText(b, m.name), ':')
		if b, err = plain.Append(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
