package engine

import (
	"context"
	"time"
)

// Runs reports whether events are decided on as they arrive.
func (e *Engine) Runs() bool {
	e.workers.mu.RLock()
	defer e.workers.mu.RUnlock()
	return e.workers.open
}

// DecideAtOnce lets an engine that is ticked decide on events as they arrive, as one that runs by
// itself does. Wait waits for what is under way.
func (e *Engine) DecideAtOnce(clock func() time.Time) (wait, end func()) {
	e.workers.begin(context.Background(), context.Background(), clock)
	return e.workers.visits.Wait, e.workers.end
}
