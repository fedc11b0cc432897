package sandbox

import (
	"context"
	"time"
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

// Due returns when the sandbox does something by itself next, such as
// repeating a delivery; false is that there is nothing.
func (s *Sandbox) Due() (time.Time, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	due, any := s.agenda.next()
	return due.Time(), any
}

// now returns the sandbox's time, for callers that hold the lock.
func (s *Sandbox) now() Instant { return at(s.clock.now()) }

// Advance moves the clock forward. Whatever falls due on the way happens at
// its own time and in order: a delivery is repeated, and answered, before the
// clock moves on. A receiver must not move the clock itself.
func (s *Sandbox) Advance(ctx context.Context, d time.Duration) (time.Time, error) {
	if d < 0 {
		return s.Now(), invalid("the clock is advanced by a positive duration, not %v; to go back, set it", d)
	}
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.moveTo(ctx, s.Now().Add(d))
}

// SetClock moves the clock to a time. Forward it is Advance. Backward nothing
// is undone and what was due stays due at its time.
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

// moveTo steps through what is due until target. A running clock may pass
// target meanwhile, because receivers take their time; it is never set back.
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
			s.agenda.run(max(due, at(step)))
		}
		s.wake()
		s.mu.Unlock()
		if !more {
			return s.Now(), nil
		}
	}
}

// wake sees to it that the agenda is looked at when its next entry is due. On
// a frozen clock that happens only when the clock is moved.
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
