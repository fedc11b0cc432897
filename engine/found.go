package engine

import (
	"context"
	"errors"
	"time"

	"github.com/quandohq/quando/rules"
)

// A Finder is a journal that takes events which nobody told of, and knows them again when somebody does.
type Finder interface {
	// AcceptFound records events that were found, unless one that tells of the same is recorded already. An event that is accepted afterwards and tells
	// of the same is taken for a duplicate. Among events that were told, only their ids count.
	AcceptFound(ctx context.Context, found []rules.Finding) (fresh []bool, err error)

	// CountFound returns how many events were found since a time, by their types.
	CountFound(ctx context.Context, workspace string, since time.Time) (map[string]int, error)

	// Seen returns what was last seen of things of a kind, by their ids. SetSeen keeps that, and forgets those with an empty value. What has not been set for
	// as long as the ids of events are kept is forgotten.
	Seen(ctx context.Context, workspace, kind string) (map[string]string, error)
	SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error
}

var errNoFinder = errors.New("the journal cannot take events that were found")

// AcceptFound records events that nobody told of, unless they are known. When it returns they are on disk, and no rule has run yet.
func (e *Engine) AcceptFound(ctx context.Context, found ...rules.Finding) ([]bool, error) {
	finder, ok := e.journal.(Finder)
	if !ok {
		return nil, errNoFinder
	}
	fresh, err := finder.AcceptFound(ctx, found)
	if err == nil {
		e.wake()
	}
	return fresh, err
}

// Behind returns how long the longest due lane has waited for a worker; 0 when none has. What is done beside the work of rules waits for that.
func (e *Engine) Behind(ctx context.Context, now time.Time) (time.Duration, error) {
	due, err := e.journal.Due(ctx, e.pausedWorkspaces())
	if err != nil || due.IsZero() {
		return 0, err
	}
	return max(0, now.Sub(due)), nil
}
