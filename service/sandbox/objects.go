package sandbox

import "github.com/quandohq/quando/service/sandbox/internal/store"

// The company's objects, with the fields that the API shows.
type (
	// Channel is a WhatsApp number of the company.
	Channel = store.Channel
	// Label marks conversations, contacts and cards.
	Label = store.Label
	// Person is a member of the team.
	Person = store.Person
	// Sector is a part of the company that conversations can be sent to.
	Sector = store.Sector
	// Queue counts the open and unassigned attendances of a sector.
	Queue = store.Queue
	// Rules are the company's attendance rules.
	Rules = store.Rules
	// Contact is a customer.
	Contact = store.Contact
	// Conversation is the exchange with one contact, or a group, on one channel.
	Conversation = store.Conversation
	// LastMessage is what a conversation shows of its newest message.
	LastMessage = store.LastMessage
	// Actor is who did something: a customer, the team or the API.
	Actor = store.Actor
	// Message is one message of a conversation.
	Message = store.Message
	// Media is an uploaded file.
	Media = store.Media
	// Attendance is a support case with a protocol number.
	Attendance = store.Attendance
	// Assignment is an entry of the history of a conversation's responsible persons.
	Assignment = store.Assignment
	// Board is a Kanban board.
	Board = store.Board
	// Stage is a column of a board.
	Stage = store.Stage
	// Card is a card of a board, with the fields that are public.
	Card = store.Card
	// Webhook is an address that receives events.
	Webhook = store.Webhook
	// Delivery is one event to be delivered to one webhook, with the latest attempt.
	Delivery = store.Delivery
	// Key is an API key and what it may do.
	Key = store.Key
	// Effect is one change made through the API.
	Effect = store.Effect
)

// The values that objects are made of.
type (
	// ID is a UUID. The zero ID stands for "none" and is null in JSON.
	ID = store.ID
	// IDs is a list of ids that is [] in JSON when empty, never null.
	IDs = store.IDs
	// Optional is a string whose empty value is null in JSON.
	Optional = store.Optional
	// Number is an integer whose zero value is null in JSON.
	Number = store.Number
	// Instant is a time in milliseconds since 1970. The zero Instant means "not yet".
	Instant = store.Instant
	// Duration is a time.Duration written as Go writes it: "15m", "1h30m".
	Duration = store.Duration
	// Error is a refusal by the service.
	Error = store.Error
)

// ParseID reads a UUID in its usual form of 36 characters.
func ParseID(text string) (ID, error) { return store.ParseID(text) }
