// Package store holds the objects of the sandbox's company: what they are, how they are found, and
// the indexes that lists are read from.
package store

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Store holds one company's objects and the indexes that lists are read from.
// Its caller holds the sandbox's lock.
type Store struct {
	TenantID           ID
	TenantName         string
	Timezone           string
	Rules              Rules
	APIMessagesRespond bool // a message of the API is a first response too

	Channels []*Channel
	Labels   []*Label
	People   []*Person
	Sectors  []*Sector
	Boards   []*Board
	Keys     []*Key
	Webhooks []*Webhook

	KeysByAPIKey map[string]*Key // by the key's text

	Contacts          map[ID]*Contact
	ContactOrder      Ordered[Contact]
	ContactsByLabel   Grouped[Contact]
	ContactsByChannel Grouped[Contact]
	ContactsByPhone   map[string]*Contact // by PhoneKey

	Conversations           map[ID]*Conversation
	Direct                  map[DirectKey]*Conversation // by channel and contact
	ConversationOrder       Ordered[Conversation]
	ConversationsByChannel  Grouped[Conversation]
	ConversationsByAssignee Grouped[Conversation]
	ConversationsBySector   Grouped[Conversation]
	ConversationsByLabel    Grouped[Conversation]
	UnreadConversations     Ordered[Conversation]

	Messages           map[ID]*Message
	MessagesByClientID map[ID]*Message
	Media              map[ID]*Media

	Attendances           map[ID]*Attendance
	AttendancesByProtocol map[int]*Attendance
	LastProtocol          int
	AttendanceOrder       Ordered[Attendance]
	OpenAttendances       Ordered[Attendance]
	AttendancesByAssignee Grouped[Attendance]
	AttendancesBySector   Grouped[Attendance]
	waiting               map[ID]int // open and unassigned, by sector

	Cards        map[ID]*Card
	CardOrder    Ordered[Card]
	CardsByBoard Grouped[Card]
	CardsByLabel Grouped[Card]

	Reservations map[ReservationKey]*Reservation
	Reserved     []*Reservation // oldest first, to expire them in order
	Effects      []Effect

	sequence uint64
}

// DirectKey finds the direct conversation with a contact on a channel.
type DirectKey struct{ Channel, Contact ID }

// New returns an empty store.
func New() *Store {
	return &Store{
		Timezone: "America/Sao_Paulo",
		Rules:    Rules{Enabled: true, FirstResponderOwns: true, Mode: "liberal"},

		KeysByAPIKey:      map[string]*Key{},
		Contacts:          map[ID]*Contact{},
		ContactsByLabel:   Grouped[Contact]{},
		ContactsByChannel: Grouped[Contact]{},
		ContactsByPhone:   map[string]*Contact{},

		Conversations:           map[ID]*Conversation{},
		Direct:                  map[DirectKey]*Conversation{},
		ConversationsByChannel:  Grouped[Conversation]{},
		ConversationsByAssignee: Grouped[Conversation]{},
		ConversationsBySector:   Grouped[Conversation]{},
		ConversationsByLabel:    Grouped[Conversation]{},

		Messages:           map[ID]*Message{},
		MessagesByClientID: map[ID]*Message{},
		Media:              map[ID]*Media{},

		Attendances:           map[ID]*Attendance{},
		AttendancesByProtocol: map[int]*Attendance{},
		AttendancesByAssignee: Grouped[Attendance]{},
		AttendancesBySector:   Grouped[Attendance]{},
		waiting:               map[ID]int{},

		Cards:        map[ID]*Card{},
		CardsByBoard: Grouped[Card]{},
		CardsByLabel: Grouped[Card]{},

		Reservations: map[ReservationKey]*Reservation{},
	}
}

// next returns the next position in the store's order.
func (st *Store) next() uint64 {
	st.sequence++
	return st.sequence
}

func find[T any](list []*T, id ID, of func(*T) ID) *T {
	if i := slices.IndexFunc(list, func(v *T) bool { return of(v) == id }); i >= 0 {
		return list[i]
	}
	return nil
}

// Channel returns the channel with this id, or nil.
func (st *Store) Channel(id ID) *Channel {
	return find(st.Channels, id, func(v *Channel) ID { return v.ID })
}

// Label returns the label with this id, or nil.
func (st *Store) Label(id ID) *Label {
	return find(st.Labels, id, func(v *Label) ID { return v.ID })
}

// Person returns the person with this id, or nil.
func (st *Store) Person(id ID) *Person {
	return find(st.People, id, func(v *Person) ID { return v.ID })
}

// Sector returns the sector with this id, or nil.
func (st *Store) Sector(id ID) *Sector {
	return find(st.Sectors, id, func(v *Sector) ID { return v.ID })
}

// Board returns the board with this id, or nil.
func (st *Store) Board(id ID) *Board {
	return find(st.Boards, id, func(v *Board) ID { return v.ID })
}

// Webhook returns the webhook with this id, or nil.
func (st *Store) Webhook(id ID) *Webhook {
	return find(st.Webhooks, id, func(v *Webhook) ID { return v.ID })
}

// Key returns the key with this id, or nil.
func (st *Store) Key(id ID) *Key {
	return find(st.Keys, id, func(v *Key) ID { return v.ID })
}

// Stage returns the stage with this id, or nil.
func (b *Board) Stage(id ID) *Stage {
	return find(b.Stages, id, func(v *Stage) ID { return v.ID })
}

// StageNamed returns the stage with this name, or nil.
func (b *Board) StageNamed(name string) *Stage {
	if i := slices.IndexFunc(b.Stages, func(s *Stage) bool { return strings.EqualFold(s.Name, name) }); i >= 0 {
		return b.Stages[i]
	}
	return nil
}

// AddKey adds a key.
func (st *Store) AddKey(k *Key) {
	st.Keys = append(st.Keys, k)
	st.KeysByAPIKey[k.APIKey] = k
}

// PutContact adds or changes a contact. edit makes the change, because the indexes hold the old
// values until then.
func (st *Store) PutContact(c *Contact, edit func()) {
	if c.order == 0 {
		c.order = st.next()
	} else {
		st.ContactsByChannel.Delete(c.ChannelID, c.order)
		for _, label := range c.LabelIDs {
			st.ContactsByLabel.Delete(label, c.order)
		}
		delete(st.ContactsByPhone, PhoneKey(c.Phone))
	}
	if edit != nil {
		edit()
	}
	st.Contacts[c.ID] = c
	st.ContactOrder.Put(c.order, c)
	st.ContactsByChannel.Put(c.ChannelID, c.order, c)
	for _, label := range c.LabelIDs {
		st.ContactsByLabel.Put(label, c.order, c)
	}
	if c.Phone != "" {
		st.ContactsByPhone[PhoneKey(c.Phone)] = c
	}
}

// PutConversation adds or changes a conversation, and moves it to the front of its lists.
func (st *Store) PutConversation(c *Conversation, edit func()) {
	if c.order != 0 {
		st.ConversationOrder.Delete(c.order)
		st.ConversationsByChannel.Delete(c.ChannelID, c.order)
		st.ConversationsByAssignee.Delete(c.AssigneeID, c.order)
		st.ConversationsBySector.Delete(c.SectorID, c.order)
		st.UnreadConversations.Delete(c.order)
		for _, label := range c.LabelIDs {
			st.ConversationsByLabel.Delete(label, c.order)
		}
	}
	if edit != nil {
		edit()
	}
	c.order = st.next()
	c.Unread = c.UnreadCount > 0
	st.Conversations[c.ID] = c
	if c.Kind == KindDirect {
		st.Direct[DirectKey{c.ChannelID, c.ContactID}] = c
	}
	st.ConversationOrder.Put(c.order, c)
	st.ConversationsByChannel.Put(c.ChannelID, c.order, c)
	st.ConversationsByAssignee.Put(c.AssigneeID, c.order, c)
	st.ConversationsBySector.Put(c.SectorID, c.order, c)
	if c.Unread {
		st.UnreadConversations.Put(c.order, c)
	}
	for _, label := range c.LabelIDs {
		st.ConversationsByLabel.Put(label, c.order, c)
	}
}

// PutAttendance adds or changes an attendance; its position, by the time of opening, stays.
func (st *Store) PutAttendance(a *Attendance, edit func()) {
	if a.Order == 0 {
		a.Order = st.next()
	} else {
		st.AttendancesByAssignee.Delete(a.AssigneeID, a.Order)
		st.AttendancesBySector.Delete(a.SectorID, a.Order)
		st.countWaiting(a, -1)
	}
	if edit != nil {
		edit()
	}
	st.Attendances[a.ID] = a
	st.AttendanceOrder.Put(a.Order, a)
	st.AttendancesByAssignee.Put(a.AssigneeID, a.Order, a)
	st.AttendancesBySector.Put(a.SectorID, a.Order, a)
	if a.Status == StatusOpen {
		st.OpenAttendances.Put(a.Order, a)
	} else {
		st.OpenAttendances.Delete(a.Order)
	}
	st.countWaiting(a, 1)
}

func (st *Store) countWaiting(a *Attendance, by int) {
	if a.Status == StatusOpen && a.AssigneeID.IsZero() {
		st.waiting[a.SectorID] += by
	}
}

// PutCard adds or changes a card; its position stays.
func (st *Store) PutCard(c *Card, edit func()) {
	if c.Order == 0 {
		c.Order = st.next()
	} else {
		st.CardsByBoard.Delete(c.BoardID, c.Order)
		for _, label := range c.LabelIDs {
			st.CardsByLabel.Delete(label, c.Order)
		}
	}
	if edit != nil {
		edit()
	}
	st.Cards[c.ID] = c
	st.CardOrder.Put(c.Order, c)
	st.CardsByBoard.Put(c.BoardID, c.Order, c)
	for _, label := range c.LabelIDs {
		st.CardsByLabel.Put(label, c.Order, c)
	}
}

// PutMessage appends a message to its conversation.
func (st *Store) PutMessage(c *Conversation, m *Message) {
	m.Order = st.next()
	m.ExternalID = externalID(m.ID)
	c.Messages = append(c.Messages, m)
	st.Messages[m.ID] = m
	if !m.ClientID.IsZero() {
		st.MessagesByClientID[m.ClientID] = m
	}
}

// BoardNamed returns the board with this name, or nil.
func (st *Store) BoardNamed(name string) *Board {
	if i := slices.IndexFunc(st.Boards, func(b *Board) bool { return strings.EqualFold(b.Name, name) }); i >= 0 {
		return st.Boards[i]
	}
	return nil
}

// Hidden reports whether the API does not show a card: it is private, or belongs to a private
// channel.
func (st *Store) Hidden(card *Card) bool {
	if card.Private {
		return true
	}
	conv := st.Conversations[card.ConversationID]
	return conv != nil && conv.Channel.Private
}

// Zone returns the company's time zone, in which dates without a time are
// read.
func (st *Store) Zone() *time.Location {
	zone, err := time.LoadLocation(st.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// SectorView adds the sector's members and the number of waiting attendances. All that wait are in
// the first queue.
func (st *Store) SectorView(sector *Sector) *Sector {
	view := *sector
	view.MemberIDs = nil
	for _, p := range st.People {
		if slices.Contains(p.SectorIDs, sector.ID) {
			view.MemberIDs = append(view.MemberIDs, p.ID)
		}
	}
	view.Queues = slices.Clone(sector.Queues)
	if len(view.Queues) > 0 {
		view.Queues[0].Waiting = st.waiting[sector.ID]
	}
	return &view
}

// externalID is WhatsApp's id of the message.
func externalID(id ID) string { return "wamid." + strings.ToUpper(hex.EncodeToString(id[:])) }

// Replyable reports whether an external id names a message of the
// conversation.
func (st *Store) Replyable(conv *Conversation, external string) bool {
	var id ID
	text, ok := strings.CutPrefix(external, "wamid.")
	if !ok || len(text) != 2*len(id) {
		return false
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return false
	}
	m := st.Messages[id]
	return m != nil && m.ConversationID == conv.ID
}

// ConversationOf returns the direct conversation with a contact, or none.
func (st *Store) ConversationOf(contact *Contact) ID {
	i := slices.IndexFunc(st.Channels, func(ch *Channel) bool { return st.Direct[DirectKey{ch.ID, contact.ID}] != nil })
	if i < 0 {
		return ID{}
	}
	return st.Direct[DirectKey{st.Channels[i].ID, contact.ID}].ID
}
