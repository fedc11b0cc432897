package engine

import (
	"context"
	"iter"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// A Workspace is one company: what its rules can do, what they can know, and what bounds them.
type Workspace struct {
	Name     string // "default", unless there are several
	Actions  *actions.Registry
	Desk     Desk
	Location *time.Location // for schedules that name no zone; nil means UTC
	Safety   Safety

	// Timeout is how long a call may be in flight: a call without a receipt is settled after it, not
	// before. 10 seconds by default.
	Timeout time.Duration

	// Ahead returns how far the service's clock is ahead of the engine's; nil means not at all.
	Ahead func() time.Duration

	// Recovery bounds how long a wait is held if its deadline passed while no engine was running and
	// an event could end it or its run: the event may have come in time and not be known yet.
	// Recovered ends this. 0 means that waits are not held.
	Recovery time.Duration
	// Away is called when no engine was running until a moment ago, or perhaps none: at the start, and
	// after the machine was suspended. It must not block. It may be nil.
	Away func()
}

// Safety bounds the automatic messages of a workspace. At a bound, the rule that wants to send is
// put on hold. Zero values do not bound.
type Safety struct {
	PerConversation duration.Rate
	Messages        duration.Rate

	// Internal returns whose chat something is in, if it is one of the company's own, such as a
	// supervisor's; empty if it is a customer's. Messages to such a chat are not counted, and its
	// events start no rules. It may have to ask for the contact. It may be nil.
	Internal func(ctx context.Context, about actions.Subject, contact func() (any, error)) (whose string, err error)

	// Alert reports whether a message with this client_id is an alert to the team, which is sent
	// beside the rules and starts none. It may be nil.
	Alert func(clientID string) bool
}

// DefaultSafety are the bounds of a workspace that names no others.
var DefaultSafety = Safety{PerConversation: duration.Rate{Times: 5, Per: 10 * time.Minute}, Messages: duration.Rate{Times: 2000, Per: time.Hour}}

// A Desk answers what rules ask about the service. Its errors are marked like those of actions:
// without a mark, asking again later may help.
type Desk interface {
	// Read returns the facts that an event carries (message, conversation, contact, attendance, card)
	// and the ids of what it is about.
	Read(ctx context.Context, e rules.Event) (facts actions.Carried, about actions.Subject, err error)

	// Fact fetches a fact anew. It may have to look up ids first, and completes about with what it
	// finds. The result is nil if there is none. An attendance is the one that about names, otherwise
	// the conversation's present one.
	Fact(ctx context.Context, name string, about *actions.Subject) (any, error)

	// HumanActive reports whether a member of the team has written in the conversation since a time.
	HumanActive(ctx context.Context, conversation string, since time.Time) (bool, error)

	// WaitingSince returns when the customer wrote the oldest message that the team has not answered;
	// the zero time if there is none.
	WaitingSince(ctx context.Context, conversation string) (time.Time, error)

	// Received returns the customer's messages in a conversation since a time, as the events that the
	// service raises for them, oldest first.
	Received(ctx context.Context, conversation string, since time.Time) ([]rules.Event, error)

	// HasLabel reports whether a conversation, a contact or a card has a label, by the ids in a fact's
	// label_ids.
	HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error)

	// LabelNames returns the names of the labels in a fact's label_ids, without the unknown ones.
	LabelNames(ctx context.Context, fact map[string]any) ([]any, error)

	// Items yields what a schedule's each names. The filters' names are those of the rule language,
	// their values are rendered.
	Items(ctx context.Context, each string, where map[string]any) iter.Seq2[Item, error]

	// Probe returns nil if the service accepts the key.
	Probe(ctx context.Context) error
}

// An Item is one thing that a schedule's each has found.
type Item = actions.Item
