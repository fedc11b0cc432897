package sandbox

import (
	"slices"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// Overview is a summary of the company: the team, the newest conversations and cards, and the
// active faults.
type Overview struct {
	Now           Instant            `json:"now"`
	People        []NameView         `json:"people"`
	Conversations []ConversationView `json:"conversations"` // the newest first
	Cards         []CardView         `json:"cards"`         // the newest first
	Faults        []Fault            `json:"faults"`
}

// NameView is an object of which an overview shows only the name.
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
	Assignee string `json:"assignee"` // the name of the responsible person
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

// Overview returns at most so many conversations and cards, and the conversation with this id, if
// there is one, with its cards.
func (s *Sandbox) Overview(most int, with ID) Overview {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := Overview{Now: s.now(), People: []NameView{}, Conversations: []ConversationView{}, Cards: []CardView{}, Faults: []Fault{}}
	for _, p := range s.store.People {
		o.People = append(o.People, NameView{p.ID, p.Name})
	}
	for c := range s.store.ConversationOrder.Newest() {
		if len(o.Conversations) == most {
			break
		}
		o.Conversations = append(o.Conversations, conversationView(s.store, c))
	}
	if c := s.store.Conversations[with]; c != nil && !slices.ContainsFunc(o.Conversations, func(v ConversationView) bool { return v.ID == with }) {
		o.Conversations = append(o.Conversations, conversationView(s.store, c))
	}
	for c := range s.store.CardOrder.Newest() {
		if v := cardView(s.store, c); len(o.Cards) < most || !with.IsZero() && v.Conversation == with {
			o.Cards = append(o.Cards, v)
		}
	}
	for _, f := range s.faults {
		o.Faults = append(o.Faults, *f)
	}
	return o
}

func conversationView(st *store.Store, c *Conversation) ConversationView {
	v := ConversationView{ID: c.ID, Name: c.Name, Phone: string(c.Phone), Channel: c.Channel.Name, Group: c.Kind == store.KindGroup, Open: c.Open() != nil}
	for _, p := range st.People {
		if p.ID == c.AssigneeID {
			v.Assignee = p.Name
		}
	}
	for _, sector := range st.Sectors {
		if sector.ID == c.SectorID {
			v.Sector = sector.Name
		}
	}
	return v
}

func cardView(st *store.Store, c *Card) CardView {
	v := CardView{ID: c.ID, Title: c.Title, Conversation: c.ConversationID}
	if contact := st.Contacts[c.ContactID]; contact != nil {
		v.Contact = contact.Name
		if v.Conversation.IsZero() {
			v.Conversation = st.ConversationOf(contact)
		}
	}
	board := st.Board(c.BoardID)
	v.Board = board.Name
	for _, stage := range board.Stages {
		v.Stages = append(v.Stages, NameView{stage.ID, stage.Name})
		if stage.ID == c.StageID {
			v.Stage = stage.Name
		}
	}
	return v
}
