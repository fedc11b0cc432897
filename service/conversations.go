package service

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"
)

var (
	opListChannels       = Operation{"GET", "/channels", "conversations:read"}
	opListConversations  = Operation{"GET", "/conversations", "conversations:read"}
	opCreateConversation = Operation{"POST", "/conversations", "conversations:write"}
	opGetConversation    = Operation{"GET", "/conversations/{id}", "conversations:read"}
	opUpdateConversation = Operation{"PATCH", "/conversations/{id}", "conversations:write"}
	opReadConversation   = Operation{"POST", "/conversations/{id}/read", "conversations:write"}
	opTransfer           = Operation{"POST", "/conversations/{id}/transfer", "conversations:write"}
	opSetSector          = Operation{"PUT", "/conversations/{id}/sector", "conversations:write"}
)

var conversationOperations = []Operation{opListChannels, opListConversations, opCreateConversation, opGetConversation, opUpdateConversation, opReadConversation, opTransfer, opSetSector}

// Channel is a WhatsApp number of the company.
type Channel struct {
	ID      string
	Name    string
	Phone   string
	Private bool // never produces events
	Raw     map[string]any
}

// DecodeChannel reads a channel through the profile.
func DecodeChannel(raw map[string]any, p *Profile) Channel {
	f, n := fields(raw), &p.Channel
	return Channel{ID: f.id(n.ID), Name: f.str(n.Name), Phone: f.str(n.Phone), Private: f.flag(n.Private), Raw: raw}
}

// Conversation is a conversation with a customer or a group.
type Conversation struct {
	ID          string
	Kind        string // direct or group
	Archived    bool
	Pinned      bool
	Muted       bool
	Name        string
	LabelIDs    []string
	ChannelID   string
	ContactID   string
	Phone       string
	AssigneeID  string // empty: unassigned
	SectorID    string
	Unread      bool
	UnreadCount int
	LastMessage *Message
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Raw         map[string]any
}

// DecodeConversation reads a conversation through the profile.
func DecodeConversation(raw map[string]any, p *Profile) Conversation {
	f, n := fields(raw), &p.Conversation
	c := Conversation{
		ID: f.id(n.ID), Kind: f.str(n.Kind), Archived: f.flag(n.Archived), Pinned: f.flag(n.Pinned), Muted: f.flag(n.Muted),
		Name: f.str(n.Name), LabelIDs: f.ids(n.LabelIDs), ChannelID: f.id(n.ChannelID), ContactID: f.id(n.ContactID), Phone: f.str(n.Phone),
		AssigneeID: f.id(n.AssigneeID), SectorID: f.id(n.SectorID), Unread: f.flag(n.Unread), UnreadCount: f.int(n.UnreadCount),
		CreatedAt: f.time(n.CreatedAt), UpdatedAt: f.time(n.UpdatedAt), Raw: raw,
	}
	if last := f.object(n.LastMessage); last != nil {
		m := DecodeMessage(last, p)
		c.LastMessage = &m
	} else if text := f.str(n.LastMessage); text != "" {
		c.LastMessage = &Message{Text: text}
	}
	return c
}

// ConversationQuery filters conversations. Zero values do not filter.
type ConversationQuery struct {
	Q        string // name, phone or part of the last message
	Archived *bool
	Unread   bool   // only unread ones
	Kind     string // direct or group
	Channel  string
	Assignee string // none, me or a person's id
	Sector   string
	Label    string
	Limit    int
	Offset   int
}

func (q ConversationQuery) values() url.Values {
	v := query{}
	v.set("q", q.Q)
	if q.Archived != nil {
		v.set("archived", strconv.FormatBool(*q.Archived))
	}
	if q.Unread {
		v.set("unread", "true")
	}
	v.set("kind", q.Kind)
	v.set("channel", q.Channel)
	v.set("assignee", q.Assignee)
	v.set("sector", q.Sector)
	v.set("label", q.Label)
	v.num("limit", q.Limit)
	v.num("offset", q.Offset)
	return url.Values(v)
}

// ListChannels lists the company's WhatsApp numbers.
func (c *Client) ListChannels(ctx context.Context) ([]Channel, error) {
	return all(ctx, c, request{op: opListChannels}, DecodeChannel)
}

// ListConversations gives one page of conversations.
func (c *Client) ListConversations(ctx context.Context, q ConversationQuery) (Page[Conversation], error) {
	return list(ctx, c, request{op: opListConversations, query: q.values()}, DecodeConversation)
}

// Conversations iterates over all matching conversations, from q.Offset on.
func (c *Client) Conversations(ctx context.Context, q ConversationQuery) iter.Seq2[Conversation, error] {
	return byOffset(opListConversations, pageSize(q.Limit), q.Offset, func(v *Conversation) string { return v.ID },
		func(limit, offset int) (Page[Conversation], error) {
			q.Limit, q.Offset = limit, offset
			return c.ListConversations(ctx, q)
		})
}

// NewConversation opens a conversation with a phone or with an existing contact.
type NewConversation struct {
	ChannelID string `json:"channel_id"`
	Phone     string `json:"phone,omitempty"`
	Name      string `json:"name,omitempty"`
	ContactID string `json:"contact_id,omitempty"`
}

// CreateConversation opens a conversation. The call has no key: call FindConversation first, and
// again before a repeat.
func (c *Client) CreateConversation(ctx context.Context, n NewConversation) (Conversation, error) {
	o := opCreateConversation
	if n.ChannelID == "" {
		return Conversation{}, invalid(o, "channel_id is missing: which number should the conversation use?")
	}
	if n.Phone == "" && n.ContactID == "" {
		return Conversation{}, invalid(o, "a conversation needs a phone or a contact_id")
	}
	v, _, err := created(ctx, c, request{op: o, body: n}, "conversation", c.profile.Conversation.ID, DecodeConversation)
	return v, err
}

// GetConversation reads one conversation.
func (c *Client) GetConversation(ctx context.Context, id string) (Conversation, error) {
	return c.conversation(ctx, request{op: opGetConversation, id: id})
}

// ConversationPatch changes the fields that are set. LabelIDs replaces all labels.
type ConversationPatch struct {
	Archived Opt[bool]     `json:"archived,omitzero"`
	Pinned   Opt[bool]     `json:"pinned,omitzero"`
	Muted    Opt[bool]     `json:"muted,omitzero"`
	Name     Opt[string]   `json:"name,omitzero"`
	LabelIDs Opt[[]string] `json:"label_ids,omitzero"`
}

// UpdateConversation sets absolute values, so a repeat is harmless.
func (c *Client) UpdateConversation(ctx context.Context, id string, p ConversationPatch) (Conversation, error) {
	return c.conversation(ctx, request{op: opUpdateConversation, id: id, body: p})
}

// MarkRead marks a conversation as read. A repeat is harmless.
func (c *Client) MarkRead(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{op: opReadConversation, id: id})
	return err
}

// Transfer names the person, the sector, or both, that a conversation goes to.
type Transfer struct {
	UserID   string `json:"user_id,omitempty"`
	SectorID string `json:"sector_id,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// TransferConversation assigns a conversation. The call has no key: before a repeat, read the
// conversation and its assignments.
func (c *Client) TransferConversation(ctx context.Context, id string, t Transfer) (Conversation, error) {
	return c.conversation(ctx, request{op: opTransfer, id: id, body: t})
}

// SectorChange sets a conversation's sector; Null takes it out of every sector.
type SectorChange struct {
	SectorID Opt[string] `json:"sector_id,omitzero"`
	Reason   string      `json:"reason,omitempty"`
}

// SetSector sets the sector. A repeat is harmless.
func (c *Client) SetSector(ctx context.Context, id string, s SectorChange) (Conversation, error) {
	return c.conversation(ctx, request{op: opSetSector, id: id, body: s})
}

// conversation makes a call that returns a conversation. If the answer is something else, the
// result is zero but for its Raw.
func (c *Client) conversation(ctx context.Context, r request) (Conversation, error) {
	v, _, err := one(ctx, c, r, "conversation", c.profile.Conversation.ID, DecodeConversation)
	return v, err
}

// ConversationFields names the fields of a conversation.
type ConversationFields struct {
	ID          Paths `json:"id"`
	Kind        Paths `json:"kind"`
	Archived    Paths `json:"archived"`
	Pinned      Paths `json:"pinned"`
	Muted       Paths `json:"muted"`
	Name        Paths `json:"name"`
	LabelIDs    Paths `json:"label_ids"`
	ChannelID   Paths `json:"channel_id"`
	ContactID   Paths `json:"contact_id"`
	Phone       Paths `json:"phone"`
	AssigneeID  Paths `json:"assignee_id"`
	SectorID    Paths `json:"sector_id"`
	Unread      Paths `json:"unread"`
	UnreadCount Paths `json:"unread_count"`
	LastMessage Paths `json:"last_message"`
	CreatedAt   Paths `json:"created_at"`
	UpdatedAt   Paths `json:"updated_at"`
}

func defaultConversationFields() ConversationFields {
	return ConversationFields{
		ID:          Paths{"id", "conversation_id", "uuid"},
		Kind:        Paths{"kind", "type"},
		Archived:    Paths{"archived", "is_archived"},
		Pinned:      Paths{"pinned", "is_pinned"},
		Muted:       Paths{"muted", "is_muted"},
		Name:        Paths{"name", "title", "display_name", "contact.name", "contact_name", "customer.name"},
		LabelIDs:    Paths{"label_ids", "labels", "tag_ids", "tags"},
		ChannelID:   Paths{"channel_id", "channel.id", "channel", "number_id", "number.id", "whatsapp_number_id", "whatsapp_channel_id", "inbox_id"},
		ContactID:   Paths{"contact_id", "contact.id", "contact", "customer_id", "customer.id", "customer"},
		Phone:       Paths{"phone", "contact.phone", "contact_phone", "phone_number", "customer.phone", "number", "contact.phone_number", "wa_id"},
		AssigneeID:  Paths{"assignee_id", "assignee.id", "assignee", "responsible_id", "responsible.id", "responsible", "responsible_user_id", "responsible_person_id", "responsible_person.id", "assigned_to_id", "assigned_to.id", "assigned_to", "assigned_user_id", "agent_id", "agent.id", "owner_id", "owner.id", "user_id", "user.id"},
		SectorID:    Paths{"sector_id", "sector.id", "sector", "department_id", "department.id", "team_id"},
		Unread:      Paths{"unread", "is_unread", "has_unread", "unread_count", "unread_messages"},
		UnreadCount: Paths{"unread_count", "unread_messages", "unread.count", "unread"},
		LastMessage: Paths{"last_message", "lastMessage", "latest_message", "last"},
		CreatedAt:   Paths{"created_at", "createdAt", "created", "inserted_at"},
		UpdatedAt:   Paths{"updated_at", "updatedAt", "updated", "modified_at"},
	}
}

// whole reports whether an object has every field that rules can use.
func (n *ConversationFields) whole(f fields) bool {
	return hasAll(f, asString, notNull, n.Kind) && hasAll(f, asText, orNull, n.Name) && hasAll(f, asEveryID, orNull, n.LabelIDs) &&
		hasAll(f, asBool, notNull, n.Archived, n.Pinned, n.Muted, n.Unread) &&
		hasAll(f, asID, orNull, n.ChannelID, n.ContactID, n.AssigneeID, n.SectorID) && hasAll(f, asAnything, orNull, n.LastMessage)
}
