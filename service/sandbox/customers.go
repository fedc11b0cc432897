package sandbox

// CustomerMessage is a message that a customer writes.
type CustomerMessage struct {
	Phone   string `json:"phone"`   // or the name of a contact that is there
	Name    string `json:"name"`    // of a contact that is not there yet
	Text    string `json:"text"`    //
	Channel string `json:"channel"` // default the first
	Group   string `json:"group"`   // the name of a group to write into; default the direct conversation
}

// Written says what a customer's message is and belongs to. Attendance is
// none in a company without attendances.
type Written struct {
	Conversation ID `json:"conversation"`
	Message      ID `json:"message"`
	Attendance   ID `json:"attendance"`
}

// CustomerMessage writes a message as a customer and opens what is missing:
// the contact, the conversation, the attendance.
func (s *Sandbox) CustomerMessage(m CustomerMessage) (Written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Text == "" {
		return Written{}, invalid("the text is missing")
	}
	channel, err := s.store.findChannel(m.Channel)
	if err != nil {
		return Written{}, err
	}
	contact, err := s.customer(m)
	if err != nil {
		return Written{}, err
	}
	if contact.Blocked {
		return Written{}, conflict("the contact %s is blocked, so nothing it writes arrives", contact.Name)
	}
	conv := s.conversationWith(channel, contact, m.Group)
	attendance := conv.open()
	if attendance == nil && s.store.rules.Enabled {
		attendance = s.openAttendance(conv, contact)
	}
	message := &Message{ID: s.ids.id(), Text: Optional(m.Text), Direction: inbound,
		Sender: Actor{Kind: byCustomer, ID: contact.ID, Name: Optional(contact.Name)}}
	s.addMessage(conv, message)
	s.raiseMessage(messageReceived, conv, message)
	s.raiseUpdated(conv, "last_message", "unread")
	out := Written{Conversation: conv.ID, Message: message.ID}
	if attendance != nil {
		out.Attendance = attendance.ID
	}
	return out, nil
}

// customer finds who writes, by phone or else by name.
func (s *Sandbox) customer(m CustomerMessage) (*Contact, error) {
	if m.Phone == "" {
		contact, err := s.store.findContact(m.Name)
		if err != nil {
			return nil, invalid("%v; give a phone to write as somebody new", err)
		}
		return contact, nil
	}
	return s.contactFor(ID{}, m.Phone, m.Name)
}

// conversationWith returns the direct conversation with a contact, or the
// group of that name, and starts it when there is none.
func (s *Sandbox) conversationWith(channel *Channel, contact *Contact, group string) *Conversation {
	if group == "" {
		if conv := s.store.direct[pair{channel.ID, contact.ID}]; conv != nil {
			return conv
		}
		return s.startConversation(channel, contact)
	}
	for conv := range s.store.convChannel[channel.ID].newest() {
		if conv.Kind == kindGroup && conv.Name == group {
			return conv
		}
	}
	conv := &Conversation{ID: s.ids.id(), Kind: kindGroup, Name: group, ChannelID: channel.ID,
		CreatedAt: s.now(), UpdatedAt: s.now(), channel: channel}
	s.store.putConversation(conv, nil)
	return conv
}
