package builtin

import (
	"encoding/json"
	"strings"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// unshown are the fields that calls set and that the service does not have, as the profile tells:
// no event shows them, and the fact of one is always empty. Each stands behind the beginning of the
// events that would show it.
func unshown(p *service.Profile) map[string]bool {
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

// shown leaves only those fields in what calls have set that events can show: by the others nobody
// knows the call's doing.
func (d *desk) shown(r actions.Receipt) actions.Receipt {
	if len(d.unshown) == 0 {
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
			if d.unshown[kind+"."+name] {
				delete(set, name)
			}
		}
		c.Set = nil
		if len(set) > 0 {
			c.Set, _ = plain.Encode(set) // which was JSON before
		}
	}
	return r
}
