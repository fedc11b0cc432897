// Package triggers turns outside happenings into events.
package triggers

import (
	"context"

	"github.com/quandohq/quando/rules"
)

// A Sink records events. It returns for each whether it is new, and returns only when all of them
// are on disk: whoever told of them may then be answered. An error means that none of them can be
// relied upon to be recorded.
type Sink func(ctx context.Context, events ...rules.Event) (fresh []bool, err error)

// A Source runs until ctx ends and gives what happens to the sink. It returns nil after a clean
// stop.
type Source interface {
	Run(ctx context.Context, to Sink) error
}
