package store

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// The types in this file are both the sandbox's state and its answers: the fields with a JSON name
// are the service's, the others are the sandbox's own.

// Channel is a WhatsApp number of the company.
type Channel struct {
	ID      ID     `json:"id"`
	Name    string `json:"name"`
	Phone   string `json:"phone"`
	Private bool   `json:"private"` // never produces events
}

// Label marks conversations, contacts and cards.
type Label struct {
	ID    ID     `json:"id"`
	Name  string `json:"name"`
	Color string `json:"color"`
}

// Person is a member of the team.
type Person struct {
	ID            ID     `json:"id"`
	Name          string `json:"name"`
	Role          string `json:"role"`
	AccessProfile string `json:"access_profile"`
	Presence      string `json:"presence"`
	SectorIDs     IDs    `json:"sector_ids"`
}

// Sector is a part of the company that conversations can be sent to.
type Sector struct {
	ID        ID      `json:"id"`
	Name      string  `json:"name"`
	MemberIDs IDs     `json:"member_ids"`
	Queues    []Queue `json:"queues"`
}

// Queue counts the open and unassigned attendances of a sector.
type Queue struct {
	ID      ID     `json:"id"`
	Name    string `json:"name"`
	Waiting int    `json:"waiting"`
}

// Rules are the company's attendance rules.
type Rules struct {
	Enabled               bool   `json:"enabled"`
	FirstResponderOwns    bool   `json:"first_responder_owns"`
	Mode                  string `json:"mode"` // restricted or liberal
	AutoCloseAfterMinutes Number `json:"auto_close_after_minutes"`
}

// Contact is a customer.
type Contact struct {
	ID        ID       `json:"id"`
	Name      string   `json:"name"`
	Phone     string   `json:"phone"`
	Company   Optional `json:"company"`
	City      Optional `json:"city"`
	ChannelID ID       `json:"channel_id"`
	LabelIDs  IDs      `json:"label_ids"`
	Blocked   bool     `json:"blocked"`
	CreatedAt Instant  `json:"created_at"`
	UpdatedAt Instant  `json:"updated_at"`

	order uint64
}

// Conversation is the exchange with one contact, or a group, on one channel.
type Conversation struct {
	ID          ID           `json:"id"`
	Kind        string       `json:"kind"` // direct or group
	Archived    bool         `json:"archived"`
	Pinned      bool         `json:"pinned"`
	Muted       bool         `json:"muted"`
	Name        string       `json:"name"`
	LabelIDs    IDs          `json:"label_ids"`
	ChannelID   ID           `json:"channel_id"`
	ContactID   ID           `json:"contact_id"`
	Phone       Optional     `json:"phone"`
	AssigneeID  ID           `json:"assignee_id"`
	SectorID    ID           `json:"sector_id"`
	Unread      bool         `json:"unread"`
	UnreadCount int          `json:"unread_count"`
	LastMessage *LastMessage `json:"last_message"`
	CreatedAt   Instant      `json:"created_at"`
	UpdatedAt   Instant      `json:"updated_at"`

	order       uint64
	Channel     *Channel      `json:"-"`
	Messages    []*Message    `json:"-"`
	Attendances []*Attendance `json:"-"`
	Assignments []*Assignment `json:"-"`
}

// attendance returns the conversation's latest attendance, or nil.
func (c *Conversation) attendance() *Attendance {
	if len(c.Attendances) == 0 {
		return nil
	}
	return c.Attendances[len(c.Attendances)-1]
}

// Open returns the conversation's open attendance, or nil.
func (c *Conversation) Open() *Attendance {
	if a := c.attendance(); a != nil && a.Status == StatusOpen {
		return a
	}
	return nil
}

// LastMessage is what a conversation shows of its newest message.
type LastMessage struct {
	ID        ID       `json:"id"`
	Text      Optional `json:"text"`
	Direction string   `json:"direction"`
	CreatedAt Instant  `json:"created_at"`
}

// Actor is who did something: a customer, the team or the API.
type Actor struct {
	Kind string   `json:"kind"`
	ID   ID       `json:"id"`
	Name Optional `json:"name"`
}

// Message is one message of a conversation.
type Message struct {
	ID                ID       `json:"id"`
	ConversationID    ID       `json:"conversation_id"`
	ClientID          ID       `json:"client_id"`
	Text              Optional `json:"text"`
	MediaID           ID       `json:"media_id"`
	ReplyToExternalID Optional `json:"reply_to_external_id"`
	ExternalID        string   `json:"external_id"`
	Direction         string   `json:"direction"`
	Sender            Actor    `json:"sender"`
	CreatedAt         Instant  `json:"created_at"`

	Order uint64 `json:"-"`
}

// Media is an uploaded file.
type Media struct {
	ID          ID      `json:"id"`
	Name        string  `json:"name"`
	ContentType string  `json:"content_type"`
	Size        int     `json:"size"`
	CreatedAt   Instant `json:"created_at"`

	Content []byte `json:"-"`
}

// Attendance is a support case with a protocol number.
type Attendance struct {
	ID              ID       `json:"id"`
	Protocol        string   `json:"protocol"`
	Status          string   `json:"status"` // open or closed
	ConversationID  ID       `json:"conversation_id"`
	ContactID       ID       `json:"contact_id"`
	AssigneeID      ID       `json:"assignee_id"`
	SectorID        ID       `json:"sector_id"`
	OpenedAt        Instant  `json:"opened_at"`
	FirstResponseAt Instant  `json:"first_response_at"`
	ClosedAt        Instant  `json:"closed_at"`
	CloseReason     Optional `json:"close_reason"`

	Order uint64 `json:"-"`
	Card  *Card  `json:"-"`
}

// Assignment is an entry of the history of a conversation's responsible
// persons.
type Assignment struct {
	ID             ID       `json:"id"`
	ConversationID ID       `json:"conversation_id"`
	Action         string   `json:"action"` // taken, received or handed_back
	UserID         ID       `json:"user_id"`
	SectorID       ID       `json:"sector_id"`
	FromUserID     ID       `json:"from_user_id"`
	FromSectorID   ID       `json:"from_sector_id"`
	By             Actor    `json:"by"`
	Reason         Optional `json:"reason"`
	At             Instant  `json:"at"`
}

// Board is a Kanban board.
type Board struct {
	ID       ID       `json:"id"`
	Name     string   `json:"name"`
	Archived bool     `json:"archived"`
	Stages   []*Stage `json:"stages"`
}

// Stage is a column of a board. A card that enters a winning stage is
// completed.
type Stage struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Position int    `json:"position"`
	Winning  bool   `json:"winning"`
}

// Card is a card of a board, with the fields that are public.
type Card struct {
	ID             ID       `json:"id"`
	BoardID        ID       `json:"board_id"`
	StageID        ID       `json:"stage_id"`
	Title          string   `json:"title"`
	Description    Optional `json:"description"`
	Priority       string   `json:"priority"`
	LabelIDs       IDs      `json:"label_ids"`
	DueDate        Optional `json:"due_date"`
	Version        int      `json:"version"`
	ContactID      ID       `json:"contact_id"`
	ConversationID ID       `json:"conversation_id"`
	AttendanceID   ID       `json:"attendance_id"`
	Status         string   `json:"status"` // open or completed
	CreatedAt      Instant  `json:"created_at"`
	UpdatedAt      Instant  `json:"updated_at"`

	Order   uint64 `json:"-"`
	Private bool   `json:"-"`
}

// Webhook is an address that receives events.
type Webhook struct {
	ID        ID       `json:"id"`
	Name      string   `json:"name"`
	URL       string   `json:"url"`
	Events    []string `json:"events"`
	Active    bool     `json:"active"`
	CreatedAt Instant  `json:"created_at"`
	UpdatedAt Instant  `json:"updated_at"`

	Secret     string      `json:"-"`
	Failures   int         `json:"-"` // deliveries in a row that failed for good
	Queue      []*Delivery `json:"-"` // due now, in order
	Sending    bool        `json:"-"` // a goroutine works through the queue
	Gone       bool        `json:"-"` // deleted, or its state was replaced
	Deliveries []*Delivery `json:"-"` // oldest first
}

// Delivery is one event to be delivered to one webhook, with the latest attempt.
type Delivery struct {
	ID             ID       `json:"id"`
	EventID        ID       `json:"event_id"`
	EventType      string   `json:"event_type"`
	Attempt        int      `json:"attempt"`
	Status         string   `json:"status"` // pending, delivered, retrying or failed
	ResponseStatus Number   `json:"response_status"`
	Error          Optional `json:"error"`
	At             Instant  `json:"at"`
	NextAttemptAt  Instant  `json:"next_attempt_at"`

	Webhook *Webhook `json:"-"`
	Body    []byte   `json:"-"` // dropped when there will be no further attempt
	Created Instant  `json:"-"`
}

// Key is an API key and what it may do.
type Key struct {
	ID        ID       `json:"id"`
	Name      string   `json:"name"`
	APIKey    string   `json:"api_key"`
	Scopes    []string `json:"scopes"`
	PersonID  ID       `json:"person_id"`  // who "me" is, for assignee=me
	BoardIDs  *IDs     `json:"board_ids"`  // the boards it sees; null means all
	ExpiresAt Instant  `json:"expires_at"` // null means never
	Revoked   bool     `json:"revoked"`

	Bucket Bucket `json:"-"`
}

// The values of Status.
const (
	StatusOpen      = "open"
	StatusClosed    = "closed"
	StatusCompleted = "completed"
)

// The values of Conversation.Kind.
const (
	KindDirect = "direct"
	KindGroup  = "group"
)

// The values of Message.Direction.
const (
	Inbound  = "inbound"
	Outbound = "outbound"
)

// The values of Actor.Kind.
const (
	ByCustomer = "customer"
	ByTeam     = "team"
	ByAPI      = "api"
	BySystem   = "system"
)

// Actor returns the key as an actor.
func (k *Key) Actor() Actor { return Actor{Kind: ByAPI, ID: k.ID, Name: Optional(k.Name)} }

// Sees reports whether the key may see a board.
func (k *Key) Sees(board ID) bool {
	return k.BoardIDs == nil || slices.Contains(*k.BoardIDs, board)
}

// Bucket counts a key's requests on the sandbox's clock.
type Bucket struct {
	tokens float64
	at     Instant
}

// Take takes one token out of a bucket that is filled with rate tokens a
// second and holds one second's worth. When it is empty it returns the seconds
// until the next.
func (b *Bucket) Take(rate int, now Instant) (retryAfter int) {
	if rate <= 0 {
		return 0
	}
	if b.at == 0 || now < b.at { // first use, or the clock was set back
		b.tokens = float64(rate)
	} else {
		b.tokens = min(float64(rate), b.tokens+now.Sub(b.at).Seconds()*float64(rate))
	}
	b.at = now
	if b.tokens < 1 {
		return max(1, int(math.Ceil((1-b.tokens)/float64(rate))))
	}
	b.tokens--
	return 0
}

// DeliveriesKeptFor is how long deliveries are kept.
const DeliveriesKeptFor = 14 * 24 * time.Hour

// ForgetDeliveries drops expired deliveries.
func (h *Webhook) ForgetDeliveries(now Instant) {
	n := 0
	for n < len(h.Deliveries) && now.Sub(h.Deliveries[n].Created) >= DeliveriesKeptFor {
		n++
	}
	h.Deliveries = h.Deliveries[n:]
}

// Effect is one change made through the API. Repeats that change nothing, and changes by customers
// and the team, are not among them.
type Effect struct {
	At        Instant         `json:"at"`
	Operation string          `json:"operation"` // method and path of the reference
	Object    ID              `json:"object"`    // the object that changed
	Kind      string          `json:"kind"`      // what it is: message, conversation, card …
	Before    json.RawMessage `json:"before"`    // null when it was created
	After     json.RawMessage `json:"after"`     // null when it was deleted
	Key       Optional        `json:"key"`       // client_id or Idempotency-Key
	Request   json.RawMessage `json:"request"`   // the body that asked for it
}
