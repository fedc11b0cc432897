package engine

import (
	"context"
	"iter"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

// A Workspace is one company: what its rules can do, what they can know, and what bounds them.
type Workspace struct {
	Name     string // "default", unless there are several
	Actions  *actions.Registry
	Desk     Desk
	Location *time.Location // of schedules that name no zone; nil is UTC
	Safety   Safety

	// Timeout is how long a call may be under way: one that has no receipt is settled after it, not
	// before. 10 seconds by default.
	Timeout time.Duration

	// Ahead is how far the service's clock is ahead of the engine's; nil is not at all.
	Ahead func() time.Duration

	// Recovery is how long waits are held at most whose time ended while no engine was there, where an
	// event could end them or their run: it may have come in time and not have been told, or not yet.
	// Recovered ends that. 0 is that they are not held.
	Recovery time.Duration
	// Away is told when no engine was there, or may have been, until a moment ago: at the start, and
	// after a machine has slept. It must not block. Nil is nobody.
	Away func()
}

// Safety bounds the automatic messages of a workspace. At a bound the rule that wants to send is
// paused. Zero values do not bound.
type Safety struct {
	PerConversation Bound
	Messages        Bound
}

// A Bound is so many in any window of a length.
type Bound struct {
	Times int
	Per   time.Duration
}

// A Desk tells what rules want to know of the service. Errors are marked as those of actions are:
// without a mark, asking again later may help.
type Desk interface {
	// Read returns the facts that an event carries (message, conversation, contact, attendance, card)
	// and the ids of what it is about.
	Read(ctx context.Context, e rules.Event) (facts actions.Carried, about actions.Subject, err error)

	// Fact fetches a fact afresh. It may have to find out first what there is: about is completed by
	// what was learnt. It is nil where there is none. An attendance is the one that about names, else
	// the conversation's present one.
	Fact(ctx context.Context, name string, about *actions.Subject) (any, error)

	// HumanActive reports whether somebody of the team has written in the conversation since a time.
	HumanActive(ctx context.Context, conversation string, since time.Time) (bool, error)

	// WaitingSince returns when the customer wrote the oldest message that nobody of the team has
	// answered; the zero time when there is none.
	WaitingSince(ctx context.Context, conversation string) (time.Time, error)

	// HasLabel reports whether a label is among those of a conversation, a contact or a card, by its
	// ids in a fact's label_ids.
	HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error)

	// Items goes through what a schedule's each names. The filters' names are those of the rule
	// language, their values are rendered.
	Items(ctx context.Context, each string, where map[string]any) iter.Seq2[Item, error]

	// Probe reports whether the service takes the key.
	Probe(ctx context.Context) error
}

// An Item is one thing that a schedule's each has found.
type Item = actions.Item
