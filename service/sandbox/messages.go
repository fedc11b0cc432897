package sandbox

import (
	"net/http"
	"sort"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func messageOperations() []*operation {
	return []*operation{
		read("GET /conversations/{id}/messages", "messages:read", (*Sandbox).listMessages),
		change("POST /conversations/{id}/messages", "messages:send", http.StatusCreated, (*Sandbox).sendMessage),
		read("GET /messages/{id}", "messages:read", (*Sandbox).getMessage),
	}
}

// listMessages returns a conversation's messages newest first. A cursor is the id of a message:
// next_cursor continues in the same direction, to older ones or, with after, to newer ones.
func (s *Sandbox) listMessages(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	q := c.query()
	limit := q.limit()
	before, byBefore := q.id("before")
	after, byAfter := q.id("after")
	if byBefore && byAfter {
		q.fail("send either before or after, not both")
	}
	if q.err != nil {
		return nil, q.err
	}
	from, to := 0, len(conv.Messages) // the page is within [from, to)
	if byBefore {
		if to, err = s.position(conv, "before", before); err != nil {
			return nil, err
		}
	}
	if byAfter {
		if from, err = s.position(conv, "after", after); err != nil {
			return nil, err
		}
		from++
	}
	more := to-from > limit
	switch {
	case more && byAfter: // the next ones in order, so that no message is skipped
		to = from + limit
	case more:
		from = to - limit
	}
	page := make([]*Message, 0, to-from)
	for i := to - 1; i >= from; i-- {
		page = append(page, conv.Messages[i])
	}
	out := listOf(page)
	switch {
	case more && byAfter:
		out.NextCursor = Optional(page[0].ID.String())
	case more:
		out.NextCursor = Optional(page[len(page)-1].ID.String())
	}
	return out, nil
}

// position returns where in the conversation the message with this id is.
func (s *Sandbox) position(conv *Conversation, name string, id ID) (int, error) {
	m := s.store.Messages[id]
	if m == nil || m.ConversationID != conv.ID {
		return 0, store.Invalid("%s: %v is no cursor of this conversation", name, id)
	}
	return sort.Search(len(conv.Messages), func(i int) bool { return conv.Messages[i].Order >= m.Order }), nil
}

// sendMessage sends a message once for each client_id: a repeat, whatever
// else it carries, returns the message already created.
func (s *Sandbox) sendMessage(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		ClientID field[ID]     `json:"client_id"`
		Text     field[string] `json:"text"`
		MediaID  field[ID]     `json:"media_id"`
		ReplyTo  field[string] `json:"reply_to_external_id"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.ClientID.Value.IsZero() {
		return nil, store.Invalid("client_id is required: a UUID of your own for each message")
	}
	if sent := s.store.MessagesByClientID[in.ClientID.Value]; sent != nil {
		return sent, nil
	}
	if in.Text.Value == "" && in.MediaID.Value.IsZero() {
		return nil, store.Invalid("text is required when media_id is absent")
	}
	if media := in.MediaID.Value; !media.IsZero() && s.store.Media[media] == nil {
		return nil, store.Invalid("media_id: there is no media %v; upload it with POST /media first", media)
	}
	if reply := in.ReplyTo.Value; reply != "" && !s.store.Replyable(conv, reply) {
		return nil, store.Invalid("reply_to_external_id: %q is no message of this conversation", reply)
	}
	if contact := s.store.Contacts[conv.ContactID]; contact != nil && contact.Blocked {
		return nil, store.Conflict("the contact %s is blocked", contact.Name)
	}
	m := &Message{
		ID: s.ids.ID(), ClientID: in.ClientID.Value, Text: Optional(in.Text.Value), MediaID: in.MediaID.Value,
		ReplyToExternalID: Optional(in.ReplyTo.Value), Direction: store.Outbound, Sender: c.key.Actor(),
	}
	s.addMessage(conv, m)
	if s.store.APIMessagesRespond {
		s.firstResponse(conv)
	}
	s.raiseMessage(messageSent, conv, m)
	s.raiseUpdated(conv, "last_message")
	s.effect(c, m.ID, "message", nil, encode(m), m.ClientID.String())
	return m, nil
}

// addMessage puts a message into its conversation, which moves to the front.
func (s *Sandbox) addMessage(conv *Conversation, m *Message) {
	m.ConversationID = conv.ID
	m.CreatedAt = s.now()
	s.store.PutMessage(conv, m)
	s.store.PutConversation(conv, func() {
		conv.LastMessage = &LastMessage{ID: m.ID, Text: m.Text, Direction: m.Direction, CreatedAt: m.CreatedAt}
		conv.UpdatedAt = m.CreatedAt
		if m.Direction == store.Inbound {
			conv.UnreadCount++
		}
	})
}

func (s *Sandbox) getMessage(c *call) (any, error) {
	if m := s.store.Messages[c.id]; m != nil {
		return m, nil
	}
	return nil, store.NotFound("message", c.id)
}
