package backfill

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/quandohq/quando/service"
)

const (
	yieldAfter = 500 * time.Millisecond // how long rule runs may wait before a call yields to them
	maxYield   = 5 * time.Second        // how long one call yields at most
	tries      = 5                      // of one call, on temporary errors
	maxInRow   = 3                      // failed reads in a row that end the part
	maxFailed  = 20                     // failed reads in total that end the part
)

// errLost means that another engine has acquired the lease.
var errLost = errors.New("another engine looks for what was not told")

// wait comes before each call of a pass: it keeps the rate, yields to rule runs, and renews the
// lease.
func (s *Source) wait(ctx context.Context) error {
	if err := s.pace(ctx); err != nil {
		return err
	}
	for waited := time.Duration(0); waited < maxYield; waited += yieldAfter / 5 {
		if behind, err := s.options.Behind(ctx); err != nil || behind < yieldAfter {
			break // the call does not depend on the journal
		}
		if err := s.options.Sleep(ctx, yieldAfter/5); err != nil {
			return err
		}
	}
	now := s.options.Now().Round(0)
	if now.Sub(s.leased) >= lease/4 && !s.acquireLease(ctx, now) {
		return errLost
	}
	s.updateState(func(st *State) { st.Calls++ })
	return ctx.Err()
}

// pace waits as the rate demands.
func (s *Source) pace(ctx context.Context) error {
	if s.options.Rate <= 0 {
		return nil
	}
	gap := time.Duration(float64(time.Second) / s.options.Rate)
	if left := gap - s.options.Now().Sub(s.called); left > 0 && left <= gap {
		if err := s.options.Sleep(ctx, left); err != nil {
			return err
		}
	}
	s.called = s.options.Now()
	return nil
}

// mayRetry reports whether a failed call is worth a retry, after a pause.
func (s *Source) mayRetry(ctx context.Context, times int, err error) bool {
	s.log.Debug("a look was not answered", "times", times, "error", err)
	return times < tries && s.options.Sleep(ctx, time.Duration(times)*time.Second) == nil
}

// failures counts objects that could not be read. One failure does not stop the others, but the
// pass is not complete.
type failures struct {
	first error
	inRow int
	count int
}

// addResult counts one result, and reports whether to stop.
func (f *failures) addResult(err error) bool {
	if err == nil {
		f.inRow = 0
		return false
	}
	if f.first == nil {
		f.first = err
	}
	f.inRow++
	f.count++
	_, endless := errors.AsType[*service.PagingError](err)
	e, ok := errors.AsType[*service.Error](err)
	answered := endless || ok && !e.Local && e.Status != http.StatusUnauthorized && !errors.Is(err, context.Canceled)
	return !answered || f.inRow >= maxInRow || f.count >= maxFailed
}
