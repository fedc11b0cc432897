package vocabulary

import "slices"

// A Fact is the name under which expressions see something that the service knows.
type Fact = string

// The facts.
const (
	Happening    Fact = "event" // what started the rule
	Message      Fact = "message"
	Conversation Fact = "conversation"
	Contact      Fact = "contact"
	Attendance   Fact = "attendance"
	Card         Fact = "card"
	Messages     Fact = "messages"
	Happenings   Fact = "events"
)

// Who a message is by.
const (
	ByCustomer = "customer"
	ByTeam     = "team"
	ByEngine   = "engine"
)

// Priorities are those that a card can have.
var Priorities = []string{"low", "medium", "high", "urgent"}

// A Type says what a field holds: one of these, or the fact whose name it is.
type Type string

// The types that are no facts.
const (
	Text     Type = "text"
	Texts    Type = "texts"
	Number   Type = "number"
	Flag     Type = "flag"
	Time     Type = "time"
	Duration Type = "duration"
	Anything Type = "anything"
)

// A Field is one field of a fact. Its name is the service's; what the service calls by an id has a
// name beside it where people know it by one.
type Field struct {
	Name   string
	Type   Type
	Doc    string
	Values []string // the only ones that it can have, where they are known
	NameOf string   // the field that has the id of what this one has the name of
}

// A FactRow is what is known of a fact.
type FactRow struct {
	Name    Fact
	Doc     string
	Scope   string // of the call that fetches it where the event does not carry it
	Lasting bool   // it stays what it was when the rule began, after waits and changes too
	ListOf  Fact   // what it is a list of; empty where it is none
	Hint    string // what to do where what starts a rule does not come with it
	Fields  []Field
}

// facts has the facts, in the order in which they are documented.
var facts = []FactRow{
	{Name: Happening, Doc: "what started the rule; with `gather`, the last of them", Lasting: true, Fields: []Field{
		{Name: "id", Type: Text, Doc: "the event's id"},
		{Name: "type", Type: Text, Doc: "the event's name", Values: append([]string{Schedule, Manual}, types...)},
		{Name: "created_at", Type: Time, Doc: "when it happened"},
		{Name: "received_at", Type: Time, Doc: "when the engine received it"},
		{Name: "age", Type: Duration, Doc: "how long ago it happened"},
		{Name: "tenant_id", Type: Text, Doc: "the company's id"},
		{Name: "data", Type: Anything, Doc: "the object as delivered; its fields are not checked"},
		{Name: "message", Type: Type(Message), Doc: "the message, in `message.*`"},
		{Name: "attendance", Type: Type(Attendance), Doc: "the attendance, in `attendance.*`"},
		{Name: "card", Type: Type(Card), Doc: "the card, in `kanban.card.*`"},
	}},
	{Name: Message, Doc: "the message, in `message.*`", Lasting: true, Scope: "messages:read", Fields: []Field{
		{Name: "id", Type: Text, Doc: "the message's id"},
		{Name: "text", Type: Text, Doc: "what was written; with media, the caption"},
		{Name: "media_id", Type: Text, Doc: "the id of the file that came with it, or nil"},
		{Name: "by", Type: Text, Doc: "`customer`, `team` or `engine`", Values: []string{ByCustomer, ByTeam, ByEngine}},
		{Name: "client_id", Type: Text, Doc: "the sender's own id, where it was sent through the API"},
		{Name: "external_id", Type: Text, Doc: "the id in WhatsApp, for `reply_to`"},
		{Name: "reply_to_external_id", Type: Text, Doc: "the external id of the message it answers, or nil"},
		{Name: "conversation_id", Type: Text, Doc: "the id of its conversation"},
		{Name: "created_at", Type: Time, Doc: "when it was written"},
	}},
	{Name: Conversation, Doc: "the conversation", Scope: "conversations:read", Fields: []Field{
		{Name: "id", Type: Text, Doc: "the conversation's id"},
		{Name: "kind", Type: Text, Doc: "`direct` or `group`", Values: []string{"direct", "group"}},
		{Name: "name", Type: Text, Doc: "the conversation's name, or nil"},
		{Name: "archived", Type: Flag, Doc: "whether it is archived"},
		{Name: "pinned", Type: Flag, Doc: "whether it is pinned"},
		{Name: "muted", Type: Flag, Doc: "whether it is muted"},
		{Name: "unread", Type: Flag, Doc: "whether there are unread messages"},
		{Name: "label_ids", Type: Texts, Doc: "the ids of its labels; see `has_label`"},
		{Name: "labels", Type: Texts, Doc: "the names of its labels"},
		{Name: "channel", Type: Text, Doc: "the id of the WhatsApp number"},
		{Name: "channel_name", Type: Text, Doc: "the name of the WhatsApp number, or nil", NameOf: "channel"},
		{Name: "assignee", Type: Text, Doc: "the id of the responsible person, or nil"},
		{Name: "assignee_name", Type: Text, Doc: "that person's name, or nil", NameOf: "assignee"},
		{Name: "sector", Type: Text, Doc: "the id of the sector, or nil"},
		{Name: "sector_name", Type: Text, Doc: "the sector's name, or nil", NameOf: "sector"},
		{Name: "contact_id", Type: Text, Doc: "the id of the contact"},
		{Name: "last_message", Type: Type(Message), Doc: "the newest message, or nil"},
	}},
	{Name: Contact, Doc: "the customer", Scope: "contacts:read", Fields: []Field{
		{Name: "id", Type: Text, Doc: "the contact's id"},
		{Name: "name", Type: Text, Doc: "the contact's name, or nil"},
		{Name: "phone", Type: Text, Doc: "the phone number as the service has it"},
		{Name: "company", Type: Text, Doc: "the company, or nil"},
		{Name: "city", Type: Text, Doc: "the city, or nil"},
		{Name: "channel_id", Type: Text, Doc: "the id of the contact's WhatsApp number"},
		{Name: "label_ids", Type: Texts, Doc: "the ids of the contact's labels; see `contact_has_label`"},
		{Name: "labels", Type: Texts, Doc: "the names of the contact's labels"},
		{Name: "blocked", Type: Flag, Doc: "whether the contact is blocked"},
	}},
	{Name: Attendance, Doc: "the conversation's attendance", Scope: "attendances:read", Fields: []Field{
		{Name: "id", Type: Text, Doc: "the attendance's id"},
		{Name: "protocol", Type: Text, Doc: "the protocol number"},
		{Name: "status", Type: Text, Doc: "`open` or `closed`", Values: []string{"open", "closed"}},
		{Name: "conversation_id", Type: Text, Doc: "the id of its conversation"},
		{Name: "contact_id", Type: Text, Doc: "the id of the contact"},
		{Name: "assignee", Type: Text, Doc: "the id of the responsible person, or nil"},
		{Name: "assignee_name", Type: Text, Doc: "that person's name, or nil", NameOf: "assignee"},
		{Name: "sector", Type: Text, Doc: "the id of the sector, or nil"},
		{Name: "sector_name", Type: Text, Doc: "the sector's name, or nil", NameOf: "sector"},
		{Name: "opened_at", Type: Time, Doc: "when it was opened"},
		{Name: "first_response", Type: Time, Doc: "when the team first answered, or nil"},
		{Name: "closed_at", Type: Time, Doc: "when it was closed, or nil"},
	}},
	{Name: Card, Doc: "the card, in `kanban.card.*`, and after `find_card` or `create_card`", Scope: "read", Hint: "find it first with `find_card`", Fields: []Field{
		{Name: "id", Type: Text, Doc: "the card's id"},
		{Name: "board_id", Type: Text, Doc: "the id of its board"},
		{Name: "board_name", Type: Text, Doc: "the board's name, or nil", NameOf: "board_id"},
		{Name: "stage_id", Type: Text, Doc: "the id of its stage"},
		{Name: "stage_name", Type: Text, Doc: "the stage's name, or nil", NameOf: "stage_id"},
		{Name: "title", Type: Text, Doc: "the title"},
		{Name: "description", Type: Text, Doc: "the description, or nil"},
		{Name: "priority", Type: Text, Doc: "`low`, `medium`, `high` or `urgent`", Values: Priorities},
		{Name: "label_ids", Type: Texts, Doc: "the ids of its labels"},
		{Name: "due", Type: Time, Doc: "the due date, or nil"},
		{Name: "version", Type: Text, Doc: "the version that a change must name"},
		{Name: "contact_id", Type: Text, Doc: "the id of the contact, or nil"},
		{Name: "conversation_id", Type: Text, Doc: "the id of the conversation, or nil"},
		{Name: "attendance_id", Type: Text, Doc: "the id of the attendance, or nil"},
		{Name: "from_stage_id", Type: Text, Doc: "in `kanban.card.moved`: the id of the stage it left"},
		{Name: "from_stage_name", Type: Text, Doc: "in `kanban.card.moved`: the name of the stage it left, or nil", NameOf: "from_stage_id"},
		{Name: "moved_by", Type: Text, Doc: "in `kanban.card.moved`: the id of who moved it"},
	}},
	{Name: Messages, Doc: "what `gather` collected", Lasting: true, ListOf: Message, Hint: "add `gather` to the rule"},
	{Name: Happenings, Doc: "what `gather` collected", Lasting: true, ListOf: Happening, Hint: "add `gather` to the rule"},
}

// Facts returns the facts, in the order in which they are documented.
func Facts() []FactRow { return slices.Clone(facts) }

// FactOf returns what is known of a fact, or nil.
func FactOf(name Fact) *FactRow {
	for i := range facts {
		if facts[i].Name == name {
			return &facts[i]
		}
	}
	return nil
}

// A Named is a field with an id, and the field beside it with the name of what has that id.
type Named struct {
	Fact     Fact
	ID, Name string
}

// NamedFields returns the fields with an id that have one with a name beside them.
func NamedFields() (list []Named) {
	for _, f := range facts {
		for _, field := range f.Fields {
			if field.NameOf != "" {
				list = append(list, Named{f.Name, field.NameOf, field.Name})
			}
		}
	}
	return list
}
