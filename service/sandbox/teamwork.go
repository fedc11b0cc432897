package sandbox

import (
	"slices"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// TeamMessage is a message that a member of the team writes in the app or,
// when Person is empty, that leaves from the phone itself.
type TeamMessage struct {
	Conversation string `json:"conversation"`
	Person       string `json:"person"`
	Text         string `json:"text"`    // with a file, the caption
	File         string `json:"file"`    // the name of a file that goes with it, such as offer.pdf
	Channel      string `json:"channel"` // used if the conversation does not exist
}

// TeamMessage sends a message as the team. Conversation may be a contact or a phone without a
// conversation: that starts one, which opens an attendance. It returns the message's id.
func (s *Sandbox) TeamMessage(m TeamMessage) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Text == "" && m.File == "" {
		return ID{}, store.Invalid("the text is missing, or a file")
	}
	if err := checkFile(m.File); err != nil {
		return ID{}, err
	}
	by, err := s.teamMember(m.Person)
	if err != nil {
		return ID{}, err
	}
	conv, err := s.reach(m.Conversation, m.Channel)
	if err != nil {
		return ID{}, err
	}
	if conv.Open() == nil && s.store.Rules.Enabled {
		s.openAttendance(conv, s.store.Contacts[conv.ContactID])
	}
	message := &Message{ID: s.ids.ID(), Text: Optional(m.Text), MediaID: s.attach(m.File), Direction: store.Outbound, Sender: by}
	s.addMessage(conv, message)
	s.firstResponse(conv)
	s.raiseMessage(messageSent, conv, message)
	if s.store.Rules.FirstResponderOwns && conv.AssigneeID.IsZero() && !by.ID.IsZero() {
		s.assign(conv, Assignment{Action: taken, UserID: by.ID, SectorID: conv.SectorID, By: by}, "last_message")
	} else {
		s.raiseUpdated(conv, "last_message")
	}
	return message.ID, nil
}

// teamMember returns the actor of that name; no name is the phone itself.
func (s *Sandbox) teamMember(name string) (Actor, error) {
	if name == "" {
		return Actor{Kind: store.ByTeam}, nil
	}
	p, err := s.store.FindPerson(name)
	if err != nil {
		return Actor{}, err
	}
	return Actor{Kind: store.ByTeam, ID: p.ID, Name: Optional(p.Name)}, nil
}

// reach finds the conversation that the text names, or starts one with the contact that it names.
func (s *Sandbox) reach(text, channelName string) (*Conversation, error) {
	conv, missing := s.store.FindConversation(text)
	if missing == nil {
		return conv, nil
	}
	contact, err := s.store.FindContact(text)
	if err != nil {
		if !store.ValidPhone(text) {
			return nil, missing
		}
		if contact, err = s.contactFor(ID{}, text, ""); err != nil {
			return nil, err
		}
	}
	channel, err := s.store.FindChannel(channelName)
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
	conv, err := s.store.FindConversation(m.Conversation)
	if err != nil {
		return ID{}, err
	}
	a := conv.Open()
	if a == nil {
		return ID{}, store.Conflict("the conversation has no open attendance")
	}
	s.finish(conv, a, m.Reason, by)
	return a.ID, nil
}

// TeamTransfer assigns a conversation in the app: to a person, a sector or both or, when To and
// Sector are empty, back to the queue.
type TeamTransfer struct {
	Conversation string `json:"conversation"`
	Person       string `json:"person"` // the acting person
	To           string `json:"to"`
	Sector       string `json:"sector"`
	Reason       string `json:"reason"`
}

// TeamTransfer assigns a conversation, as a member of the team.
func (s *Sandbox) TeamTransfer(m TeamTransfer) (Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, err := s.teamMember(m.Person)
	if err != nil {
		return Conversation{}, err
	}
	conv, err := s.store.FindConversation(m.Conversation)
	if err != nil {
		return Conversation{}, err
	}
	entry := Assignment{Action: handedBack, SectorID: conv.SectorID, By: by, Reason: Optional(m.Reason)}
	if m.To != "" {
		to, err := s.store.FindPerson(m.To)
		if err != nil {
			return Conversation{}, err
		}
		entry.Action, entry.UserID = received, to.ID
		if to.ID == by.ID {
			entry.Action = taken
		}
	}
	if m.Sector != "" {
		sector, err := s.store.FindSector(m.Sector)
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

// TeamLabels puts labels on a conversation in the app, beside those that it has.
type TeamLabels struct {
	Conversation string   `json:"conversation"`
	Person       string   `json:"person"`
	Labels       []string `json:"labels"` // their names or ids
}

// TeamLabels adds labels to a conversation, as a member of the team. Labels that are there already
// change nothing and raise no event.
func (s *Sandbox) TeamLabels(m TeamLabels) (Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(m.Labels) == 0 {
		return Conversation{}, store.Invalid("the labels are missing")
	}
	if _, err := s.teamMember(m.Person); err != nil {
		return Conversation{}, err
	}
	conv, err := s.store.FindConversation(m.Conversation)
	if err != nil {
		return Conversation{}, err
	}
	ids := slices.Clone(conv.LabelIDs)
	for _, name := range m.Labels {
		label, err := s.store.FindLabel(name)
		if err != nil {
			return Conversation{}, err
		}
		if !slices.Contains(ids, label.ID) {
			ids = append(ids, label.ID)
		}
	}
	if len(ids) > len(conv.LabelIDs) {
		s.store.PutConversation(conv, func() {
			conv.LabelIDs, conv.UpdatedAt = ids, s.now()
		})
		s.raiseUpdated(conv, "label_ids")
	}
	return *conv, nil
}

// MoveCard is a card move by a member of the team.
type MoveCard struct {
	Card   string `json:"card"`
	Stage  string `json:"stage"`
	Person string `json:"person"`
}

// MoveCard moves a card, as a member of the team. It may move private cards.
func (s *Sandbox) MoveCard(m MoveCard) (Card, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, err := s.teamMember(m.Person)
	if err != nil {
		return Card{}, err
	}
	card, err := s.store.FindCard(m.Card)
	if err != nil {
		return Card{}, err
	}
	board := s.store.Board(card.BoardID)
	stage, err := board.FindStage(m.Stage)
	if err != nil {
		return Card{}, err
	}
	s.move(card, board, stage, by)
	return *card, nil
}

// EditCard is an edit of a card by a member of the team: of its title, of its description, or of
// both.
type EditCard struct {
	Card        string `json:"card"`
	Title       string `json:"title"`       // the old one stays if it is empty
	Description string `json:"description"` // the old one stays if only the title is given
	Person      string `json:"person"`
}

// EditCard changes a card's title or description, as a member of the team. It may edit private
// cards.
func (s *Sandbox) EditCard(m EditCard) (Card, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.teamMember(m.Person); err != nil {
		return Card{}, err
	}
	card, err := s.store.FindCard(m.Card)
	if err != nil {
		return Card{}, err
	}
	s.store.PutCard(card, func() {
		if m.Title != "" {
			card.Title = m.Title
		}
		if m.Description != "" || m.Title == "" {
			card.Description = Optional(m.Description)
		}
		card.Version++
		card.UpdatedAt = s.now()
	})
	return *card, nil
}

// NewCard is a card that the team creates.
type NewCard struct {
	Board        string `json:"board"`
	Stage        string `json:"stage"` // default the first
	Title        string `json:"title"`
	Contact      string `json:"contact"`
	Conversation string `json:"conversation"`
	Private      bool   `json:"private"`
}

// CreateCard creates a card on a board, as the team.
func (s *Sandbox) CreateCard(m NewCard) (Card, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	board, err := s.store.FindBoard(m.Board)
	if err != nil {
		return Card{}, err
	}
	if m.Title == "" || len(board.Stages) == 0 {
		return Card{}, store.Invalid("a card needs a title, and a board with stages")
	}
	card := &Card{BoardID: board.ID, StageID: board.Stages[0].ID, Title: m.Title, Private: m.Private}
	if m.Stage != "" {
		stage, err := board.FindStage(m.Stage)
		if err != nil {
			return Card{}, err
		}
		card.StageID = stage.ID
	}
	if m.Conversation != "" {
		conv, err := s.store.FindConversation(m.Conversation)
		if err != nil {
			return Card{}, err
		}
		card.ConversationID, card.ContactID = conv.ID, conv.ContactID
	}
	if m.Contact != "" {
		contact, err := s.store.FindContact(m.Contact)
		if err != nil {
			return Card{}, err
		}
		card.ContactID = contact.ID
	}
	return *s.addCard(card), nil
}
