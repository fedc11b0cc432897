package rules

import "slices"

// An EventKind is something that can start a rule, for editors.
type EventKind struct {
	Name  string
	Doc   string
	Facts []string // that come with it
}

// The events of the service, in the order of its reference.
var (
	eventKinds = []EventKind{
		{Name: "message.received", Doc: "a customer wrote"},
		{Name: "message.sent", Doc: "a message left: from the app, the phone or the API"},
		{Name: "conversation.updated", Doc: "the conversation changed: its responsible person, its sector, its labels"},
		{Name: "attendance.opened", Doc: "an attendance was opened"},
		{Name: "attendance.closed", Doc: "an attendance was closed"},
		{Name: "kanban.card.created", Doc: "a card was created"},
		{Name: "kanban.card.moved", Doc: "a card was moved to another stage"},
		{Name: "kanban.card.completed", Doc: "a card came to a winning stage"},
	}
	eventNames = func() (names []string) {
		for _, e := range eventKinds {
			names = append(names, e.Name)
		}
		return names
	}()
)

// EventNames returns the names of the service's events.
func EventNames() []string { return slices.Clone(eventNames) }

// EventKinds returns what can start a rule, beside a schedule: the service's events, and a person.
func EventKinds() []EventKind {
	kinds := append(slices.Clone(eventKinds), EventKind{Name: "manual", Doc: "a person starts it with `quando fire`"})
	for i := range kinds {
		kinds[i].Facts = factsOf(kinds[i].Name)
	}
	return kinds
}

// Fact types. The names are the service's; what the service calls by an id has a name beside it where people know it by one.
var (
	// MessageType is one message of a conversation.
	MessageType = Object(
		Field{"id", Text, "the message's id", nil},
		Field{"text", Text, "what was written; with media, the caption", nil},
		Field{"media_id", Text, "the id of the file that came with it, or nil", nil},
		Field{"by", Text, "`customer`, `team` or `engine`", []string{"customer", "team", "engine"}},
		Field{"client_id", Text, "the sender's own id, where it was sent through the API", nil},
		Field{"external_id", Text, "the id in WhatsApp, for `reply_to`", nil},
		Field{"reply_to_external_id", Text, "the external id of the message it answers, or nil", nil},
		Field{"conversation_id", Text, "the id of its conversation", nil},
		Field{"created_at", Time, "when it was written", nil},
	)
	// ConversationType is a conversation with one customer or group.
	ConversationType = Object(
		Field{"id", Text, "the conversation's id", nil},
		Field{"kind", Text, "`direct` or `group`", []string{"direct", "group"}},
		Field{"name", Text, "the conversation's name", nil},
		Field{"archived", Flag, "whether it is archived", nil},
		Field{"pinned", Flag, "whether it is pinned", nil},
		Field{"muted", Flag, "whether it is muted", nil},
		Field{"unread", Flag, "whether there are unread messages", nil},
		Field{"label_ids", ListOf(Text), "the ids of its labels; see `has_label`", nil},
		Field{"channel", Text, "the id of the WhatsApp number", nil},
		Field{"channel_name", Text, "the name of the WhatsApp number", nil},
		Field{"assignee", Text, "the id of the responsible person, or nil", nil},
		Field{"assignee_name", Text, "that person's name, or nil", nil},
		Field{"sector", Text, "the id of the sector, or nil", nil},
		Field{"sector_name", Text, "the sector's name, or nil", nil},
		Field{"contact_id", Text, "the id of the contact", nil},
		Field{"last_message", MessageType, "the newest message, or nil", nil},
	)
	// ContactType is a customer.
	ContactType = Object(
		Field{"id", Text, "the contact's id", nil},
		Field{"name", Text, "the contact's name", nil},
		Field{"phone", Text, "the phone number as the service has it", nil},
		Field{"company", Text, "the company, or nil", nil},
		Field{"city", Text, "the city, or nil", nil},
		Field{"channel_id", Text, "the id of the contact's WhatsApp number", nil},
		Field{"label_ids", ListOf(Text), "the ids of the contact's labels", nil},
		Field{"blocked", Flag, "whether the contact is blocked", nil},
	)
	// AttendanceType is a support case with a protocol number.
	AttendanceType = Object(
		Field{"id", Text, "the attendance's id", nil},
		Field{"protocol", Text, "the protocol number", nil},
		Field{"status", Text, "`open` or `closed`", []string{"open", "closed"}},
		Field{"conversation_id", Text, "the id of its conversation", nil},
		Field{"contact_id", Text, "the id of the contact", nil},
		Field{"assignee", Text, "the id of the responsible person, or nil", nil},
		Field{"assignee_name", Text, "that person's name, or nil", nil},
		Field{"sector", Text, "the id of the sector, or nil", nil},
		Field{"sector_name", Text, "the sector's name, or nil", nil},
		Field{"opened_at", Time, "when it was opened", nil},
		Field{"first_response", Time, "when the team first answered, or nil", nil},
		Field{"closed_at", Time, "when it was closed, or nil", nil},
	)
	// CardType is a card of a Kanban board.
	CardType = Object(
		Field{"id", Text, "the card's id", nil},
		Field{"board_id", Text, "the id of its board", nil},
		Field{"board_name", Text, "the board's name", nil},
		Field{"stage_id", Text, "the id of its stage", nil},
		Field{"stage_name", Text, "the stage's name", nil},
		Field{"title", Text, "the title", nil},
		Field{"description", Text, "the description, or nil", nil},
		Field{"priority", Text, "`low`, `medium`, `high` or `urgent`", priorities},
		Field{"label_ids", ListOf(Text), "the ids of its labels", nil},
		Field{"due", Time, "the due date, or nil", nil},
		Field{"version", Text, "the version that a change must name", nil},
		Field{"contact_id", Text, "the id of the contact, or nil", nil},
		Field{"conversation_id", Text, "the id of the conversation, or nil", nil},
		Field{"attendance_id", Text, "the id of the attendance, or nil", nil},
		Field{"from_stage_id", Text, "in `kanban.card.moved`: the id of the stage it left", nil},
		Field{"from_stage_name", Text, "in `kanban.card.moved`: the name of the stage it left", nil},
		Field{"moved_by", Text, "in `kanban.card.moved`: the id of who moved it", nil},
	)
	// AssignmentType is one entry of a conversation's history of responsible persons.
	AssignmentType = Object(
		Field{"action", Text, "who did what: `taken`, `received` or `handed_back`", nil},
		Field{"person", Text, "the id of the person it went to, or nil", nil},
		Field{"sector", Text, "the id of the sector it went to, or nil", nil},
		Field{"reason", Text, "the reason given, or nil", nil},
		Field{"at", Time, "when", nil},
	)
	// ReportType is the manager report's totals of a period.
	ReportType = Object(
		Field{"opened", Number, "attendances opened", nil},
		Field{"closed", Number, "attendances closed", nil},
		Field{"first_response_seconds", Number, "the mean time to the first response, or nil", nil},
		Field{"resolution_seconds", Number, "the mean time to the closing, or nil", nil},
		Field{"by_person", ListOf(Anything), "the same per person", nil},
		Field{"by_sector", ListOf(Anything), "the same per sector", nil},
		Field{"by_day", ListOf(Anything), "the same per day", nil},
	)
	eventFields = []Field{
		{"id", Text, "the event's id", nil},
		{"type", Text, "the event's name", append([]string{"schedule", "manual"}, eventNames...)},
		{"created_at", Time, "when it happened", nil},
		{"received_at", Time, "when the engine received it", nil},
		{"age", Duration, "how long ago it happened", nil},
		{"tenant_id", Text, "the company's id", nil},
		{"data", Anything, "the object as delivered; its fields are not checked", nil},
	}
	// EventType is a happening, with what it is about.
	EventType = Object(append(slices.Clone(eventFields),
		Field{"message", MessageType, "the message, in `message.*`", nil},
		Field{"attendance", AttendanceType, "the attendance, in `attendance.*`", nil},
		Field{"card", CardType, "the card, in `kanban.card.*`", nil},
	)...)
)

// facts are the names that every expression may see, provided that what started the rule has them.
var facts = []Field{
	{"event", EventType, "what started the rule; with `gather`, the last of them", nil},
	{"message", MessageType, "the message, in `message.*`", nil},
	{"conversation", ConversationType, "the conversation", nil},
	{"contact", ContactType, "the customer", nil},
	{"attendance", AttendanceType, "the conversation's attendance", nil},
	{"card", CardType, "the card, in `kanban.card.*`, and after `find_card` or `create_card`", nil},
	{"messages", ListOf(MessageType), "what `gather` collected", nil},
	{"events", ListOf(EventType), "what `gather` collected", nil},
}

// FactTypes returns the names that expressions may see, with their types.
func FactTypes() []Field { return slices.Clone(facts) }

func factType(name string) *Type {
	for _, f := range facts {
		if f.Name == name {
			return f.Type
		}
	}
	return nil
}

// factsOf returns the facts that come with an event, or with an item of a schedule's each.
func factsOf(source string) []string {
	switch source {
	case "message.received", "message.sent":
		return []string{"event", "message", "conversation", "contact", "attendance"}
	case "conversation.updated", "attendance.opened", "attendance.closed":
		return []string{"event", "conversation", "contact", "attendance"}
	case "kanban.card.created", "kanban.card.moved", "kanban.card.completed":
		return []string{"event", "card", "conversation", "contact", "attendance"}
	case "manual":
		return []string{"event", "message", "conversation", "contact", "attendance", "card"}
	case "attendances", "conversations":
		return []string{"event", "conversation", "contact", "attendance"}
	case "contacts":
		return []string{"event", "contact"}
	case "cards":
		return []string{"event", "card", "conversation", "contact", "attendance"}
	}
	return []string{"event"}
}

// readScopes are the scopes of the calls that fetch a fact which an event does not carry.
var readScopes = map[string]string{
	"conversation": "conversations:read", "contact": "contacts:read", "attendance": "attendances:read",
	"message": "messages:read", "card": "read",
}
