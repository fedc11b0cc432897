// Package vocabulary has the events and the facts that rules know, in one table each. Whoever lists
// them, or asks what one of them is like, reads the tables.
package vocabulary

import (
	"slices"
	"strings"
)

// An EventType is the name of a kind of event.
type EventType = string

// The events of the service, and what starts a rule besides.
const (
	MessageReceived     EventType = "message.received"
	MessageSent         EventType = "message.sent"
	ConversationUpdated EventType = "conversation.updated"
	AttendanceOpened    EventType = "attendance.opened"
	AttendanceClosed    EventType = "attendance.closed"
	CardCreated         EventType = "kanban.card.created"
	CardMoved           EventType = "kanban.card.moved"
	CardCompleted       EventType = "kanban.card.completed"

	Schedule EventType = "schedule" // a tick
	Manual   EventType = "manual"   // a person's command
)

// An Event is what is known of a type of event.
type Event struct {
	Type  EventType
	Doc   string    // what happened
	Name  [2]string // what it is called, in English and in Portuguese
	When  [2]string // what happens when it starts a rule, in both
	About Fact      // the object that it happened to
	Facts []Fact    // that come with it

	// By are the values that message.by can have in it; engine only where a rule hears of what
	// rules send.
	By []string

	Often      string // what a rule that writes each time writes to; empty where that is seldom
	Own        bool   // a rule's own call can cause it
	Documented bool   // the service's reference allows it in a subscription; others where it lists them
	Findable   bool   // it leaves something behind by which the backfill finds it
	ToStage    bool   // it can happen to the same object again, in another stage
}

// events has the service's events, in the order of its reference.
var events = []Event{
	{
		Type: MessageReceived, Doc: "a customer wrote",
		Name:  [2]string{"message received", "mensagem recebida"},
		When:  [2]string{"a customer writes", "um cliente escreve"},
		About: Message, Facts: []Fact{Happening, Message, Conversation, Contact, Attendance},
		By: []string{ByCustomer}, Often: "to every message", Documented: true, Findable: true,
	},
	{
		Type: MessageSent, Doc: "a message left: from the app, the phone or the API",
		Name:  [2]string{"message sent", "mensagem enviada"},
		When:  [2]string{"a message is sent", "uma mensagem é enviada"},
		About: Message, Facts: []Fact{Happening, Message, Conversation, Contact, Attendance},
		By: []string{ByTeam, ByEngine}, Often: "to every message of the team", Own: true, Documented: true, Findable: true,
	},
	{
		Type: ConversationUpdated, Doc: "the conversation changed: its responsible person, its sector, its labels",
		Name:  [2]string{"conversation changed", "conversa alterada"},
		When:  [2]string{"a conversation changes", "uma conversa muda"},
		About: Conversation, Facts: []Fact{Happening, Conversation, Contact, Attendance},
		Often: "whenever the conversation changes, which is often", Own: true, Documented: true,
	},
	{
		Type: AttendanceOpened, Doc: "an attendance was opened",
		Name:  [2]string{"attendance opened", "atendimento aberto"},
		When:  [2]string{"an attendance is opened", "um atendimento é aberto"},
		About: Attendance, Facts: []Fact{Happening, Conversation, Contact, Attendance},
		Own: true, Documented: true, Findable: true,
	},
	{
		Type: AttendanceClosed, Doc: "an attendance was closed",
		Name:  [2]string{"attendance closed", "atendimento encerrado"},
		When:  [2]string{"an attendance is closed", "um atendimento é encerrado"},
		About: Attendance, Facts: []Fact{Happening, Conversation, Contact, Attendance},
		Own: true, Documented: true, Findable: true,
	},
	{
		Type: CardCreated, Doc: "a card was created",
		Name:  [2]string{"card created", "cartão criado"},
		When:  [2]string{"a card is created", "um cartão é criado"},
		About: Card, Facts: []Fact{Happening, Card, Conversation, Contact, Attendance},
		Own: true, Findable: true,
	},
	{
		Type: CardMoved, Doc: "a card was moved to another stage",
		Name:  [2]string{"card moved", "cartão movido"},
		When:  [2]string{"a card is moved", "um cartão é movido"},
		About: Card, Facts: []Fact{Happening, Card, Conversation, Contact, Attendance},
		Own: true, Findable: true, ToStage: true,
	},
	{
		Type: CardCompleted, Doc: "a card came to a winning stage",
		Name:  [2]string{"card completed", "cartão concluído"},
		When:  [2]string{"a card is completed", "um cartão é concluído"},
		About: Card, Facts: []Fact{Happening, Card, Conversation, Contact, Attendance},
		Own: true, Findable: true,
	},
}

// patterns are what a rule may write for several events.
var patterns = []string{"kanban.card.*", "kanban.*", "message.*", "conversation.*", "attendance.*"}

// started has what starts a rule and is no event of the service.
var started = []Event{
	{Type: Schedule, Doc: "a schedule ticked", Name: [2]string{"schedule", "agenda"}, Facts: []Fact{Happening}},
	{
		Type: Manual, Doc: "a person starts it with `quando fire`", Name: [2]string{"started by hand", "iniciado à mão"},
		When:  [2]string{"somebody starts it by hand", "alguém a inicia à mão"},
		Facts: []Fact{Happening, Message, Conversation, Contact, Attendance, Card},
	},
}

var types = typesOf(func(*Event) bool { return true })

// Events returns the service's events, in the order of its reference.
func Events() []Event { return slices.Clone(events) }

// EventTypes returns the types of the service's events, in the same order.
func EventTypes() []EventType { return slices.Clone(types) }

// AllEventTypes returns these and the types of what else starts a rule.
func AllEventTypes() []EventType { return append(EventTypes(), Schedule, Manual) }

// EventPatterns returns what a rule may write for several events.
func EventPatterns() []string { return slices.Clone(patterns) }

// EventOf returns what is known of a type of event, those included that are none of the service's;
// nil where it is not known.
func EventOf(typ EventType) *Event {
	for _, list := range [...][]Event{events, started} {
		for i := range list {
			if list[i].Type == typ {
				return &list[i]
			}
		}
	}
	return nil
}

// DocumentedEvents returns the events that the service's reference allows in a subscription.
func DocumentedEvents() []EventType { return typesOf(func(e *Event) bool { return e.Documented }) }

// FindableEvents returns the events about objects of a kind that can be found by what the service
// shows of these.
func FindableEvents(about Fact) []EventType {
	return typesOf(func(e *Event) bool { return e.Findable && e.About == about })
}

// ObjectOf names the fact that an event is about. The beginning of its type tells it of one that is
// not known.
func ObjectOf(typ EventType) Fact {
	if e := EventOf(typ); e != nil && e.About != "" {
		return e.About
	}
	kind, _, _ := strings.Cut(typ, ".")
	if kind == "kanban" {
		return Card
	}
	return kind
}

func typesOf(take func(*Event) bool) (list []EventType) {
	for i := range events {
		if take(&events[i]) {
			list = append(list, events[i].Type)
		}
	}
	return list
}
