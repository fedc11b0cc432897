package engine

import (
	"context"
	"time"
)

// Runs reports whether events are decided on as they arrive.
func (e *Engine) Runs() bool {
	e.arrivals.mu.RLock()
	defer e.arrivals.mu.RUnlock()
	return e.arrivals.open
}

// DecideAtOnce lets an engine that is ticked decide on events as they arrive, as one that runs by itself does. Wait waits for what is under way.
func (e *Engine) DecideAtOnce(clock func() time.Time) (wait, end func()) {
	for range e.options.Workers {
		e.free <- struct{}{}
	}
	e.arrivals.begin(context.Background(), context.Background(), clock)
	return e.arrivals.visits.Wait, func() {
		e.arrivals.end()
		for range e.options.Workers {
			<-e.free
		}
	}
}
