package rules

import "time"

// LaneOf names the lane of a thing: a conversation, a card, an attendance.
func LaneOf(kind, id string) string { return kind + ":" + id }

// An Event is something that happened outside: a webhook of the service, a schedule's tick, a person's command.
type Event struct {
	Workspace  string
	ID         string
	Type       string
	Tenant     string // the company, as the service names it
	Rule       string // the one rule that it is for, as a schedule's tick is; empty is every rule that wants it
	Lane       string // what it concerns; events of one lane are handled in order
	CreatedAt  time.Time
	ReceivedAt time.Time
	Data       map[string]any
}
