package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter throttles the calls made with one API key. It keeps an optional limit of our own, and the
// pause that the service asks for with a 429. Clients with the same key share one Limiter, because
// the service counts by key. It is safe for concurrent use.
type Limiter struct {
	ceiling *rate.Limiter
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error

	mu    sync.Mutex
	until time.Time
	asked LimiterState // what the service asked for
}

// LimiterState is the state of a limiter, for the status page.
type LimiterState struct {
	PerSecond   float64       // our own limit; 0 is none
	PausedUntil time.Time     // in the past, or zero, if there is no pause
	Asked       time.Time     // when the service last asked for a pause; zero if never
	Length      time.Duration // of that pause
	Times       int           // how often it asked
}

// State returns the limiter's state.
func (l *Limiter) State() LimiterState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.asked
	s.PausedUntil = l.until
	if l.ceiling != nil {
		s.PerSecond = float64(l.ceiling.Limit())
	}
	return s
}

// NewLimiter makes a limiter that lets at most perSecond calls start per second (0: no limit of our
// own).
func NewLimiter(perSecond float64) *Limiter { return newLimiter(perSecond, nil, nil) }

func newLimiter(perSecond float64, now func() time.Time, sleep func(context.Context, time.Duration) error) *Limiter {
	l := &Limiter{now: now, sleep: sleep}
	if now == nil {
		l.now = time.Now
	}
	if sleep == nil {
		l.sleep = sleepFor
	}
	if perSecond > 0 {
		// A burst of a tenth of a second keeps the limit true over every second, and workers from
		// queueing one by one.
		l.ceiling = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
	}
	return l
}

// Pause blocks every call until the given time. A pause is never shortened: of two, the later end
// counts.
func (l *Limiter) Pause(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.asked.Asked, l.asked.Length = now, until.Sub(now)
	l.asked.Times++
	if until.After(l.until) {
		l.until = until
	}
}

// PausedUntil is the end of the pause; it lies in the past, or is zero, when there is none.
func (l *Limiter) PausedUntil() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Wait returns when a call may start, or with the context's error.
func (l *Limiter) Wait(ctx context.Context) error { return l.wait(ctx, 0) }

// errBusy means that a call would have to wait longer than it may.
type errBusy struct{ left time.Duration }

func (e errBusy) Error() string { return fmt.Sprintf("calls are held back for another %v", e.left) }

// wait is Wait that gives up at once when the wait would be longer than most (0: as long as the
// context lasts; less than 0: no wait at all).
func (l *Limiter) wait(ctx context.Context, most time.Duration) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := l.now()
		if left := l.PausedUntil().Sub(now); left > 0 {
			if err := l.hold(ctx, left, most); err != nil {
				return err
			}
			continue // another 429 may have moved the end meanwhile
		}
		if l.ceiling == nil {
			return nil
		}
		r := l.ceiling.ReserveN(now, 1)
		delay := r.DelayFrom(now)
		if delay <= 0 {
			return nil
		}
		if err := l.hold(ctx, delay, most); err != nil {
			r.CancelAt(l.now())
			return err
		}
		if !l.PausedUntil().After(l.now()) {
			return nil
		}
	}
}

func (l *Limiter) hold(ctx context.Context, d, most time.Duration) error {
	if most != 0 && d > most {
		return errBusy{d}
	}
	return l.sleep(ctx, d)
}

func sleepFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
