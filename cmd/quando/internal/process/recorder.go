package process

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine/trace"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/triggers"
)

// A Recorder passes events to the engine, and knows whether they can be recorded.
type Recorder struct {
	Accept triggers.Sink
	write  func(context.Context) error // something harmless, to see whether it can be done again
	fresh  func(rules.Event)           // called for each new event
	tracer *trace.Tracer               // may be nil

	failed atomic.Pointer[error] // of the last that was to be recorded
	trying sync.Mutex
}

// Record is a triggers.Sink.
func (r *Recorder) Record(ctx context.Context, events ...rules.Event) ([]bool, error) {
	fresh, err := r.Accept(ctx, events...)
	if r.tracer != nil {
		for i := range events {
			r.tracer.Delivered(ctx, &events[i], i < len(fresh) && fresh[i], err)
		}
	}
	if err != nil {
		if ctx.Err() == nil { // otherwise the caller was cancelled, and the journal may be fine
			r.failed.Store(&err)
		}
		return fresh, err
	}
	r.failed.Store(nil)
	for i, e := range events {
		if i < len(fresh) && fresh[i] {
			r.fresh(e)
		}
	}
	return fresh, nil
}

// ready returns why events cannot be recorded, or nil. After a failure it tries by itself: an
// engine that is not ready gets no deliveries that could show that it is again.
func (r *Recorder) ready(ctx context.Context) error {
	failed := r.failed.Load()
	if failed == nil {
		return nil
	}
	if !r.trying.TryLock() {
		return *failed
	}
	defer r.trying.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := r.write(ctx); err != nil {
		return err
	}
	r.failed.CompareAndSwap(failed, nil)
	return nil
}
