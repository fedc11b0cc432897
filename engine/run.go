package engine

import (
	"context"
	"time"
)

// Tick does everything that is due at a time, and returns when there will be something again; the zero time is when somebody says so.
// Time stands still meanwhile.
func (e *Engine) Tick(ctx context.Context, now time.Time) (next time.Time, err error) {
	return time.Time{}, nil
}

// Run works until ctx ends, then lets the calls under way come to an end. It returns nil after a clean stop.
func (e *Engine) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
