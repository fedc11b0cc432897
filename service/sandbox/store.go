package sandbox

import (
	"slices"
	"strings"
)

// store holds one company's objects and the indexes that lists are read from.
// Its caller holds the sandbox's lock.
type store struct {
	tenantID   ID
	tenantName string
	timezone   string
	rules      Rules
	apiCounts  bool // a message of the API is a first response too

	channels []*Channel
	labels   []*Label
	people   []*Person
	sectors  []*Sector
	boards   []*Board
	keys     []*Key
	webhooks []*Webhook

	secrets map[string]*Key // by the key's text

	contacts     map[ID]*Contact
	contactOrder ordered[Contact]
	contactLabel grouped[Contact]
	contactChan  grouped[Contact]
	phones       map[string]*Contact // by phoneKey

	conversations map[ID]*Conversation
	direct        map[pair]*Conversation // by channel and contact
	convOrder     ordered[Conversation]
	convChannel   grouped[Conversation]
	convAssignee  grouped[Conversation]
	convSector    grouped[Conversation]
	convLabel     grouped[Conversation]
	convUnread    ordered[Conversation]

	messages  map[ID]*Message
	clientIDs map[ID]*Message
	media     map[ID]*Media

	attendances  map[ID]*Attendance
	protocols    map[int]*Attendance
	lastProtocol int
	attOrder     ordered[Attendance]
	attOpen      ordered[Attendance]
	attAssignee  grouped[Attendance]
	attSector    grouped[Attendance]
	waiting      map[ID]int // open and unassigned, by sector

	cards     map[ID]*Card
	cardOrder ordered[Card]
	cardBoard grouped[Card]
	cardLabel grouped[Card]

	reservations map[reservationKey]*reservation
	reserved     []*reservation // oldest first, to forget them in time
	effects      []Effect

	sequence uint64
}

type pair struct{ a, b ID }

func newStore() *store {
	return &store{
		timezone: "America/Sao_Paulo",
		rules:    Rules{Enabled: true, FirstResponderOwns: true, Mode: "liberal"},

		secrets:      map[string]*Key{},
		contacts:     map[ID]*Contact{},
		contactLabel: grouped[Contact]{},
		contactChan:  grouped[Contact]{},
		phones:       map[string]*Contact{},

		conversations: map[ID]*Conversation{},
		direct:        map[pair]*Conversation{},
		convChannel:   grouped[Conversation]{},
		convAssignee:  grouped[Conversation]{},
		convSector:    grouped[Conversation]{},
		convLabel:     grouped[Conversation]{},

		messages:  map[ID]*Message{},
		clientIDs: map[ID]*Message{},
		media:     map[ID]*Media{},

		attendances: map[ID]*Attendance{},
		protocols:   map[int]*Attendance{},
		attAssignee: grouped[Attendance]{},
		attSector:   grouped[Attendance]{},
		waiting:     map[ID]int{},

		cards:     map[ID]*Card{},
		cardBoard: grouped[Card]{},
		cardLabel: grouped[Card]{},

		reservations: map[reservationKey]*reservation{},
	}
}

// next returns the next place in the order of things.
func (st *store) next() uint64 {
	st.sequence++
	return st.sequence
}

func find[T any](list []*T, id ID, of func(*T) ID) *T {
	if i := slices.IndexFunc(list, func(v *T) bool { return of(v) == id }); i >= 0 {
		return list[i]
	}
	return nil
}

func (st *store) channel(id ID) *Channel {
	return find(st.channels, id, func(v *Channel) ID { return v.ID })
}
func (st *store) label(id ID) *Label {
	return find(st.labels, id, func(v *Label) ID { return v.ID })
}
func (st *store) person(id ID) *Person {
	return find(st.people, id, func(v *Person) ID { return v.ID })
}
func (st *store) sector(id ID) *Sector {
	return find(st.sectors, id, func(v *Sector) ID { return v.ID })
}
func (st *store) board(id ID) *Board {
	return find(st.boards, id, func(v *Board) ID { return v.ID })
}
func (st *store) webhook(id ID) *Webhook {
	return find(st.webhooks, id, func(v *Webhook) ID { return v.ID })
}
func (st *store) key(id ID) *Key {
	return find(st.keys, id, func(v *Key) ID { return v.ID })
}

func (b *Board) stage(id ID) *Stage {
	return find(b.Stages, id, func(v *Stage) ID { return v.ID })
}

func (b *Board) stageNamed(name string) *Stage {
	if i := slices.IndexFunc(b.Stages, func(s *Stage) bool { return strings.EqualFold(s.Name, name) }); i >= 0 {
		return b.Stages[i]
	}
	return nil
}

// addKey makes a key known.
func (st *store) addKey(k *Key) {
	st.keys = append(st.keys, k)
	st.secrets[k.APIKey] = k
}

// putContact adds a contact, or takes up a change to it. The change is made
// by edit, because a contact is found under its old values until then.
func (st *store) putContact(c *Contact, edit func()) {
	if c.order == 0 {
		c.order = st.next()
	} else {
		st.contactChan.del(c.ChannelID, c.order)
		for _, label := range c.LabelIDs {
			st.contactLabel.del(label, c.order)
		}
		delete(st.phones, phoneKey(c.Phone))
	}
	if edit != nil {
		edit()
	}
	st.contacts[c.ID] = c
	st.contactOrder.put(c.order, c)
	st.contactChan.put(c.ChannelID, c.order, c)
	for _, label := range c.LabelIDs {
		st.contactLabel.put(label, c.order, c)
	}
	if c.Phone != "" {
		st.phones[phoneKey(c.Phone)] = c
	}
}

// putConversation adds a conversation, or takes up a change to it, and puts
// it first in its lists.
func (st *store) putConversation(c *Conversation, edit func()) {
	if c.order != 0 {
		st.convOrder.del(c.order)
		st.convChannel.del(c.ChannelID, c.order)
		st.convAssignee.del(c.AssigneeID, c.order)
		st.convSector.del(c.SectorID, c.order)
		st.convUnread.del(c.order)
		for _, label := range c.LabelIDs {
			st.convLabel.del(label, c.order)
		}
	}
	if edit != nil {
		edit()
	}
	c.order = st.next()
	c.Unread = c.UnreadCount > 0
	st.conversations[c.ID] = c
	if c.Kind == kindDirect {
		st.direct[pair{c.ChannelID, c.ContactID}] = c
	}
	st.convOrder.put(c.order, c)
	st.convChannel.put(c.ChannelID, c.order, c)
	st.convAssignee.put(c.AssigneeID, c.order, c)
	st.convSector.put(c.SectorID, c.order, c)
	if c.Unread {
		st.convUnread.put(c.order, c)
	}
	for _, label := range c.LabelIDs {
		st.convLabel.put(label, c.order, c)
	}
}

// putAttendance adds an attendance, or takes up a change to it; its place, by
// the time of opening, stays.
func (st *store) putAttendance(a *Attendance, edit func()) {
	if a.order == 0 {
		a.order = st.next()
	} else {
		st.attAssignee.del(a.AssigneeID, a.order)
		st.attSector.del(a.SectorID, a.order)
		st.countWaiting(a, -1)
	}
	if edit != nil {
		edit()
	}
	st.attendances[a.ID] = a
	st.attOrder.put(a.order, a)
	st.attAssignee.put(a.AssigneeID, a.order, a)
	st.attSector.put(a.SectorID, a.order, a)
	if a.Status == statusOpen {
		st.attOpen.put(a.order, a)
	} else {
		st.attOpen.del(a.order)
	}
	st.countWaiting(a, 1)
}

func (st *store) countWaiting(a *Attendance, by int) {
	if a.Status == statusOpen && a.AssigneeID.IsZero() {
		st.waiting[a.SectorID] += by
	}
}

// putCard adds a card, or takes up a change to it; its place stays.
func (st *store) putCard(c *Card, edit func()) {
	if c.order == 0 {
		c.order = st.next()
	} else {
		st.cardBoard.del(c.BoardID, c.order)
		for _, label := range c.LabelIDs {
			st.cardLabel.del(label, c.order)
		}
	}
	if edit != nil {
		edit()
	}
	st.cards[c.ID] = c
	st.cardOrder.put(c.order, c)
	st.cardBoard.put(c.BoardID, c.order, c)
	for _, label := range c.LabelIDs {
		st.cardLabel.put(label, c.order, c)
	}
}

// putMessage appends a message to its conversation.
func (st *store) putMessage(c *Conversation, m *Message) {
	m.order = st.next()
	m.ExternalID = externalID(m.ID)
	c.messages = append(c.messages, m)
	st.messages[m.ID] = m
	if !m.ClientID.IsZero() {
		st.clientIDs[m.ClientID] = m
	}
}
