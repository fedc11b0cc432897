package sandbox

const (
	taken      = "taken"
	received   = "received"
	handedBack = "handed_back"
)

// transferConversation hands a conversation to a person, a sector or both. A
// sector alone means its queue: nobody is responsible until somebody takes it.
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
		return conv, nil // everything is optional, and nothing was asked for
	case !user.IsZero() && s.store.person(user) == nil:
		return nil, notFound("person", user)
	case !sector.IsZero() && s.store.sector(sector) == nil:
		return nil, notFound("sector", sector)
	}
	if sector.IsZero() {
		sector = conv.SectorID
	}
	was := encode(conv)
	s.assign(conv, Assignment{Action: received, UserID: user, SectorID: sector,
		By: c.key.actor(), Reason: Optional(in.Reason.Value)})
	s.effect(c, conv.ID, "conversation", was, encode(conv), "")
	return conv, nil
}

func (k *Key) actor() Actor { return Actor{Kind: byAPI, ID: k.ID, Name: Optional(k.Name)} }

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
	if !sector.IsZero() && s.store.sector(sector) == nil {
		return nil, notFound("sector", sector)
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
		By: c.key.actor(), Reason: Optional(in.Reason.Value)})
	s.effect(c, conv.ID, "conversation", was, encode(conv), "")
	return conv, nil
}

// assign makes a person and a sector responsible, writes the history and has
// the open attendance follow. also names what else the conversation's event
// reports as changed.
func (s *Sandbox) assign(conv *Conversation, entry Assignment, also ...string) {
	entry.ID = s.ids.id()
	entry.ConversationID = conv.ID
	entry.FromUserID, entry.FromSectorID = conv.AssigneeID, conv.SectorID
	entry.At = s.now()
	conv.assignments = append(conv.assignments, &entry)

	changed := also
	if entry.UserID != conv.AssigneeID {
		changed = append(changed, "assignee_id")
	}
	if entry.SectorID != conv.SectorID {
		changed = append(changed, "sector_id")
	}
	s.store.putConversation(conv, func() {
		conv.AssigneeID, conv.SectorID = entry.UserID, entry.SectorID
		conv.UpdatedAt = s.now()
	})
	if a := conv.open(); a != nil {
		s.store.putAttendance(a, func() {
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
	history := make([]*Assignment, 0, len(conv.assignments))
	for i := len(conv.assignments) - 1; i >= 0; i-- {
		history = append(history, conv.assignments[i])
	}
	return listOf(history), nil
}
