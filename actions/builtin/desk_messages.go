package builtin

import (
	"context"
	"time"

	"github.com/quandohq/quando/service"
)

// maxLookBack is how many messages of a conversation are looked at, from the newest on: ten pages.
const maxLookBack = 1000

// HumanActive reports whether somebody of the team has written in a conversation since a time. The
// engine's own messages do not count. To write over a person is worse than to stay silent, so in
// doubt somebody has: a message of which the service does not tell who wrote it, or when, counts,
// and so does what lies behind the newest thousand messages.
func (d *Desk) HumanActive(ctx context.Context, conversation string, since time.Time) (bool, error) {
	n := 0
	for m, err := range d.desk.Messages(ctx, conversation, "") {
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

// WaitingSince returns when the customer wrote the oldest message that nobody of the team has
// answered; the zero time when there is none. An automatic message is no answer. One of which the
// service does not tell who wrote it is taken for an answer, and of more than a thousand messages
// without one the oldest of the newest thousand counts.
func (d *Desk) WaitingSince(ctx context.Context, conversation string) (time.Time, error) {
	var since time.Time
	n := 0
	for m, err := range d.desk.Messages(ctx, conversation, "") {
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

const (
	byCustomer = "customer"
	byTeam     = "team"
)

// writer tells who wrote a message; in doubt the team.
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
