package batch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuiet shows how long who is in no hurry waits for others.
func TestQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue[int]{lately: time.Now()}
		waits := func(want, patience time.Duration) {
			t.Helper()
			began := time.Now()
			q.Quiet(t.Context(), patience)
			if got := time.Since(began); got != want {
				t.Errorf("it waited for %s, not %s", got, want)
			}
		}
		waits(aMoment, time.Second) // after a turn
		waits(0, time.Second)       // when nobody has had a turn for a moment
		q.waiting = []*item[int]{{}}
		waits(time.Second, time.Second) // while somebody waits
		q.waiting = nil
		go func() {
			time.Sleep(5 * time.Millisecond)
			q.mu.Lock()
			defer q.mu.Unlock()
			q.lately = time.Now()
		}()
		q.lately = time.Now()
		waits(5*time.Millisecond+aMoment, time.Second) // when another turn comes meanwhile
		q.lately = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		q.Quiet(ctx, time.Second)
		if got := time.Since(began); got != time.Millisecond {
			t.Errorf("it waited for %s after it was called off", got)
		}
	})
}
