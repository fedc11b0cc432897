package sandbox

import (
	"container/heap"
	"context"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// clock tells the sandbox's time: real time plus an offset or, frozen, one
// instant until it is moved.
type clock struct {
	frozen bool
	stands time.Time
	offset time.Duration
}

func newClock(frozen time.Time) clock {
	return clock{frozen: !frozen.IsZero(), stands: frozen}
}

func (c *clock) now() time.Time {
	if c.frozen {
		return c.stands
	}
	return time.Now().Add(c.offset)
}

func (c *clock) set(t time.Time) {
	if c.frozen {
		c.stands = t
		return
	}
	c.offset = time.Until(t)
}

// Now returns the sandbox's time.
func (s *Sandbox) Now() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.clock.now()
}

// Due returns when the sandbox has something scheduled next, such as a retry; false if nothing.
func (s *Sandbox) Due() (time.Time, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	due, any := s.agenda.next()
	return due.Time(), any
}

// now returns the sandbox's time, for callers that hold the lock.
func (s *Sandbox) now() Instant { return store.InstantOf(s.clock.now()) }

// Advance moves the clock forward. What falls due on the way happens at its own time and in order:
// a delivery is retried, and answered, before the clock moves on. A receiver must not move the
// clock itself.
func (s *Sandbox) Advance(ctx context.Context, d time.Duration) (time.Time, error) {
	if d < 0 {
		return s.Now(), store.Invalid("the clock is advanced by a positive duration, not %v; to go back, set it", d)
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.moveTo(ctx, s.Now().Add(d))
}

// SetClock moves the clock to a time. Forward it is Advance. Backward it undoes nothing, and
// scheduled entries keep their times.
func (s *Sandbox) SetClock(ctx context.Context, t time.Time) (time.Time, error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	if t.Before(s.Now()) {
		s.mu.Lock()
		s.clock.set(t)
		s.wake()
		s.mu.Unlock()
		return t, nil
	}
	return s.moveTo(ctx, t)
}

// moveTo runs what is due until target. A running clock may pass target meanwhile, because
// receivers take time; it is never set back.
func (s *Sandbox) moveTo(ctx context.Context, target time.Time) (time.Time, error) {
	for {
		if err := s.Settle(ctx); err != nil {
			return s.Now(), err
		}
		s.mu.Lock()
		due, any := s.agenda.next()
		step := target
		if any && due.Time().Before(target) {
			step = due.Time()
		}
		if step.After(s.clock.now()) {
			s.clock.set(step)
		}
		more := any && !due.Time().After(target)
		if more {
			s.agenda.run(max(due, store.InstantOf(step)))
		}
		s.wake()
		s.mu.Unlock()
		if !more {
			return s.Now(), nil
		}
	}
}

// wake sets the timer for the next agenda entry. A frozen clock has no timer.
func (s *Sandbox) wake() {
	if s.timer != nil && s.timer.Stop() {
		s.running.Done()
	}
	s.timer = nil
	due, any := s.agenda.next()
	if !any || s.clock.frozen || s.closed {
		return
	}
	s.running.Add(1)
	s.timer = time.AfterFunc(due.Time().Sub(s.clock.now()), func() {
		defer s.running.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return
		}
		s.agenda.run(s.now())
		s.wake()
	})
}

// agenda holds calls scheduled on the sandbox's clock.
type agenda struct {
	entries entries
	added   uint64
}

type entry struct {
	at    Instant
	order uint64 // breaks ties: entries of the same time run in the order added
	do    func()
}

// add schedules do, which is called with the sandbox's lock held.
func (a *agenda) add(at Instant, do func()) {
	a.added++
	heap.Push(&a.entries, entry{at, a.added, do})
}

func (a *agenda) next() (Instant, bool) {
	if len(a.entries) == 0 {
		return 0, false
	}
	return a.entries[0].at, true
}

// run runs what is due at now.
func (a *agenda) run(now Instant) {
	for len(a.entries) > 0 && a.entries[0].at <= now {
		heap.Pop(&a.entries).(entry).do()
	}
}

type entries []entry

func (e entries) Len() int { return len(e) }
func (e entries) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].order < e[j].order
}
func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *entries) Push(x any)   { *e = append(*e, x.(entry)) }
func (e *entries) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = entry{}
	*e = (*e)[:len(*e)-1]
	return last
}
