package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// workers are the goroutines that visit lanes. A semaphore bounds how many visits take steps at
// once; it serves waiters in order. A visit that decides an arriving event needs a worker only if
// it continues after that.
type workers struct {
	*semaphore.Weighted

	mu      sync.RWMutex
	open    bool            // Run is in progress
	ctx     context.Context // ends when nothing more may be begun
	working context.Context // ends when Run no longer waits for visits
	clock   func() time.Time
	visits  sync.WaitGroup // in progress
}

// begin allows lanes to be visited.
func (w *workers) begin(ctx, working context.Context, clock func() time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open, w.ctx, w.working, w.clock = true, ctx, working, clock
}

// end allows no more visits, and waits for those in progress.
func (w *workers) end() {
	w.mu.Lock()
	w.open = false
	w.mu.Unlock()
	w.visits.Wait()
}

// join counts a visit as in progress until it is done, and reports whether lanes are visited at
// all.
func (w *workers) join() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.open {
		w.visits.Add(1)
	}
	return w.open
}

// stopping reports whether nothing more may be begun.
func (w *workers) stopping() bool { return w.ctx.Err() != nil }

// maxClaim is how many lanes are claimed at once.
const maxClaim = 64

// acquire waits for up to pollInterval for a worker, then takes up to maxClaim that are free. It
// returns how many it has: none if all stay busy for so long, because the journal must be checked
// that often.
func (w *workers) acquire(ctx context.Context) (n int) {
	if !w.TryAcquire(1) {
		ctx, cancel := context.WithTimeout(ctx, pollInterval)
		defer cancel()
		if w.Acquire(ctx, 1) != nil {
			return 0
		}
	}
	for n = 1; n < maxClaim && w.TryAcquire(1); n++ {
	}
	return n
}
