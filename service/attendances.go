package service

import (
	"context"
	"iter"
	"net/url"
	"time"
)

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
	AssigneeID      string // empty: nobody
	SectorID        string
	OpenedAt        time.Time
	FirstResponseAt *time.Time
	ClosedAt        *time.Time
	CloseReason     string
	Contact         *Contact // where the answer carries it, as that of GetAttendance does
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
		// The closing time tells what a service without a status field does not say.
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
	o := table[opListAttendances]
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

// Attendances walks all attendances that fit, from q.Cursor on.
func (c *Client) Attendances(ctx context.Context, q AttendanceQuery) iter.Seq2[Attendance, error] {
	q.Limit = pageSize(q.Limit)
	return byCursor(table[opListAttendances], q.Cursor, func(a *Attendance) string { return a.ID }, func(cursor string) (Page[Attendance], error) {
		q.Cursor = cursor
		return c.ListAttendances(ctx, q)
	})
}

// GetAttendance reads one attendance with its contact and responsible person.
func (c *Client) GetAttendance(ctx context.Context, id string) (Attendance, error) {
	v, _, err := one(ctx, c, request{op: table[opGetAttendance], id: id}, "attendance", c.profile.Attendance.ID, DecodeAttendance)
	return v, err
}

// CurrentAttendance reads the attendance a conversation is in; it is nil when there is none.
func (c *Client) CurrentAttendance(ctx context.Context, conversation string) (*Attendance, error) {
	a, _, err := one(ctx, c, request{op: table[opCurrentAttendance], id: conversation}, "attendance", c.profile.Attendance.ID, DecodeAttendance)
	if err != nil || a.ID == "" {
		return nil, err
	}
	return &a, nil
}

// CloseAttendance closes the current attendance of a conversation. The call names the conversation, not the attendance: before a
// repeat, make sure that the current attendance is still the same one.
func (c *Client) CloseAttendance(ctx context.Context, conversation, reason string) (Attendance, error) {
	body := struct {
		Reason string `json:"reason,omitempty"`
	}{reason}
	v, _, err := one(ctx, c, request{op: table[opCloseAttendance], id: conversation, body: body}, "attendance", c.profile.Attendance.ID, DecodeAttendance)
	return v, err
}

// Assignment is an entry of a conversation's history: who took it over, received it or handed it back.
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
	return all(ctx, c, request{op: table[opListAssignments], id: conversation}, DecodeAssignment)
}
