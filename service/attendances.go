package service

import (
	"context"
	"iter"
	"net/url"
	"time"
)

var (
	opListAttendances   = Operation{"GET", "/attendances", "attendances:read"}
	opGetAttendance     = Operation{"GET", "/attendances/{id}", "attendances:read"}
	opCurrentAttendance = Operation{"GET", "/conversations/{id}/attendance", "attendances:read"}
	opListAssignments   = Operation{"GET", "/conversations/{id}/assignments", "attendances:read"}
	opCloseAttendance   = Operation{"POST", "/conversations/{id}/attendance/close", "attendances:write"}
)

var attendanceOperations = []Operation{opListAttendances, opGetAttendance, opCurrentAttendance, opListAssignments, opCloseAttendance}

// The states of an attendance.
const (
	StatusOpen   = "open"
	StatusClosed = "closed"
)

// Attendance is a support case with a protocol number.
type Attendance struct {
	ID              string
	Protocol        string
	Status          string // open or closed
	ConversationID  string
	ContactID       string
	AssigneeID      string // empty: unassigned
	SectorID        string
	OpenedAt        time.Time
	FirstResponseAt *time.Time
	ClosedAt        *time.Time
	CloseReason     string
	Contact         *Contact // if the answer carries it, as that of GetAttendance does
	Assignee        *Person  // likewise
	Raw             map[string]any
}

// DecodeAttendance reads an attendance through the profile.
func DecodeAttendance(raw map[string]any, p *Profile) Attendance {
	f, n := fields(raw), &p.Attendance
	a := Attendance{
		ID: f.id(n.ID), Protocol: f.str(n.Protocol), Status: f.str(n.Status), ConversationID: f.id(n.ConversationID), ContactID: f.id(n.ContactID),
		AssigneeID: f.id(n.AssigneeID), SectorID: f.id(n.SectorID), OpenedAt: f.time(n.OpenedAt), FirstResponseAt: f.optTime(n.FirstResponseAt),
		ClosedAt: f.optTime(n.ClosedAt), CloseReason: f.str(n.CloseReason), Raw: raw,
	}
	if m := f.object(n.Contact); m != nil {
		contact := DecodeContact(m, p)
		a.Contact = &contact
	}
	if m := f.object(n.Assignee); m != nil {
		person := DecodePerson(m, p)
		a.Assignee = &person
	}
	if a.Status == "" && a.ID != "" {
		// A service without a status field shows only the closing time.
		a.Status = StatusOpen
		if a.ClosedAt != nil {
			a.Status = StatusClosed
		}
	}
	return a
}

// AttendanceQuery filters attendances. Zero values do not filter.
type AttendanceQuery struct {
	Status       string // open or closed
	Assignee     string // a person's id or none
	Sector       string
	Conversation string
	Protocol     string // with or without the prefix
	From         time.Time
	To           time.Time // opened before
	Limit        int       // 1 to 100
	Cursor       string
}

// ListAttendances gives one page of attendances.
func (c *Client) ListAttendances(ctx context.Context, q AttendanceQuery) (Page[Attendance], error) {
	o := opListAttendances
	if err := checkLimit(o, q.Limit); err != nil {
		return Page[Attendance]{}, err
	}
	v := query{}
	v.set("status", q.Status)
	v.set("assignee", q.Assignee)
	v.set("sector", q.Sector)
	v.set("conversation", q.Conversation)
	v.set("protocol", q.Protocol)
	v.time("from", q.From)
	v.time("to", q.To)
	v.num("limit", q.Limit)
	v.set("cursor", q.Cursor)
	return list(ctx, c, request{op: o, query: url.Values(v)}, DecodeAttendance)
}

// Attendances iterates over all matching attendances, from q.Cursor on.
func (c *Client) Attendances(ctx context.Context, q AttendanceQuery) iter.Seq2[Attendance, error] {
	q.Limit = pageSize(q.Limit)
	return byCursor(opListAttendances, q.Cursor, func(a *Attendance) string { return a.ID }, func(cursor string) (Page[Attendance], error) {
		q.Cursor = cursor
		return c.ListAttendances(ctx, q)
	})
}

// GetAttendance reads one attendance with its contact and responsible person.
func (c *Client) GetAttendance(ctx context.Context, id string) (Attendance, error) {
	v, _, err := one(ctx, c, request{op: opGetAttendance, id: id}, "attendance", c.profile.Attendance.ID, DecodeAttendance)
	return v, err
}

// CurrentAttendance reads the attendance a conversation is in; it is nil when there is none.
func (c *Client) CurrentAttendance(ctx context.Context, conversation string) (*Attendance, error) {
	a, _, err := one(ctx, c, request{op: opCurrentAttendance, id: conversation}, "attendance", c.profile.Attendance.ID, DecodeAttendance)
	if err != nil || a.ID == "" {
		return nil, err
	}
	return &a, nil
}

// CloseAttendance closes the current attendance of a conversation. The call names the conversation,
// not the attendance: before a repeat, make sure that the current attendance is still the same one.
func (c *Client) CloseAttendance(ctx context.Context, conversation, reason string) (Attendance, error) {
	body := struct {
		Reason string `json:"reason,omitempty"`
	}{reason}
	v, _, err := one(ctx, c, request{op: opCloseAttendance, id: conversation, body: body}, "attendance", c.profile.Attendance.ID, DecodeAttendance)
	return v, err
}

// Assignment is an entry of a conversation's history: who took it over, received it or handed it
// back.
type Assignment struct {
	ID             string
	ConversationID string
	Action         string
	UserID         string
	SectorID       string
	FromUserID     string
	FromSectorID   string
	By             Actor
	Reason         string
	At             time.Time
	Raw            map[string]any
}

// DecodeAssignment reads an entry of the history through the profile.
func DecodeAssignment(raw map[string]any, p *Profile) Assignment {
	f, n := fields(raw), &p.Assignment
	return Assignment{
		ID: f.id(n.ID), ConversationID: f.id(n.ConversationID), Action: f.str(n.Action), UserID: f.id(n.UserID), SectorID: f.id(n.SectorID),
		FromUserID: f.id(n.FromUserID), FromSectorID: f.id(n.FromSectorID), By: f.actor(n.By), Reason: f.str(n.Reason), At: f.time(n.At), Raw: raw,
	}
}

// ListAssignments lists the responsible persons a conversation has had.
func (c *Client) ListAssignments(ctx context.Context, conversation string) ([]Assignment, error) {
	return all(ctx, c, request{op: opListAssignments, id: conversation}, DecodeAssignment)
}

// AttendanceFields names the fields of an attendance.
type AttendanceFields struct {
	ID              Paths `json:"id"`
	Protocol        Paths `json:"protocol"`
	Status          Paths `json:"status"`
	ConversationID  Paths `json:"conversation_id"`
	ContactID       Paths `json:"contact_id"`
	AssigneeID      Paths `json:"assignee_id"`
	SectorID        Paths `json:"sector_id"`
	OpenedAt        Paths `json:"opened_at"`
	FirstResponseAt Paths `json:"first_response_at"`
	ClosedAt        Paths `json:"closed_at"`
	CloseReason     Paths `json:"close_reason"`
	Contact         Paths `json:"contact"`
	Assignee        Paths `json:"assignee"`
}

func defaultAttendanceFields() AttendanceFields {
	return AttendanceFields{
		ID:              Paths{"id", "attendance_id", "uuid"},
		Protocol:        Paths{"protocol", "protocol_number", "protocol.number", "number", "protocol_code"},
		Status:          Paths{"status", "state"},
		ConversationID:  Paths{"conversation_id", "conversation.id", "conversation", "chat_id", "chat.id", "chat"},
		ContactID:       Paths{"contact_id", "contact.id", "contact", "customer_id", "customer.id", "customer"},
		AssigneeID:      Paths{"assignee_id", "assignee.id", "assignee", "responsible_id", "responsible.id", "responsible", "responsible_user_id", "responsible_person_id", "responsible_person.id", "assigned_to_id", "assigned_to.id", "assigned_to", "assigned_user_id", "agent_id", "agent.id", "owner_id", "owner.id", "user_id", "user.id"},
		SectorID:        Paths{"sector_id", "sector.id", "sector", "department_id", "department.id", "team_id"},
		OpenedAt:        Paths{"opened_at", "openedAt", "started_at", "created_at", "opened"},
		FirstResponseAt: Paths{"first_response_at", "first_response.at", "first_response.created_at", "first_response", "first_responded_at", "firstResponseAt", "first_reply_at", "first_answer_at"},
		ClosedAt:        Paths{"closed_at", "closedAt", "closing_time", "closing_at", "ended_at", "finished_at", "resolved_at", "closed"},
		CloseReason:     Paths{"close_reason", "closing_reason", "reason", "closed_reason"},
		Contact:         Paths{"contact", "customer"},
		Assignee:        Paths{"assignee", "responsible", "responsible_person", "user", "agent"},
	}
}

// whole reports whether an object has every field that rules can use.
func (n *AttendanceFields) whole(f fields) bool {
	return hasAll(f, asString, notNull, n.Status) && hasAll(f, asText, orNull, n.Protocol) && hasAll(f, asTime, notNull, n.OpenedAt) &&
		hasAll(f, asTime, orNull, n.FirstResponseAt, n.ClosedAt) && hasAll(f, asID, orNull, n.ConversationID, n.ContactID, n.AssigneeID, n.SectorID)
}
