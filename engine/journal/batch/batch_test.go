package batch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAwaitIdle checks how long background work waits for a busy queue.
func TestAwaitIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue[int]{lastEnd: time.Now()}
		waits := func(want, patience time.Duration) {
			t.Helper()
			began := time.Now()
			q.AwaitIdle(t.Context(), patience)
			if got := time.Since(began); got != want {
				t.Errorf("it waited for %s, not %s", got, want)
			}
		}
		waits(idle, time.Second) // after a batch
		waits(0, time.Second)    // when the queue has been idle for a moment
		q.waiting = []*item[int]{{}}
		waits(time.Second, time.Second) // while an item waits
		q.waiting = nil
		go func() {
			time.Sleep(5 * time.Millisecond)
			q.mu.Lock()
			defer q.mu.Unlock()
			q.lastEnd = time.Now()
		}()
		q.lastEnd = time.Now()
		waits(5*time.Millisecond+idle, time.Second) // when another batch ends in the meantime
		q.lastEnd = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		q.AwaitIdle(ctx, time.Second)
		if got := time.Since(began); got != time.Millisecond {
			t.Errorf("it waited for %s after it was called off", got)
		}
	})
}
