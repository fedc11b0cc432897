package sandbox

// The types in this file are both what the sandbox keeps and what it answers:
// the exported fields are the service's fields, the others are its own.

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

// Queue counts the open attendances of a sector that nobody has taken.
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
	channel     *Channel
	messages    []*Message
	attendances []*Attendance
	assignments []*Assignment
}

// attendance returns the conversation's latest attendance, or nil.
func (c *Conversation) attendance() *Attendance {
	if len(c.attendances) == 0 {
		return nil
	}
	return c.attendances[len(c.attendances)-1]
}

// open returns the conversation's open attendance, or nil.
func (c *Conversation) open() *Attendance {
	if a := c.attendance(); a != nil && a.Status == statusOpen {
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

	order uint64
}

// Media is an uploaded file.
type Media struct {
	ID          ID      `json:"id"`
	Name        string  `json:"name"`
	ContentType string  `json:"content_type"`
	Size        int     `json:"size"`
	CreatedAt   Instant `json:"created_at"`

	content []byte
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

	order uint64
	card  *Card
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

	order   uint64
	private bool
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

	secret   string
	failures int         // deliveries in a row that failed for good
	queue    []*Delivery // due now, in order
	sending  bool        // a goroutine works through the queue
	gone     bool        // deleted, or its state was replaced
	history  []*Delivery // oldest first
}

// Delivery is one event on its way to one webhook, with the latest attempt.
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

	hook    *Webhook
	body    []byte // dropped when there will be no further attempt
	created Instant
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

	bucket bucket
}

const (
	statusOpen      = "open"
	statusClosed    = "closed"
	statusCompleted = "completed"

	kindDirect = "direct"
	kindGroup  = "group"

	inbound  = "inbound"
	outbound = "outbound"

	byCustomer = "customer"
	byTeam     = "team"
	byAPI      = "api"
	bySystem   = "system"
)
