package engine

import (
	"context"
	"errors"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var errNoFinder = errors.New("the journal cannot take events that were found")

// AcceptFound records events that no webhook delivered, unless they are known. When it returns they
// are on disk, and no rule has run yet.
func (e *Engine) AcceptFound(ctx context.Context, found ...rules.Finding) ([]bool, error) {
	finder, ok := e.journal.(journal.Finder)
	if !ok {
		return nil, errNoFinder
	}
	fresh, err := finder.AcceptFound(ctx, found)
	if err == nil {
		e.wake()
	}
	return fresh, err
}

// Behind returns for how long the longest due lane has waited for a worker; 0 if none waits.
// Background work uses it to give way to rules.
func (e *Engine) Behind(ctx context.Context, now time.Time) (time.Duration, error) {
	due, err := e.journal.Due(ctx, e.pausedWorkspaces())
	if err != nil || due.IsZero() {
		return 0, err
	}
	return max(0, now.Sub(due)), nil
}
