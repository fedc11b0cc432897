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

// TestCompany shows for whom a turn waits: for those who shared the last one and for some more, and for these the more seldom the less often they come.
func TestCompany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue[int]{linger: 3 * time.Millisecond, news: make(chan struct{}, 1)}
		waits := func(want time.Duration, last, waiting int) {
			t.Helper()
			q.last, q.waiting = last, make([]*item[int], waiting)
			began := time.Now()
			q.assemble()
			if got := time.Since(began); got != want {
				t.Errorf("with %d after %d it waited for %s, not %s", waiting, last, got, want)
			}
		}
		vain := q.linger
		waits(0, 1, 1) // who was alone waits for nobody
		waits(0, 7, 2) // nor do few
		waits(0, 8, 0) // there is nothing to do
		waits(0, 8, 13)
		waits(0, mostCompany, mostCompany) // there are enough
		for _, turns := range []int{4, 12, 28} {
			waits(vain, 8, 8) // for more, who do not come
			for range turns {
				waits(0, 8, 8)
			}
		}
		waits(0, 8, 13) // they have come
		waits(vain, 8, 8)
		waits(vain, 8, 7) // one is missing
		q.content = 0
		go func() {
			for range 5 {
				time.Sleep(200 * time.Microsecond)
				q.mu.Lock()
				q.waiting = append(q.waiting, nil)
				q.mu.Unlock()
				q.tell()
			}
		}()
		waits(time.Millisecond, 8, 8) // until they are there
	})
}
