package engine

import (
	"context"
	"errors"
	"fmt"
	"github.com/quandohq/quando/engine/journal"
	"sync"
	"time"
)

// Tick does everything that is due at a time, and returns when there will be something again; the
// zero time is when somebody says so. Time stands still meanwhile.
func (e *Engine) Tick(ctx context.Context, now time.Time) (next time.Time, err error) {
	clock := func() time.Time { return now }
	for {
		if err := e.readHolds(ctx, now); err != nil {
			return next, err
		}
		if err := e.probe(ctx, now); err != nil {
			return next, err
		}
		lanes, err := e.journal.Claim(ctx, now, 16, e.pausedWorkspaces())
		if err != nil {
			return next, fmt.Errorf("claim lanes: %w", err)
		}
		for _, lane := range lanes {
			if visitErr := e.visit(ctx, e.newVisit(lane, clock, func() bool { return ctx.Err() != nil }).asWorker(), nil); visitErr != nil {
				err = errors.Join(err, visitErr)
			}
		}
		if err != nil {
			return next, err
		}
		if len(lanes) == 0 {
			return e.next(ctx)
		}
	}
}

// next is when there will be something to do.
func (e *Engine) next(ctx context.Context) (time.Time, error) {
	next, err := e.journal.Due(ctx, e.pausedWorkspaces())
	if err != nil {
		return next, fmt.Errorf("look for what is due: %w", err)
	}
	if hold := e.nextHold(); !hold.IsZero() && (next.IsZero() || hold.Before(next)) {
		next = hold
	}
	return next, nil
}

// visit works on a lane. When something keeps it from handing in what it did, the lane is given
// back as it was.
func (e *Engine) visit(ctx context.Context, v *visit, first *decision) error {
	err := v.work(ctx, first)
	if v.fresh != nil && err != nil && !errors.Is(err, journal.ErrOccupied) {
		v.evaluated()
		e.forgetUnsaved(v.change.Caused)
		err = v.recordFirst(ctx)
	}
	v.evaluated()
	e.forgetUnsaved(v.change.Caused)
	if v.fresh != nil {
		return e.giveUpFresh(ctx, v, err)
	}
	return e.leave(ctx, v.lane, v.clock, err)
}

// leave ends a visit. A lane that something kept it from giving back is due again.
func (e *Engine) leave(ctx context.Context, lane *journal.Lane, clock func() time.Time, err error) error {
	if err == nil || errors.Is(err, journal.ErrLost) {
		return nil
	}
	again := journal.Change{At: clock(), Release: true, Next: clock()}
	if !errors.Is(err, journal.ErrChanged) {
		e.log.Error("a lane could not be worked on", "workspace", lane.Workspace, "lane", WithoutPhones(lane.Name), "error", WithoutPhones(err.Error()))
		again.Next = clock().Add(time.Second)
	}
	switch released := e.journal.Save(context.WithoutCancel(ctx), lane, &again); {
	case released != nil && !errors.Is(released, journal.ErrLost):
		err = &keptError{again, errors.Join(err, released)}
	case errors.Is(err, journal.ErrChanged):
		err = nil
	}
	return err
}

// A keptError says that a lane could not even be given back: nobody can claim it until it is.
type keptError struct {
	release journal.Change
	error
}

func (e *keptError) Unwrap() error { return e.error }

// giveBack tries again to give back a lane that a visit had to keep, as while the disk is full.
func (e *Engine) giveBack(ctx context.Context, lane *journal.Lane, kept *keptError) {
	for pause := 100 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		pauseFor(ctx, pause)
		if err := e.journal.Save(ctx, lane, &kept.release); err == nil || errors.Is(err, journal.ErrLost) {
			return
		}
	}
}

// look is how often Run looks for what other processes may have put into the journal.
const look = 250 * time.Millisecond

// settleDelay waits up to 5 ms after a claim that took so long, so that the next one finds more
// lanes that are due.
func settleDelay(ctx context.Context, took time.Duration) {
	pauseFor(ctx, min(4*took, 5*time.Millisecond))
}

// Run works until ctx ends, then lets the calls under way come to an end. It returns nil after a
// clean stop.
func (e *Engine) Run(ctx context.Context) error {
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	for _, w := range e.workspaces {
		w.absences.signed = time.Time{}
	}
	e.awaitJournal(ctx)
	e.workers.begin(ctx, working, time.Now)
	var beside sync.WaitGroup
	if j, ok := e.journal.(journal.Notifier); ok {
		beside.Go(func() { e.hearNews(ctx, j.News()) })
	}
	for _, w := range e.workspaces { // a service that is slow to answer keeps no other waiting
		beside.Go(func() {
			e.regularly(ctx, time.Second, func(ctx context.Context, now time.Time) error { return w.probe(ctx, e, now) })
		})
	}
	beside.Go(func() { e.regularly(ctx, time.Minute, e.prune) })
	for ctx.Err() == nil {
		free := e.workers.acquire(ctx)
		began := time.Now()
		lanes, err := e.claim(ctx, free)
		e.workers.Release(int64(free - len(lanes)))
		if err != nil && ctx.Err() == nil {
			e.log.Error("the journal cannot be read", "error", err)
			pauseFor(ctx, time.Second)
			continue
		}
		for _, lane := range lanes {
			e.workers.visits.Go(func() {
				v, began := e.newVisit(lane, e.workers.clock, e.workers.stopping).asWorker(), time.Now()
				e.over(v, began, e.visit(working, v, nil))
			})
		}
		switch {
		case len(lanes) == 0 && free > 0:
			e.rest(ctx)
		case len(lanes) > 1:
			settleDelay(ctx, time.Since(began))
		}
	}
	drained := make(chan struct{})
	go func() {
		e.workers.end()
		beside.Wait()
		close(drained)
	}()
	defer func() { <-drained }()
	select {
	case <-drained:
		return nil
	case <-time.After(e.options.Drain):
		end()
		return fmt.Errorf("stopped after %s with calls under way; they will be settled at the next start", e.options.Drain)
	}
}

// awaitJournal finds out, as soon as the journal can be used, what is stopped, because what arrives
// is decided on at once, and when no engine was there.
func (e *Engine) awaitJournal(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.readHolds(ctx, time.Now())
		if err == nil {
			err = e.SignIn(ctx, time.Now())
		}
		if err == nil {
			e.attending.Do(func() { close(e.attends) })
			return
		}
		if ctx.Err() == nil {
			e.log.Error("the journal cannot be read", "error", err)
			pauseFor(ctx, time.Second)
		}
	}
}

// over ends a visit. Its error has been logged, and the lane will be due again.
func (e *Engine) over(v *visit, began time.Time, err error) {
	if v.hasWorker {
		e.workers.Release(1)
	}
	if kept, ok := errors.AsType[*keptError](err); ok {
		e.giveBack(e.workers.ctx, v.lane, kept)
	}
	e.shares.end(v.lane.Workspace, time.Since(began), v.waited)
	if !v.lane.Calm || e.shares.of != nil {
		e.wake() // something may be due, or have room
	}
}

// hearNews lets Run look for work when another process has put something into the journal.
func (e *Engine) hearNews(ctx context.Context, news <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
			e.wake()
		}
	}
}

// claim takes up to n lanes that are due.
func (e *Engine) claim(ctx context.Context, n int) ([]*journal.Lane, error) {
	now := time.Now()
	if now.Sub(e.refreshed) >= look {
		if err := e.readHolds(ctx, now); err != nil {
			return nil, err
		}
		e.refreshed = now
	}
	if err := e.SignIn(ctx, now); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	most, full := e.shares.room(n)
	lanes, err := e.journal.Claim(ctx, now, most, append(e.pausedWorkspaces(), full...))
	e.shares.begin(lanes)
	return lanes, err
}

// rest waits until there may be something to do. Holds that end are not waited for: they are looked
// at often enough.
func (e *Engine) rest(ctx context.Context) {
	wait := look
	_, full := e.shares.room(0)
	if next, err := e.journal.Due(ctx, append(e.pausedWorkspaces(), full...)); err == nil && !next.IsZero() {
		wait = min(look, max(0, time.Until(next)))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-e.news:
	case <-timer.C:
	}
}

// pauseFor lets some time pass.
func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// regularly does something every so often until ctx ends.
func (e *Engine) regularly(ctx context.Context, every time.Duration, do func(context.Context, time.Time) error) {
	for ctx.Err() == nil {
		if err := do(ctx, time.Now()); err != nil && ctx.Err() == nil {
			e.log.Error("the journal cannot be used", "error", err)
		}
		pauseFor(ctx, every)
	}
}

// prune forgets what is older than is kept.
func (e *Engine) prune(ctx context.Context, now time.Time) error {
	if e.options.Keep == 0 {
		return nil
	}
	for ctx.Err() == nil {
		more, err := e.journal.Prune(ctx, now, e.options.Keep)
		if !more || err != nil {
			return err
		}
	}
	return nil
}
