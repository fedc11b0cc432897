package service

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

var (
	opListMessages = Operation{"GET", "/conversations/{id}/messages", "messages:read"}
	opSendMessage  = Operation{"POST", "/conversations/{id}/messages", "messages:send"}
	opGetMessage   = Operation{"GET", "/messages/{id}", "messages:read"}
)

var messageOperations = []Operation{opListMessages, opSendMessage, opGetMessage}

// The sides of a message.
const (
	Inbound  = "inbound"  // from the customer
	Outbound = "outbound" // from the team, the phone, or the API
)

// Message is one message of a conversation.
type Message struct {
	ID                string
	ConversationID    string
	ClientID          string
	Text              string
	MediaID           string
	ReplyToExternalID string
	ExternalID        string
	Direction         string // Inbound, Outbound, or empty if unknown
	Sender            Actor
	CreatedAt         time.Time
	Cursor            string // continues a list from this message on, if the list itself has no cursor
	Raw               map[string]any
}

// DecodeMessage reads a message through the profile.
func DecodeMessage(raw map[string]any, p *Profile) Message {
	f, n := fields(raw), &p.Message
	return Message{
		ID: f.id(n.ID), ConversationID: f.id(n.ConversationID), ClientID: f.str(n.ClientID), Text: f.str(n.Text), MediaID: f.id(n.MediaID),
		ReplyToExternalID: f.str(n.ReplyToExternalID), ExternalID: f.str(n.ExternalID), Direction: n.side(f),
		Sender:    Actor{Kind: f.str(n.SenderKind), ID: f.id(n.SenderID), Name: f.str(n.SenderName)},
		CreatedAt: f.time(n.CreatedAt), Cursor: f.str(n.Cursor), Raw: raw,
	}
}

// side tells a customer's message from one of ours: by its direction, by a from_me flag, by the
// kind of its sender.
func (n *MessageFields) side(f fields) string {
	if side := n.sideOf(f.str(n.Direction)); side != "" {
		return side
	}
	if mine, ok := first(f, n.FromMe, asBool); ok {
		if mine {
			return Outbound
		}
		return Inbound
	}
	return n.sideOf(f.str(n.SenderKind))
}

func (n *MessageFields) sideOf(value string) string {
	value = strings.ToLower(value)
	switch {
	case value == "":
		return ""
	case slices.Contains(n.InboundValues, value):
		return Inbound
	case slices.Contains(n.OutboundValues, value):
		return Outbound
	}
	return ""
}

// MessageQuery asks for one page of messages: older than Before, or newer than After.
type MessageQuery struct {
	Limit  int // 1 to 100
	Before string
	After  string
}

// ListMessages gives one page of a conversation's messages, newest first.
func (c *Client) ListMessages(ctx context.Context, conversation string, q MessageQuery) (Page[Message], error) {
	o := opListMessages
	if err := checkLimit(o, q.Limit); err != nil {
		return Page[Message]{}, err
	}
	v := query{}
	v.num("limit", q.Limit)
	v.set("before", q.Before)
	v.set("after", q.After)
	return list(ctx, c, request{op: o, id: conversation, query: url.Values(v)}, DecodeMessage)
}

// Messages iterates over a conversation's messages from the newest, or from before the given
// cursor, backwards. If the answers have no next cursor, the last message of a page is the cursor
// of the next one.
func (c *Client) Messages(ctx context.Context, conversation, before string) iter.Seq2[Message, error] {
	return byCursor(opListMessages, before, func(m *Message) string { return m.ID }, func(cursor string) (Page[Message], error) {
		page, err := c.ListMessages(ctx, conversation, MessageQuery{Limit: maxLimit, Before: cursor})
		if n := len(page.Items); n > 0 && !page.cursorGiven {
			page.NextCursor = page.Items[n-1].Cursor
			// Some services begin a page with the cursor's own message; the last page then has that alone.
			page.ended = page.ended || n == 1 && page.NextCursor == cursor
		}
		return page, err
	})
}

// NewMessage is a message to send. Text is the caption when there is media.
type NewMessage struct {
	ClientID          string `json:"client_id"` // a UUID, one per message, the same on every repeat
	Text              string `json:"text,omitempty"`
	MediaID           string `json:"media_id,omitempty"`
	ReplyToExternalID string `json:"reply_to_external_id,omitempty"`
}

// SendMessage sends a message. A repeat with the same ClientID gives the message already created
// and sends nothing.
func (c *Client) SendMessage(ctx context.Context, conversation string, m NewMessage) (Message, error) {
	o := opSendMessage
	if _, err := uuid.Parse(m.ClientID); err != nil {
		return Message{}, invalid(o, "client_id %q is not a UUID", m.ClientID)
	}
	if m.Text == "" && m.MediaID == "" {
		return Message{}, invalid(o, "a message needs a text or a media_id")
	}
	v, _, err := one(ctx, c, request{op: o, id: conversation, body: m}, "message", c.profile.Message.ID, DecodeMessage)
	return v, err
}

// GetMessage reads one message.
func (c *Client) GetMessage(ctx context.Context, id string) (Message, error) {
	v, _, err := one(ctx, c, request{op: opGetMessage, id: id}, "message", c.profile.Message.ID, DecodeMessage)
	return v, err
}

// MessageFields names the fields of a message.
type MessageFields struct {
	ID                Paths `json:"id"`
	ConversationID    Paths `json:"conversation_id"`
	ClientID          Paths `json:"client_id"`
	Text              Paths `json:"text"`
	MediaID           Paths `json:"media_id"`
	ReplyToExternalID Paths `json:"reply_to_external_id"`
	ExternalID        Paths `json:"external_id"`
	Direction         Paths `json:"direction"`
	FromMe            Paths `json:"from_me"`
	SenderKind        Paths `json:"sender_kind"`
	SenderID          Paths `json:"sender_id"`
	SenderName        Paths `json:"sender_name"`
	CreatedAt         Paths `json:"created_at"`
	Cursor            Paths `json:"cursor"`

	// InboundValues and the like are the values, in lower case, that tell a customer's message from
	// one of ours.
	InboundValues  []string `json:"inbound_values"`
	OutboundValues []string `json:"outbound_values"`
}

func defaultMessageFields() MessageFields {
	return MessageFields{
		ID:                Paths{"id", "message_id", "uuid"},
		ConversationID:    Paths{"conversation_id", "conversation.id", "conversation", "chat_id", "chat.id", "chat"},
		ClientID:          Paths{"client_id", "clientId", "client_message_id"},
		Text:              Paths{"text", "body", "content", "caption", "message", "text.body"},
		MediaID:           Paths{"media_id", "media.id", "media", "attachment_id", "attachment.id", "file_id"},
		ReplyToExternalID: Paths{"reply_to_external_id", "reply_to.external_id", "quoted_external_id", "quoted.external_id", "reply_to"},
		ExternalID:        Paths{"external_id", "externalId", "wa_message_id", "wamid", "provider_id"},
		Direction:         Paths{"direction", "side", "way"},
		FromMe:            Paths{"from_me", "fromMe", "is_from_me", "outgoing", "is_outgoing"},
		SenderKind:        Paths{"sender.kind", "sender.type", "sender.role", "sender_kind", "sender_type", "author.kind", "author.type", "from.kind", "from.type", "source", "origin", "sender"},
		SenderID:          Paths{"sender.id", "sender_id", "author.id", "author_id", "sent_by.id", "sent_by_id", "user_id", "user.id"},
		SenderName:        Paths{"sender.name", "sender_name", "author.name", "sent_by.name", "user.name"},
		CreatedAt:         Paths{"created_at", "createdAt", "sent_at", "received_at", "timestamp", "at", "date", "created"},
		Cursor:            Paths{"cursor", "id", "message_id"},

		InboundValues:  []string{"inbound", "in", "incoming", "received", "customer", "contact", "client", "from_customer"},
		OutboundValues: []string{"outbound", "out", "outgoing", "sent", "team", "api", "user", "agent", "bot", "integration", "system", "app", "phone", "to_customer"},
	}
}

// whole reports whether an object has every field that rules can use.
func (n *MessageFields) whole(f fields) bool {
	return (hasAll(f, asText, orNull, n.Text) || hasAll(f, asID, notNull, n.MediaID)) && hasAll(f, asTime, notNull, n.CreatedAt)
}
