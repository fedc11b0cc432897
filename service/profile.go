package service

import (
	"slices"
	"strings"
)

// Profile holds what the service's reference leaves open. Start from [DefaultProfile] or
// [ProfileFromMap]; a Profile in use must not be changed.
type Profile struct {
	// HeaderPrefix begins the names of the headers of a webhook delivery: X-Service in
	// X-Service-Signature.
	HeaderPrefix string `json:"header_prefix"`

	List   ListProfile   `json:"list"`
	Object ObjectProfile `json:"object"`
	Error  ErrorProfile  `json:"error"`
	Event  EventProfile  `json:"event"`
	Cards  CardProfile   `json:"cards"`

	Identity     IdentityFields     `json:"identity"`
	Channel      ChannelFields      `json:"channel"`
	Conversation ConversationFields `json:"conversation"`
	Message      MessageFields      `json:"message"`
	Media        MediaFields        `json:"media"`
	Contact      ContactFields      `json:"contact"`
	Label        LabelFields        `json:"label"`
	Attendance   AttendanceFields   `json:"attendance"`
	Assignment   AssignmentFields   `json:"assignment"`
	Person       PersonFields       `json:"person"`
	Sector       SectorFields       `json:"sector"`
	CompanyRules CompanyRulesFields `json:"company_rules"`
	Report       ReportFields       `json:"report"`
	Webhook      WebhookFields      `json:"webhook"`
	Delivery     DeliveryFields     `json:"delivery"`
	Board        BoardFields        `json:"board"`
	Stage        StageFields        `json:"stage"`
	Card         CardFields         `json:"card"`
}

// Header is the full name of a delivery's header: Header("Signature") is X-Service-Signature.
func (p *Profile) Header(name string) string { return p.HeaderPrefix + "-" + name }

// ListProfile says how a list is wrapped. A bare array needs no setting.
type ListProfile struct {
	Items      Paths `json:"items"`       // the first of these that is an array; else the only array of the answer
	NextCursor Paths `json:"next_cursor"` // where the next page begins
	HasMore    Paths `json:"has_more"`    // false ends the list even where a cursor is given
}

// ObjectProfile says in what a single object may be wrapped, beside a member named for its kind
// ("conversation").
type ObjectProfile struct {
	Wrappers Paths `json:"wrappers"`
}

// ErrorProfile says where an error's code and sentence are, and which codes of a 409 mean what.
type ErrorProfile struct {
	Code    Paths `json:"code"`
	Message Paths `json:"message"`
	// PendingCodes are codes of a 409 that mean a pending reservation, beside those that say so
	// themselves.
	PendingCodes []string `json:"pending_codes"`
}

// pending reports whether a 409 to a call with an Idempotency-Key may mean that the key's
// reservation is still pending. In doubt it returns true, because reading the card first does no
// harm: a code that says nothing, or only mentions idempotency, counts as pending too. Our keys are
// never used with two bodies.
func (p *ErrorProfile) pending(code string) bool {
	code = strings.ToLower(code)
	if code == "" || code == "conflict" || slices.Contains(p.PendingCodes, code) {
		return true
	}
	for _, part := range [...]string{"idempot", "pending", "progress", "processing", "reserv"} {
		if strings.Contains(code, part) {
			return true
		}
	}
	return false
}

// CardProfile says how cards are written, which the reference does not show.
type CardProfile struct {
	Create CardOperation `json:"create"`
	Get    CardOperation `json:"get"` // an empty path: no such operation; the list is searched
	Update CardOperation `json:"update"`
	Move   CardOperation `json:"move"`

	WriteScope string `json:"write_scope"`
	// VersionIn says where a card's version goes: "header" (If-Match), "body" (a field named version)
	// or "both".
	VersionIn string `json:"version_in"`
	// IfMatch is how the header writes it: "quoted", "bare", or "auto": as the service writes its
	// ETag. Until the service has sent one, the header is omitted if the body has the version too, and
	// quoted otherwise.
	IfMatch string `json:"if_match"`
	// DueFormat says how a due date is written: "rfc3339" or "date".
	DueFormat string `json:"due_format"`
	// SearchStatus is the value of the list's status filter that shows every card.
	SearchStatus string `json:"search_status"`
}

// CardOperation is the method, the path and the field names of one card operation. Body maps our
// name of a field to the service's; a field that is not in it is not sent.
type CardOperation struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Body   map[string]string `json:"body"`
}

func (c *CardProfile) operation(o CardOperation) Operation {
	scope := c.WriteScope
	if o.Method == "GET" {
		scope = opListCards.Scope
	}
	return Operation{Method: o.Method, Path: o.Path, Scope: scope}
}

// EventProfile says where the data of a webhook event has its objects.
type EventProfile struct {
	Conversation   Paths `json:"conversation"`
	ConversationID Paths `json:"conversation_id"`
	Contact        Paths `json:"contact"`
	ContactID      Paths `json:"contact_id"`
	Message        Paths `json:"message"`
	MessageID      Paths `json:"message_id"`
	Attendance     Paths `json:"attendance"`
	AttendanceID   Paths `json:"attendance_id"`
	Card           Paths `json:"card"`
	CardID         Paths `json:"card_id"`

	// Self names the kind of object that the data itself is, by the beginning of the event's type,
	// where no path above finds that kind: the data of message.received may be the message.
	Self map[string]string `json:"self"`

	FromStageID Paths `json:"from_stage_id"`
	ToStageID   Paths `json:"to_stage_id"`
	MovedBy     Paths `json:"moved_by"`
	Changed     Paths `json:"changed"`
}
