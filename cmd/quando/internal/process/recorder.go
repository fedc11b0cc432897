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

// A Recorder gives events to the engine, and knows whether they can be recorded.
type Recorder struct {
	Accept triggers.Sink
	write  func(context.Context) error // something harmless, to see whether it can be done again
	fresh  func(rules.Event)           // is told of each event that is new
	tracer *trace.Tracer               // nil is nobody

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
		if ctx.Err() == nil { // otherwise whoever gave it has gone away, and the journal may be well
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

// ready returns why nothing can be recorded, or nil. After a failure it tries for itself: whoever
// is not ready is sent nothing that could show that it is again.
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
