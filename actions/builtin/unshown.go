package builtin

import (
	"encoding/json"
	"strings"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// hiddenFields returns the fields that calls set and that, according to the profile, the service
// does not have: no event shows them, and their facts are always empty. Each name has a prefix: the
// kind of events that would show it.
func hiddenFields(p *service.Profile) map[string]bool {
	c := &p.Conversation
	out := map[string]bool{}
	for field, paths := range map[string]service.Paths{
		"conversation.archived": c.Archived, "conversation.pinned": c.Pinned, "conversation.muted": c.Muted, "conversation.name": c.Name, "conversation.label_ids": c.LabelIDs,
		"conversation.unread": c.Unread, "conversation.assignee": c.AssigneeID, "conversation.sector": c.SectorID, "conversation.last_message": c.LastMessage,
		"attendance.status": p.Attendance.Status, "kanban.attendance_id": p.Card.AttendanceID,
	} {
		if len(paths) == 0 {
			out[field] = true
		}
	}
	return out
}

// dropHidden removes the fields that no event shows from what calls have set, because they cannot
// help to recognise the call's events.
func (d *desk) dropHidden(r actions.Receipt) actions.Receipt {
	if len(d.hiddenFields) == 0 {
		return r
	}
	for i := range r.Caused {
		c := &r.Caused[i]
		kind, _, _ := strings.Cut(c.Event, ".")
		var set map[string]json.RawMessage
		if err := json.Unmarshal(c.Set, &set); err != nil {
			continue // it sets nothing
		}
		for name := range set {
			if d.hiddenFields[kind+"."+name] {
				delete(set, name)
			}
		}
		c.Set = nil
		if len(set) > 0 {
			c.Set, _ = plain.Encode(set) // decoded from JSON just now
		}
	}
	return r
}
