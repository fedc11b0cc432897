package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// workers are the goroutines that visit lanes. A semaphore bounds how many visits take steps at
// once; those who wait for it are served in their order. A visit that decides on an event while
// it arrives needs a worker only when it goes on behind that.
type workers struct {
	*semaphore.Weighted

	mu      sync.RWMutex
	open    bool            // Run is at work
	ctx     context.Context // ends when nothing more is to be begun
	working context.Context // ends when nothing more can be waited for
	clock   func() time.Time
	visits  sync.WaitGroup // under way
}

// begin lets lanes be visited.
func (w *workers) begin(ctx, working context.Context, clock func() time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open, w.ctx, w.working, w.clock = true, ctx, working, clock
}

// end waits until nothing is under way, and nothing more can be.
func (w *workers) end() {
	w.mu.Lock()
	w.open = false
	w.mu.Unlock()
	w.visits.Wait()
}

// join counts a visit as under way until it is done, and reports whether lanes are visited at
// all.
func (w *workers) join() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.open {
		w.visits.Add(1)
	}
	return w.open
}

// stopping reports whether nothing more is to be begun.
func (w *workers) stopping() bool { return w.ctx.Err() != nil }

// claimMost is how many lanes are claimed at once.
const claimMost = 64

// acquire waits a while for a worker, and takes up to claimMost that are free. It returns how
// many it has; none where all are busy for longer than the journal may go without a look at it.
func (w *workers) acquire(ctx context.Context) (n int) {
	if !w.TryAcquire(1) {
		ctx, cancel := context.WithTimeout(ctx, look)
		defer cancel()
		if w.Acquire(ctx, 1) != nil {
			return 0
		}
	}
	for n = 1; n < claimMost && w.TryAcquire(1); n++ {
	}
	return n
}
