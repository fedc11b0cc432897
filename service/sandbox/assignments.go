package sandbox

import (
	"net/http"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func assignmentOperations() []*operation {
	return []*operation{
		change("POST /conversations/{id}/transfer", "conversations:write", http.StatusOK, (*Sandbox).transferConversation),
		change("PUT /conversations/{id}/sector", "conversations:write", http.StatusOK, (*Sandbox).setSector),
		read("GET /conversations/{id}/assignments", "attendances:read", (*Sandbox).listAssignments),
	}
}

const (
	taken      = "taken"
	received   = "received"
	handedBack = "handed_back"
)

// transferConversation assigns a conversation to a person, a sector or both. A sector alone means
// its queue: the conversation is unassigned until a person takes it.
func (s *Sandbox) transferConversation(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		UserID   field[ID]     `json:"user_id"`
		SectorID field[ID]     `json:"sector_id"`
		Reason   field[string] `json:"reason"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	user, sector := in.UserID.Value, in.SectorID.Value
	switch {
	case user.IsZero() && sector.IsZero():
		return conv, nil // everything is optional, and nothing was given
	case !user.IsZero() && s.store.Person(user) == nil:
		return nil, store.NotFound("person", user)
	case !sector.IsZero() && s.store.Sector(sector) == nil:
		return nil, store.NotFound("sector", sector)
	}
	if sector.IsZero() {
		sector = conv.SectorID
	}
	was := encode(conv)
	s.assign(conv, Assignment{Action: received, UserID: user, SectorID: sector,
		By: c.key.Actor(), Reason: Optional(in.Reason.Value)})
	s.effect(c, conv.ID, "conversation", was, encode(conv), "")
	return conv, nil
}

// setSector sets or clears the sector and leaves the responsible person.
func (s *Sandbox) setSector(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		SectorID field[ID]     `json:"sector_id"`
		Reason   field[string] `json:"reason"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	sector := in.SectorID.Value
	if !sector.IsZero() && s.store.Sector(sector) == nil {
		return nil, store.NotFound("sector", sector)
	}
	if !in.SectorID.Set || sector == conv.SectorID {
		return conv, nil
	}
	action := received
	if sector.IsZero() {
		action = handedBack
	}
	was := encode(conv)
	s.assign(conv, Assignment{Action: action, UserID: conv.AssigneeID, SectorID: sector,
		By: c.key.Actor(), Reason: Optional(in.Reason.Value)})
	s.effect(c, conv.ID, "conversation", was, encode(conv), "")
	return conv, nil
}

// assign sets the person and sector responsible, writes the history, and updates the open
// attendance. also names further changed fields for the event.
func (s *Sandbox) assign(conv *Conversation, entry Assignment, also ...string) {
	entry.ID = s.ids.ID()
	entry.ConversationID = conv.ID
	entry.FromUserID, entry.FromSectorID = conv.AssigneeID, conv.SectorID
	entry.At = s.now()
	conv.Assignments = append(conv.Assignments, &entry)

	changed := also
	if entry.UserID != conv.AssigneeID {
		changed = append(changed, "assignee_id")
	}
	if entry.SectorID != conv.SectorID {
		changed = append(changed, "sector_id")
	}
	s.store.PutConversation(conv, func() {
		conv.AssigneeID, conv.SectorID = entry.UserID, entry.SectorID
		conv.UpdatedAt = s.now()
	})
	if a := conv.Open(); a != nil {
		s.store.PutAttendance(a, func() {
			a.AssigneeID, a.SectorID = entry.UserID, entry.SectorID
		})
	}
	if len(changed) > 0 {
		s.raiseUpdated(conv, changed...)
	}
}

// listAssignments gives the history, the latest entry first.
func (s *Sandbox) listAssignments(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	history := make([]*Assignment, 0, len(conv.Assignments))
	for i := len(conv.Assignments) - 1; i >= 0; i-- {
		history = append(history, conv.Assignments[i])
	}
	return listOf(history), nil
}
