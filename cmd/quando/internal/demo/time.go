package demo

import (
	"context"
	"time"
)

const (
	stillness     = 10 * time.Minute // without anything to see is left out
	longStillness = 2 * time.Hour    // is an occasion for the totals
	afterPlay     = time.Minute      // of real time nothing is left out: who plays along must not find himself on another day
)

// A fastClock turns real time into simulated time.
type fastClock struct {
	from  time.Time // simulated
	since time.Time // real
	speed float64   // simulated minutes in a second
}

func (c fastClock) now() time.Time {
	return c.from.Add(time.Duration(float64(time.Since(c.since)) * 60 * c.speed))
}

// leap goes to where a time is two seconds away, unless that is over.
func (c *fastClock) leap(to time.Time) {
	if to = to.Add(-time.Duration(2 * float64(time.Minute) * c.speed)); to.After(c.now()) {
		c.from, c.since = to, time.Now()
	}
}

// play lets time pass until ctx ends, or for as long as was asked for. The world moves from one
// thing that is due to the next, so that the same things happen at the same times however fast the
// machine is.
//
// Between them the clock of a desk without people follows, so that one sees it pass. After a reload
// of the rules, reloaded is called.
func (d *desk) play(ctx context.Context, reloaded func() error) error {
	if d.last > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.last)
		defer cancel()
	}
	frame := time.NewTicker(100 * time.Millisecond)
	defer frame.Stop()
	// What has begun is brought to its end: it takes a moment, and a call that is cut off would be
	// told as a failure.
	work := context.WithoutCancel(ctx)
	defer close(d.over)
	for clock := (fastClock{d.start, time.Now(), d.speed}); ctx.Err() == nil && !d.tell.gone; {
		if list := d.takeReloads(); len(list) > 0 {
			d.tell.reloads(d.service.Now(), list)
			if err := reloaded(); err != nil {
				return err
			}
			if err := d.moment(work, d.service.Now()); err != nil { // the schedules may be others
				return err
			}
		}
		select {
		case one := <-d.commands:
			if err := d.carryOut(work, &clock, one); err != nil {
				return err
			}
		default:
		}
		until := d.until.Load()
		// Schedules tick all night, mostly for nothing: they are no reason to wait.
		next := earlier(d.people.due(), d.engineDue)
		if gap := next.Sub(d.service.Now()); d.people != nil && gap > stillness && until == nil && time.Since(d.played) > afterPlay {
			clock.leap(next)
			if gap > longStillness {
				d.tell.rest()
			}
		}
		limit := clock.now()
		if until != nil {
			limit = *until
		}
		if at, due := d.due(limit); due {
			if err := d.moment(work, at); err != nil {
				return err
			}
			continue
		}
		if until != nil {
			if err := d.arrived(work, &clock); err != nil {
				return err
			}
			continue
		}
		if d.people == nil && limit.Sub(d.service.Now()) >= time.Second {
			if _, err := d.service.SetClock(work, limit); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-frame.C:
		case one := <-d.commands:
			if err := d.carryOut(work, &clock, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// due returns when the next thing happens, and whether that is no later than a time.
func (d *desk) due(limit time.Time) (time.Time, bool) {
	at := earlier(earlier(d.people.due(), d.engineDue), d.ticks)
	if due, any := d.service.Due(); any {
		at = earlier(at, due)
	}
	return at, !at.IsZero() && !at.After(limit)
}

// moment lets everything happen that happens at one time, and tells of it.
func (d *desk) moment(ctx context.Context, at time.Time) error {
	if now := d.service.Now(); at.Before(now) {
		at = now
	}
	if _, err := d.service.SetClock(ctx, at); err != nil {
		return err
	}
	if err := d.people.act(at); err != nil {
		return err
	}
	for {
		if err := d.service.Settle(ctx); err != nil {
			return err
		}
		before := d.heard.Load()
		var err error
		if d.ticks, err = d.Sources[0].Tick(ctx, at, d.Recorder.Record); err != nil {
			return err
		}
		if d.engineDue, err = d.Engine.Tick(ctx, at); err != nil {
			return err
		}
		if err := d.service.Settle(ctx); err != nil {
			return err
		}
		if d.heard.Load() == before {
			break
		}
	}
	d.tell.runs(at)
	return nil
}

// earlier returns the earlier of two times; the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
