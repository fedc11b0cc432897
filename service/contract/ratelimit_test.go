package contract_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// simulated is a clock for the client's limiter that moves when the test says so, together with the
// sandbox's.
type simulated struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[chan struct{}]time.Time
	done    int // calls that sleep no more
	arrived *sync.Cond
}

func newSimulated(start time.Time) *simulated {
	s := &simulated{now: start, waiting: map[chan struct{}]time.Time{}}
	s.arrived = sync.NewCond(&s.mu)
	return s
}

func (s *simulated) use(o *service.Options) { o.Now, o.Sleep = s.Now, s.Sleep }

// Now is the simulated time.
func (s *simulated) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Sleep returns when the clock has moved by d.
func (s *simulated) Sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	woken := make(chan struct{})
	s.waiting[woken] = s.now.Add(d)
	s.arrived.Broadcast()
	s.mu.Unlock()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish says that a call will not sleep again.
func (s *simulated) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.arrived.Broadcast()
}

// sleepers waits until n calls are asleep, or done.
func (s *simulated) sleepers(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	late := false
	timer := time.AfterFunc(time.Minute, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.arrived.Broadcast()
	})
	defer timer.Stop()
	for len(s.waiting)+s.done < n {
		if s.arrived.Wait(); late {
			t.Fatalf("%d calls wait and %d are done; the others do neither", len(s.waiting), s.done)
		}
	}
}

// move moves the clock and wakes those whose time has come.
func (s *simulated) move(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
	for woken, until := range s.waiting {
		if !until.After(s.now) {
			close(woken)
			delete(s.waiting, woken)
		}
	}
}

// After a 429 no call of the key leaves, from whichever client, until the second that the service
// named; then all go on.
func TestRateLimit(t *testing.T) {
	w := newWorld(t)
	clock := newSimulated(friday)
	first := w.client(w.APIKey(), clock.use)
	second := w.client(w.APIKey(), clock.use, func(o *service.Options) { o.Limiter = first.Limiter() })
	stranger := w.client(must(w.NewKey(sandbox.NewKey{}))(t).APIKey, clock.use)

	noError(t, w.AddFault(sandbox.Fault{Operation: "*", Kind: "status_before", Status: http.StatusTooManyRequests, RetryAfter: 30, Count: 1}))
	_, err := first.Me(w.ctx)
	e := refused(t, err)
	same(t, e.Error(), outcomeOf(e), outcome{Status: 429, Code: "rate_limited", RetryAfter: 30 * time.Second})
	want(t, "the end of the pause", first.Limiter().PausedUntil(), friday.Add(30*time.Second))

	results := make(chan error, 4)
	for _, c := range []*service.Client{first, second, first, second} {
		go func() {
			_, err := c.Me(w.ctx)
			results <- err
			clock.finish()
		}()
	}
	clock.sleepers(t, 4)
	sent := len(w.wire.exchanges())
	for passed := time.Second; passed < 30*time.Second; passed += time.Second {
		clock.move(time.Second)
		clock.sleepers(t, 4)
		if n := len(w.wire.exchanges()); n != sent {
			t.Fatalf("%d requests left %v after the 429", n-sent, passed)
		}
	}
	clock.move(time.Second - time.Millisecond)
	clock.sleepers(t, 4)
	want(t, "requests a millisecond before the end", len(w.wire.exchanges()), sent)

	must(stranger.Me(w.ctx))(t) // another key is not concerned
	sent++

	clock.move(time.Millisecond)
	for range 4 {
		noError(t, <-results)
	}
	want(t, "requests when the pause is over", len(w.wire.exchanges()), sent+4)
}

// Patient clients beyond the sandbox's own rate are let through by and by, at that rate, and none
// is refused.
func TestRateOfTheSandbox(t *testing.T) {
	const callers, rate = 7, 2
	w := newWorld(t)
	clock := newSimulated(friday)
	patient := w.client(w.APIKey(), clock.use).Patient()
	w.SetRateLimit(rate)
	begin := len(w.wire.exchanges())
	for range callers {
		go func() {
			if _, err := patient.Me(w.ctx); err != nil && w.ctx.Err() == nil {
				t.Error(err)
			}
			clock.finish()
		}()
	}
	answered := func() (n int) {
		for _, ex := range w.wire.exchanges()[begin:] {
			if ex.status == http.StatusOK {
				n++
			}
		}
		return n
	}
	for second := 1; second <= (callers+1)/rate; second++ {
		clock.sleepers(t, callers) // or done
		want(t, "calls answered so far", answered(), min(second*rate, callers))
		w.later(time.Second)
		clock.move(time.Second)
	}
}
