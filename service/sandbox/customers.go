package sandbox

import "github.com/quandohq/quando/service/sandbox/internal/store"

// CustomerMessage is a message that a customer writes.
type CustomerMessage struct {
	Phone   string `json:"phone"`   // or the name of an existing contact
	Name    string `json:"name"`    // of a new contact
	Text    string `json:"text"`    // with a file, the caption
	File    string `json:"file"`    // the name of a file that comes with it, such as photo.jpg
	Channel string `json:"channel"` // default the first
	Group   string `json:"group"`   // the name of a group to write into; default the direct conversation
}

// Written identifies a customer's message and what it belongs to. Attendance is zero in a company
// without attendances.
type Written struct {
	Conversation ID `json:"conversation"`
	Message      ID `json:"message"`
	Attendance   ID `json:"attendance"`
}

// CustomerMessage sends a message as a customer and creates what is missing: the contact, the
// conversation, the attendance.
func (s *Sandbox) CustomerMessage(m CustomerMessage) (Written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Text == "" && m.File == "" {
		return Written{}, store.Invalid("the text is missing, or a file")
	}
	if err := checkFile(m.File); err != nil {
		return Written{}, err
	}
	channel, err := s.store.FindChannel(m.Channel)
	if err != nil {
		return Written{}, err
	}
	contact, err := s.customer(m)
	if err != nil {
		return Written{}, err
	}
	if contact.Blocked {
		return Written{}, store.Conflict("the contact %s is blocked, so nothing it writes arrives", contact.Name)
	}
	conv := s.conversationWith(channel, contact, m.Group)
	attendance := conv.Open()
	if attendance == nil && s.store.Rules.Enabled {
		attendance = s.openAttendance(conv, contact)
	}
	message := &Message{ID: s.ids.ID(), Text: Optional(m.Text), MediaID: s.attach(m.File), Direction: store.Inbound,
		Sender: Actor{Kind: store.ByCustomer, ID: contact.ID, Name: Optional(contact.Name)}}
	s.addMessage(conv, message)
	s.raiseMessage(messageReceived, conv, message)
	s.raiseUpdated(conv, "last_message", "unread")
	out := Written{Conversation: conv.ID, Message: message.ID}
	if attendance != nil {
		out.Attendance = attendance.ID
	}
	return out, nil
}

// customer finds the contact by phone, or else by name.
func (s *Sandbox) customer(m CustomerMessage) (*Contact, error) {
	if m.Phone == "" {
		contact, err := s.store.FindContact(m.Name)
		if err != nil {
			return nil, store.Invalid("%v; give a phone to write as somebody new", err)
		}
		return contact, nil
	}
	return s.contactFor(ID{}, m.Phone, m.Name)
}

// conversationWith returns the direct conversation with a contact, or the group of that name. It
// starts one if there is none.
func (s *Sandbox) conversationWith(channel *Channel, contact *Contact, group string) *Conversation {
	if group == "" {
		if conv := s.store.Direct[store.DirectKey{Channel: channel.ID, Contact: contact.ID}]; conv != nil {
			return conv
		}
		return s.startConversation(channel, contact)
	}
	for conv := range s.store.ConversationsByChannel[channel.ID].Newest() {
		if conv.Kind == store.KindGroup && conv.Name == group {
			return conv
		}
	}
	conv := &Conversation{ID: s.ids.ID(), Kind: store.KindGroup, Name: group, ChannelID: channel.ID,
		CreatedAt: s.now(), UpdatedAt: s.now(), Channel: channel}
	s.store.PutConversation(conv, nil)
	return conv
}
