package engine

import (
	"context"
	"time"
)

// Runs reports whether events are decided on as they arrive.
func (e *Engine) Runs() bool {
	e.crew.mu.RLock()
	defer e.crew.mu.RUnlock()
	return e.crew.open
}

// DecideAtOnce lets an engine that is ticked decide on events as they arrive, as one that runs by itself does. Wait waits for what is under way.
func (e *Engine) DecideAtOnce(clock func() time.Time) (wait, end func()) {
	for range e.options.Workers {
		e.free <- struct{}{}
	}
	e.crew.begin(context.Background(), context.Background(), clock)
	return e.crew.visits.Wait, func() {
		e.crew.end()
		for range e.options.Workers {
			<-e.free
		}
	}
}
