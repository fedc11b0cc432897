package service

// Kind is a kind of object that the service names.
type Kind string

// The kinds of objects that events are about, and those that people name in rules.
const (
	KindConversation Kind = "conversation"
	KindContact      Kind = "contact"
	KindMessage      Kind = "message"
	KindAttendance   Kind = "attendance"
	KindCard         Kind = "card"
	KindLabel        Kind = "label"
	KindSector       Kind = "sector"
	KindPerson       Kind = "person"
	KindChannel      Kind = "channel"
	KindBoard        Kind = "board"
	KindStage        Kind = "stage"
)

// EventObject finds the conversation, contact, message, attendance or card in an event's data, as
// it was delivered.
func (p *Profile) EventObject(kind Kind, eventType string, data map[string]any) (map[string]any, bool) {
	r := p.ReadEvent(eventType, data)
	object := r.Object(kind)
	return object, object != nil
}

// EventID finds the id of the conversation, contact, message, attendance or card that an event is
// about; it is empty if the data names none.
func (p *Profile) EventID(kind Kind, eventType string, data map[string]any) string {
	r := p.ReadEvent(eventType, data)
	return r.ID(kind)
}

// EventMessage decodes the message of a message event. Where the message does not tell its side,
// the event's type does.
func (p *Profile) EventMessage(eventType string, data map[string]any) (Message, bool) {
	r := p.ReadEvent(eventType, data)
	return r.Message()
}

// isObject reports whether data is an object of a kind itself and not only a reference to one: it
// has other fields. Decoding a reference as an object would make rules decide on absent values.
func (p *Profile) isObject(kind Kind, data map[string]any) bool {
	var content []Paths
	switch kind {
	case KindMessage:
		content = []Paths{p.Message.Text, p.Message.MediaID, p.Message.Direction, p.Message.FromMe, p.Message.SenderKind, p.Message.CreatedAt, {"id"}}
	case KindConversation:
		content = []Paths{p.Conversation.Kind, p.Conversation.ChannelID, p.Conversation.Name}
	case KindAttendance:
		content = []Paths{p.Attendance.Status, p.Attendance.Protocol, p.Attendance.OpenedAt}
	case KindCard:
		content = []Paths{p.Card.StageID, p.Card.BoardID, p.Card.Title}
	case KindContact:
		content = []Paths{p.Contact.Phone, p.Contact.Name}
	}
	for _, paths := range content {
		if v, ok := Lookup(data, paths); ok && v != nil {
			return true
		}
	}
	return false
}

func (p *Profile) eventPaths(kind Kind) (objects, ids Paths) {
	e := &p.Event
	switch kind {
	case KindConversation:
		return e.Conversation, e.ConversationID
	case KindContact:
		return e.Contact, e.ContactID
	case KindMessage:
		return e.Message, e.MessageID
	case KindAttendance:
		return e.Attendance, e.AttendanceID
	case KindCard:
		return e.Card, e.CardID
	}
	return nil, nil
}

func (p *Profile) idPaths(kind Kind) Paths {
	switch kind {
	case KindConversation:
		return p.Conversation.ID
	case KindContact:
		return p.Contact.ID
	case KindMessage:
		return p.Message.ID
	case KindAttendance:
		return p.Attendance.ID
	case KindCard:
		return p.Card.ID
	}
	return nil
}

// linkPaths says where an object of one kind names an object of another.
func (p *Profile) linkPaths(from, to Kind) Paths {
	switch {
	case to == KindConversation && from == KindMessage:
		return p.Message.ConversationID
	case to == KindConversation && from == KindAttendance:
		return p.Attendance.ConversationID
	case to == KindConversation && from == KindCard:
		return p.Card.ConversationID
	case to == KindContact && from == KindConversation:
		return p.Conversation.ContactID
	case to == KindContact && from == KindAttendance:
		return p.Attendance.ContactID
	case to == KindContact && from == KindCard:
		return p.Card.ContactID
	case to == KindAttendance && from == KindCard:
		return p.Card.AttendanceID
	}
	return nil
}

// CardMove is what a kanban.card.moved event has beside the card.
type CardMove struct {
	FromStageID, ToStageID string
	By                     Actor
}

// EventCardMove reads the stages between which a card was moved, and the actor.
func (p *Profile) EventCardMove(data map[string]any) CardMove {
	f := fields(data)
	return CardMove{FromStageID: f.id(p.Event.FromStageID), ToStageID: f.id(p.Event.ToStageID), By: f.actor(p.Event.MovedBy)}
}

// EventChanged lists the fields that a conversation.updated event names as changed, if it does.
func (p *Profile) EventChanged(data map[string]any) []string {
	for _, path := range p.Event.Changed {
		v, ok := at(data, path)
		if !ok {
			continue
		}
		if names, ok := asStrings(v); ok {
			return names
		}
		if m, ok := asObject(v); ok {
			return sortedKeys(m)
		}
	}
	return nil
}

// Actor is the author of a change: a person of the team, the customer, an integration.
type Actor struct {
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

func (f fields) actor(paths Paths) Actor {
	for _, path := range paths {
		v, _ := at(f, path)
		switch v := v.(type) {
		case map[string]any:
			who := fields(v)
			return Actor{Kind: who.str(Paths{"kind", "type", "role"}), ID: who.id(Paths{"id", "user_id", "uuid"}), Name: who.str(Paths{"name", "display_name"})}
		case string:
			if v != "" {
				return Actor{ID: v}
			}
		}
	}
	return Actor{}
}
