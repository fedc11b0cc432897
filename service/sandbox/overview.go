package sandbox

import "slices"

// Overview is what somebody sees who looks at the company from the outside:
// the team, the newest conversations and cards, and the faults asked for.
type Overview struct {
	Now           Instant            `json:"now"`
	People        []NameView         `json:"people"`
	Conversations []ConversationView `json:"conversations"` // the newest first
	Cards         []CardView         `json:"cards"`         // the newest first
	Faults        []Fault            `json:"faults"`
}

// NameView is something that has no more than a name in an overview.
type NameView struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
}

// ConversationView is a conversation in an overview.
type ConversationView struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Phone    string `json:"phone"`
	Channel  string `json:"channel"`
	Group    bool   `json:"group"`
	Open     bool   `json:"open"`     // it has an open attendance
	Assignee string `json:"assignee"` // the name of who is responsible
	Sector   string `json:"sector"`
}

// CardView is a card in an overview.
type CardView struct {
	ID           ID         `json:"id"`
	Title        string     `json:"title"`
	Board        string     `json:"board"`
	Stage        string     `json:"stage"`
	Stages       []NameView `json:"stages"` // of its board
	Conversation ID         `json:"conversation"`
	Contact      string     `json:"contact"`
}

// Overview returns at most so many conversations and cards, and besides the
// conversation with this id, if there is one, with its cards.
func (s *Sandbox) Overview(most int, with ID) Overview {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := Overview{Now: s.now(), People: []NameView{}, Conversations: []ConversationView{}, Cards: []CardView{}, Faults: []Fault{}}
	for _, p := range s.store.people {
		o.People = append(o.People, NameView{p.ID, p.Name})
	}
	for c := range s.store.convOrder.newest() {
		if len(o.Conversations) == most {
			break
		}
		o.Conversations = append(o.Conversations, s.store.overlook(c))
	}
	if c := s.store.conversations[with]; c != nil && !slices.ContainsFunc(o.Conversations, func(v ConversationView) bool { return v.ID == with }) {
		o.Conversations = append(o.Conversations, s.store.overlook(c))
	}
	for c := range s.store.cardOrder.newest() {
		if v := s.store.overlookCard(c); len(o.Cards) < most || !with.IsZero() && v.Conversation == with {
			o.Cards = append(o.Cards, v)
		}
	}
	for _, f := range s.faults {
		o.Faults = append(o.Faults, *f)
	}
	return o
}

func (st *store) overlook(c *Conversation) ConversationView {
	v := ConversationView{ID: c.ID, Name: c.Name, Phone: string(c.Phone), Channel: c.channel.Name, Group: c.Kind == kindGroup, Open: c.open() != nil}
	for _, p := range st.people {
		if p.ID == c.AssigneeID {
			v.Assignee = p.Name
		}
	}
	for _, sector := range st.sectors {
		if sector.ID == c.SectorID {
			v.Sector = sector.Name
		}
	}
	return v
}

func (st *store) overlookCard(c *Card) CardView {
	v := CardView{ID: c.ID, Title: c.Title, Conversation: c.ConversationID}
	if contact := st.contacts[c.ContactID]; contact != nil {
		v.Contact = contact.Name
		if v.Conversation.IsZero() {
			v.Conversation = st.conversationOf(contact)
		}
	}
	board := st.board(c.BoardID)
	v.Board = board.Name
	for _, stage := range board.Stages {
		v.Stages = append(v.Stages, NameView{stage.ID, stage.Name})
		if stage.ID == c.StageID {
			v.Stage = stage.Name
		}
	}
	return v
}

// conversationOf returns the direct conversation with a contact, or none.
func (st *store) conversationOf(contact *Contact) ID {
	i := slices.IndexFunc(st.channels, func(ch *Channel) bool { return st.direct[pair{ch.ID, contact.ID}] != nil })
	if i < 0 {
		return ID{}
	}
	return st.direct[pair{st.channels[i].ID, contact.ID}].ID
}
