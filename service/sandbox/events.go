package sandbox

import (
	"encoding/json"
	"slices"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// The events of the reference. A webhook can subscribe to the first five.
const (
	messageReceived     = "message.received"
	messageSent         = "message.sent"
	conversationUpdated = "conversation.updated"
	attendanceOpened    = "attendance.opened"
	attendanceClosed    = "attendance.closed"
	cardCreated         = "kanban.card.created"
	cardMoved           = "kanban.card.moved"
	cardCompleted       = "kanban.card.completed"
	webhookTest         = "webhook.test"
)

// available returns the events a webhook can be subscribed to.
func (s *Sandbox) available() []string {
	events := []string{messageReceived, messageSent, conversationUpdated, attendanceOpened, attendanceClosed}
	if s.options.KanbanEvents {
		events = append(events, cardCreated, cardMoved, cardCompleted)
	}
	return events
}

// event is the body of a delivery.
type event struct {
	ID        ID      `json:"id"`
	Type      string  `json:"type"`
	CreatedAt Instant `json:"created_at"`
	TenantID  ID      `json:"tenant_id"`
	Data      any     `json:"data"`
}

type messageData struct {
	Message      *Message      `json:"message"`
	Conversation *Conversation `json:"conversation"`
	Contact      *Contact      `json:"contact"`
}

type conversationData struct {
	Conversation *Conversation `json:"conversation"`
	Changed      []string      `json:"changed"`
}

type attendanceData struct {
	Attendance   *Attendance   `json:"attendance"`
	Conversation *Conversation `json:"conversation"`
	Contact      *Contact      `json:"contact"`
}

type cardData struct {
	Card *Card `json:"card"`
}

type cardMoveData struct {
	Card        *Card `json:"card"`
	FromStageID ID    `json:"from_stage_id"`
	ToStageID   ID    `json:"to_stage_id"`
	MovedBy     Actor `json:"moved_by"`
}

// raise sends an event of a channel to the webhooks subscribed to it, and returns its id, or the
// zero ID if there are none. A private channel produces no events.
func (s *Sandbox) raise(on *Channel, name string, data any) (id ID) {
	if on != nil && on.Private {
		return id
	}
	var body []byte
	for _, hook := range s.store.Webhooks {
		if !hook.Active || !slices.Contains(hook.Events, name) {
			continue
		}
		if body == nil { // encoded once, and only if a webhook is subscribed
			id = s.ids.ID()
			body = encode(event{ID: id, Type: name, CreatedAt: s.now(), TenantID: s.store.TenantID, Data: data})
		}
		s.deliver(hook, id, name, body)
	}
	return id
}

// Raise sends a bare event, with any data, to the webhooks subscribed to it, and returns its id. It
// changes nothing else.
func (s *Sandbox) Raise(name string, data json.RawMessage) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := append(s.available(), cardCreated, cardMoved, cardCompleted)
	if !slices.Contains(known, name) {
		return ID{}, store.Invalid("there is no event %q%s", name, store.DidYouMean(name, known))
	}
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	if !json.Valid(data) {
		return ID{}, store.Invalid("the data is not JSON")
	}
	return s.raise(nil, name, data), nil
}

func (s *Sandbox) raiseMessage(name string, c *Conversation, m *Message) {
	s.raise(c.Channel, name, messageData{m, c, s.store.Contacts[c.ContactID]})
}

func (s *Sandbox) raiseUpdated(c *Conversation, changed ...string) {
	s.raise(c.Channel, conversationUpdated, conversationData{c, changed})
}

func (s *Sandbox) raiseAttendance(name string, c *Conversation, a *Attendance) {
	s.raise(c.Channel, name, attendanceData{a, c, s.store.Contacts[a.ContactID]})
}

// raiseCard raises an event about a card, unless the card is private or
// belongs to a private channel.
func (s *Sandbox) raiseCard(name string, card *Card, data any) {
	if s.store.Hidden(card) {
		return
	}
	s.raise(nil, name, data)
}
