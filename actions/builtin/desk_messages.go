package builtin

import (
	"context"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// maxLookBack is how many messages of a conversation are read, from the newest on: ten pages.
const maxLookBack = 1000

// HumanActive reports whether a member of the team has written in a conversation since a time. The
// engine's own messages do not count. Interrupting a person is worse than staying silent, so in
// doubt the answer is yes: a message without a sender or a time counts, and so does everything
// beyond the newest thousand messages.
func (d *Desk) HumanActive(ctx context.Context, conversation string, since time.Time) (bool, error) {
	n := 0
	for m, err := range d.desk.client.Messages(ctx, conversation, "") {
		if err != nil {
			return false, failedToRead(service.KindConversation, conversation, err)
		}
		if !m.CreatedAt.IsZero() && m.CreatedAt.Before(since) {
			return false, nil
		}
		by, err := d.writer(ctx, m)
		if err != nil {
			return false, err
		}
		if n++; by == byTeam || n >= maxLookBack {
			return true, nil
		}
	}
	return false, nil
}

// WaitingSince returns when the customer wrote the oldest message that the team has not answered;
// the zero time if there is none. An automatic message is no answer. A message without a sender
// counts as an answer. If there is no answer among the newest thousand messages, the
// customer's oldest of these counts, if any.
func (d *Desk) WaitingSince(ctx context.Context, conversation string) (time.Time, error) {
	var since time.Time
	n := 0
	for m, err := range d.desk.client.Messages(ctx, conversation, "") {
		if err != nil {
			return time.Time{}, failedToRead(service.KindConversation, conversation, err)
		}
		by, err := d.writer(ctx, m)
		if err != nil {
			return time.Time{}, err
		}
		if by == byCustomer && !m.CreatedAt.IsZero() {
			since = m.CreatedAt
		}
		if n++; by == byTeam || n >= maxLookBack {
			break
		}
	}
	return since, nil
}

// Received returns the customer's messages in a conversation since a time, as the events that the
// service raises for them, oldest first. A message without a time counts as new.
func (d *Desk) Received(ctx context.Context, conversation string, since time.Time) ([]rules.Event, error) {
	var list []rules.Event
	n := 0
	for m, err := range d.desk.client.Messages(ctx, conversation, "") {
		if err != nil {
			return nil, failedToRead(service.KindConversation, conversation, err)
		}
		if n++; !m.CreatedAt.IsZero() && m.CreatedAt.Before(since) || n > maxLookBack {
			break
		}
		if m.Direction == service.Inbound {
			data := d.desk.Profile().EventData(vocabulary.MessageReceived, service.Objects{service.KindMessage: m.Raw})
			list = append(list, rules.Event{Type: vocabulary.MessageReceived, CreatedAt: m.CreatedAt, Data: data})
		}
	}
	slices.Reverse(list)
	return list, nil
}

const (
	byCustomer = "customer"
	byTeam     = "team"
)

// writer returns who wrote a message; in doubt the team.
func (d *Desk) writer(ctx context.Context, m service.Message) (any, error) {
	fact, err := d.desk.facts.Message(ctx, m)
	if err != nil {
		return nil, failedTo("find out who wrote the message "+m.ID, err)
	}
	if fact["by"] == nil {
		return byTeam, nil
	}
	return fact["by"], nil
}
