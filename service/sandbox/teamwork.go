package sandbox

// TeamMessage is a message that a member of the team writes in the app or,
// when Person is empty, that leaves from the phone itself.
type TeamMessage struct {
	Conversation string `json:"conversation"`
	Person       string `json:"person"`
	Text         string `json:"text"`
	Channel      string `json:"channel"` // where to start a conversation that is not there
}

// TeamMessage writes a message as the team. Conversation may be a contact, or
// a phone, that nobody has talked to: the team then starts the conversation,
// which opens an attendance. It returns the message's id.
func (s *Sandbox) TeamMessage(m TeamMessage) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Text == "" {
		return ID{}, invalid("the text is missing")
	}
	by, err := s.teamMember(m.Person)
	if err != nil {
		return ID{}, err
	}
	conv, err := s.reach(m.Conversation, m.Channel)
	if err != nil {
		return ID{}, err
	}
	if conv.open() == nil && s.store.rules.Enabled {
		s.openAttendance(conv, s.store.contacts[conv.ContactID])
	}
	message := &Message{ID: s.ids.id(), Text: Optional(m.Text), Direction: outbound, Sender: by}
	s.addMessage(conv, message)
	s.firstResponse(conv)
	s.raiseMessage(messageSent, conv, message)
	if s.store.rules.FirstResponderOwns && conv.AssigneeID.IsZero() && !by.ID.IsZero() {
		s.assign(conv, Assignment{Action: taken, UserID: by.ID, SectorID: conv.SectorID, By: by}, "last_message")
	} else {
		s.raiseUpdated(conv, "last_message")
	}
	return message.ID, nil
}

// teamMember returns who acts; nobody in particular is the phone.
func (s *Sandbox) teamMember(name string) (Actor, error) {
	if name == "" {
		return Actor{Kind: byTeam}, nil
	}
	p, err := s.store.findPerson(name)
	if err != nil {
		return Actor{}, err
	}
	return Actor{Kind: byTeam, ID: p.ID, Name: Optional(p.Name)}, nil
}

// reach finds the conversation that is meant, or starts one with the contact
// that is.
func (s *Sandbox) reach(text, channelName string) (*Conversation, error) {
	conv, missing := s.store.findConversation(text)
	if missing == nil {
		return conv, nil
	}
	contact, err := s.store.findContact(text)
	if err != nil {
		if !validPhone(text) {
			return nil, missing
		}
		if contact, err = s.contactFor(ID{}, text, ""); err != nil {
			return nil, err
		}
	}
	channel, err := s.store.findChannel(channelName)
	if err != nil {
		return nil, err
	}
	return s.conversationWith(channel, contact, ""), nil
}

// TeamClose is the closing of an attendance by a member of the team.
type TeamClose struct {
	Conversation string `json:"conversation"`
	Person       string `json:"person"`
	Reason       string `json:"reason"`
}

// TeamClose closes the open attendance of a conversation and returns its id.
func (s *Sandbox) TeamClose(m TeamClose) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, err := s.teamMember(m.Person)
	if err != nil {
		return ID{}, err
	}
	conv, err := s.store.findConversation(m.Conversation)
	if err != nil {
		return ID{}, err
	}
	a := conv.open()
	if a == nil {
		return ID{}, conflict("the conversation has no open attendance")
	}
	s.finish(conv, a, m.Reason, by)
	return a.ID, nil
}

// TeamTransfer is a conversation changing hands in the app: to a person, a
// sector or both or, when To and Sector are empty, back to where it waits.
type TeamTransfer struct {
	Conversation string `json:"conversation"`
	Person       string `json:"person"` // who does it
	To           string `json:"to"`
	Sector       string `json:"sector"`
	Reason       string `json:"reason"`
}

// TeamTransfer hands a conversation on, as a member of the team.
func (s *Sandbox) TeamTransfer(m TeamTransfer) (Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, err := s.teamMember(m.Person)
	if err != nil {
		return Conversation{}, err
	}
	conv, err := s.store.findConversation(m.Conversation)
	if err != nil {
		return Conversation{}, err
	}
	entry := Assignment{Action: handedBack, SectorID: conv.SectorID, By: by, Reason: Optional(m.Reason)}
	if m.To != "" {
		to, err := s.store.findPerson(m.To)
		if err != nil {
			return Conversation{}, err
		}
		entry.Action, entry.UserID = received, to.ID
		if to.ID == by.ID {
			entry.Action = taken
		}
	}
	if m.Sector != "" {
		sector, err := s.store.findSector(m.Sector)
		if err != nil {
			return Conversation{}, err
		}
		entry.SectorID = sector.ID
		if entry.Action == handedBack {
			entry.Action = received
		}
	}
	s.assign(conv, entry)
	return *conv, nil
}

// MoveCard is a card being moved by a member of the team.
type MoveCard struct {
	Card   string `json:"card"`
	Stage  string `json:"stage"`
	Person string `json:"person"`
}

// MoveCard moves a card, private ones included, as a member of the team.
func (s *Sandbox) MoveCard(m MoveCard) (Card, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, err := s.teamMember(m.Person)
	if err != nil {
		return Card{}, err
	}
	card, err := s.store.findCard(m.Card)
	if err != nil {
		return Card{}, err
	}
	board := s.store.board(card.BoardID)
	stage, err := board.findStage(m.Stage)
	if err != nil {
		return Card{}, err
	}
	s.move(card, board, stage, by)
	return *card, nil
}

// EditCard is a member of the team writing on a card.
type EditCard struct {
	Card        string `json:"card"`
	Description string `json:"description"`
	Person      string `json:"person"`
}

// EditCard gives a card another description, private ones included, as a member of the team.
func (s *Sandbox) EditCard(m EditCard) (Card, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.teamMember(m.Person); err != nil {
		return Card{}, err
	}
	card, err := s.store.findCard(m.Card)
	if err != nil {
		return Card{}, err
	}
	s.store.putCard(card, func() {
		card.Description = Optional(m.Description)
		card.Version++
		card.UpdatedAt = s.now()
	})
	return *card, nil
}

// NewCard is a card that the team makes.
type NewCard struct {
	Board        string `json:"board"`
	Stage        string `json:"stage"` // default the first
	Title        string `json:"title"`
	Contact      string `json:"contact"`
	Conversation string `json:"conversation"`
	Private      bool   `json:"private"`
}

// CreateCard puts a card on a board, as the team.
func (s *Sandbox) CreateCard(m NewCard) (Card, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	board, err := s.store.findBoard(m.Board)
	if err != nil {
		return Card{}, err
	}
	if m.Title == "" || len(board.Stages) == 0 {
		return Card{}, invalid("a card needs a title, and a board with stages")
	}
	card := &Card{BoardID: board.ID, StageID: board.Stages[0].ID, Title: m.Title, private: m.Private}
	if m.Stage != "" {
		stage, err := board.findStage(m.Stage)
		if err != nil {
			return Card{}, err
		}
		card.StageID = stage.ID
	}
	if m.Conversation != "" {
		conv, err := s.store.findConversation(m.Conversation)
		if err != nil {
			return Card{}, err
		}
		card.ConversationID, card.ContactID = conv.ID, conv.ContactID
	}
	if m.Contact != "" {
		contact, err := s.store.findContact(m.Contact)
		if err != nil {
			return Card{}, err
		}
		card.ContactID = contact.ID
	}
	return *s.addCard(card), nil
}
