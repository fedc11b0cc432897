package engine

import (
	"context"
	"time"
)

// Runs reports whether arriving events are decided at once.
func (e *Engine) Runs() bool {
	e.workers.mu.RLock()
	defer e.workers.mu.RUnlock()
	return e.workers.open
}

// DecideAtOnce makes an engine that is driven by Tick decide arriving events at once, like one with
// Run. wait waits for the visits in progress.
func (e *Engine) DecideAtOnce(clock func() time.Time) (wait, end func()) {
	e.workers.begin(context.Background(), context.Background(), clock)
	return e.workers.visits.Wait, e.workers.end
}
