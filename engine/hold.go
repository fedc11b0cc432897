package engine

import (
	"context"
	"time"
)

// holds are what is stopped, as last read.
type holds struct{ list []Hold }

// Pause stops a rule, or with an empty rule a workspace, or with an empty workspace everything, until Resume.
func (e *Engine) Pause(ctx context.Context, now time.Time, workspace, rule, reason string) error {
	return nil
}

// Resume lets go on what a person or a bound has stopped. It reports whether anything was stopped.
func (e *Engine) Resume(ctx context.Context, now time.Time, workspace, rule string) (bool, error) {
	return false, nil
}

// Owns reports whether the engine itself sent a message.
func (e *Engine) Owns(ctx context.Context, workspace, message string) (bool, error) {
	own, err := e.journal.Caused(ctx, workspace, "message.sent", []string{message})
	return len(own) > 0, err
}
