package engine

import (
	"context"
	"errors"
	"fmt"
	"github.com/quandohq/quando/engine/journal"
	"sync"
	"time"
)

// Tick does everything that is due at now, and returns when something will be due again. The zero
// time means not before there is a new event or request. The engine's clock stands still at now
// meanwhile.
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
			return e.nextDue(ctx)
		}
	}
}

// nextDue returns when something will be due.
func (e *Engine) nextDue(ctx context.Context) (time.Time, error) {
	next, err := e.journal.Due(ctx, e.pausedWorkspaces())
	if err != nil {
		return next, fmt.Errorf("look for what is due: %w", err)
	}
	if hold := e.nextHold(); !hold.IsZero() && (next.IsZero() || hold.Before(next)) {
		next = hold
	}
	return next, nil
}

// visit works on a lane. If its work cannot be saved, the lane is released as it was.
func (e *Engine) visit(ctx context.Context, v *visit, first *decision) error {
	err := v.work(ctx, first)
	if v.fresh != nil && err != nil && !errors.Is(err, journal.ErrOccupied) {
		v.releaseEvaluation()
		e.forgetUnsaved(v.change.Caused)
		err = v.recordFirst(ctx)
	}
	v.releaseEvaluation()
	e.forgetUnsaved(v.change.Caused)
	if v.fresh != nil {
		return e.releaseFresh(ctx, v, err)
	}
	return e.release(ctx, v.lane, v.clock, err)
}

// release ends a visit. If err kept the visit from releasing its lane, release does so and makes
// the lane due again.
func (e *Engine) release(ctx context.Context, lane *journal.Lane, clock func() time.Time, err error) error {
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
		err = &releaseError{again, errors.Join(err, released)}
	case errors.Is(err, journal.ErrChanged):
		err = nil
	}
	return err
}

// A releaseError says that a lane could not even be released: no engine can claim it until it is.
type releaseError struct {
	release journal.Change
	error
}

func (e *releaseError) Unwrap() error { return e.error }

// retryRelease retries to release a lane that a visit could not, for example while the disk is
// full.
func (e *Engine) retryRelease(ctx context.Context, lane *journal.Lane, kept *releaseError) {
	for pause := 100 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		pauseFor(ctx, pause)
		if err := e.journal.Save(ctx, lane, &kept.release); err == nil || errors.Is(err, journal.ErrLost) {
			return
		}
	}
}

// pollInterval is how often Run checks the journal for the work of other processes.
const pollInterval = 250 * time.Millisecond

// settleDelay waits up to 5 ms after a claim that took so long, so that the next claim finds more
// due lanes.
func settleDelay(ctx context.Context, took time.Duration) {
	pauseFor(ctx, min(4*took, 5*time.Millisecond))
}

// Run works until ctx ends, then waits for visits in progress. It returns nil after a clean stop.
func (e *Engine) Run(ctx context.Context) error {
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	for _, w := range e.workspaces {
		w.absences.heartbeat = time.Time{}
	}
	e.awaitJournal(ctx)
	e.workers.begin(ctx, working, time.Now)
	var beside sync.WaitGroup
	if j, ok := e.journal.(journal.Notifier); ok {
		beside.Go(func() { e.forwardNews(ctx, j.News()) })
	}
	for _, w := range e.workspaces { // a slow service must not delay the probes of other workspaces
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
				e.endVisit(v, began, e.visit(working, v, nil))
			})
		}
		switch {
		case len(lanes) == 0 && free > 0:
			e.waitForWork(ctx)
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

// awaitJournal waits until the journal can be used. It reads the holds, because arriving events are
// decided at once, and finds out when no engine was running.
func (e *Engine) awaitJournal(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.readHolds(ctx, time.Now())
		if err == nil {
			err = e.SignIn(ctx, time.Now())
		}
		if err == nil {
			e.presenceOnce.Do(func() { close(e.presenceKnown) })
			return
		}
		if ctx.Err() == nil {
			e.log.Error("the journal cannot be read", "error", err)
			pauseFor(ctx, time.Second)
		}
	}
}

// endVisit ends a visit. Its error has been logged, and the lane will be due again.
func (e *Engine) endVisit(v *visit, began time.Time, err error) {
	if v.hasWorker {
		e.workers.Release(1)
	}
	if kept, ok := errors.AsType[*releaseError](err); ok {
		e.retryRelease(e.workers.ctx, v.lane, kept)
	}
	e.shares.end(v.lane.Workspace, time.Since(began), v.waited)
	if !v.lane.Calm || e.shares.byWorkspace != nil {
		e.wake() // another lane may be due, or its workspace may have room again
	}
}

// forwardNews makes Run look for work when another process has written to the journal.
func (e *Engine) forwardNews(ctx context.Context, news <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
			e.wake()
		}
	}
}

// claim claims up to n due lanes.
func (e *Engine) claim(ctx context.Context, n int) ([]*journal.Lane, error) {
	now := time.Now()
	if now.Sub(e.holdsReadAt) >= pollInterval {
		if err := e.readHolds(ctx, now); err != nil {
			return nil, err
		}
		e.holdsReadAt = now
	}
	if err := e.SignIn(ctx, now); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	most, full := e.shares.claimLimit(n)
	lanes, err := e.journal.Claim(ctx, now, most, append(e.pausedWorkspaces(), full...))
	e.shares.begin(lanes)
	return lanes, err
}

// waitForWork waits until something may be due. It does not wait for holds that end, because the
// holds are read often enough.
func (e *Engine) waitForWork(ctx context.Context) {
	wait := pollInterval
	_, full := e.shares.claimLimit(0)
	if next, err := e.journal.Due(ctx, append(e.pausedWorkspaces(), full...)); err == nil && !next.IsZero() {
		wait = min(pollInterval, max(0, time.Until(next)))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-e.wakeups:
	case <-timer.C:
	}
}

// pauseFor waits until d has passed or ctx ends.
func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// regularly calls do at an interval until ctx ends.
func (e *Engine) regularly(ctx context.Context, every time.Duration, do func(context.Context, time.Time) error) {
	for ctx.Err() == nil {
		if err := do(ctx, time.Now()); err != nil && ctx.Err() == nil {
			e.log.Error("the journal cannot be used", "error", err)
		}
		pauseFor(ctx, every)
	}
}

// prune deletes what is older than Options.Keep.
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
