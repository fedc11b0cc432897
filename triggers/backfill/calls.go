package backfill

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/quandohq/quando/service"
)

const (
	politeness = 500 * time.Millisecond // how long the work of rules may wait before a call lets it go first
	patience   = 5 * time.Second        // how long one call lets it go first
	tries      = 5                      // of one call that fails for a passing reason
	mostInRow  = 3                      // things one after the other that cannot be read, before nothing else is tried
	mostFailed = 20                     // and in one part of a pass
)

// errLost says that another engine is at it.
var errLost = errors.New("another engine looks for what was not told")

// wait is what a pass does before each call: it keeps its rate, lets the work of rules go first,
// and says that it is still at it.
func (s *Source) wait(ctx context.Context) error {
	if err := s.pace(ctx); err != nil {
		return err
	}
	for waited := time.Duration(0); waited < patience; waited += politeness / 5 {
		if behind, err := s.options.Behind(ctx); err != nil || behind < politeness {
			break // a journal that cannot be read is not this call's affair
		}
		if err := s.options.Sleep(ctx, politeness/5); err != nil {
			return err
		}
	}
	now := s.options.Now().Round(0)
	if now.Sub(s.leased) >= lease/4 && !s.take(ctx, now) {
		return errLost
	}
	s.note(func(st *State) { st.Calls++ })
	return ctx.Err()
}

// pace keeps to the rate.
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

// again lets a call that failed for a passing reason be made once more.
func (s *Source) again(ctx context.Context, times int, err error) bool {
	s.log.Debug("a look was not answered", "times", times, "error", err)
	return times < tries && s.options.Sleep(ctx, time.Duration(times)*time.Second) == nil
}

// failures are things that could not be read. One of them does not stand in the way of all others,
// but the pass is not complete.
type failures struct {
	first error
	inRow int
	count int
}

// end notes how reading one thing went, and reports whether the others need not be tried.
func (f *failures) end(err error) bool {
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
	return !answered || f.inRow >= mostInRow || f.count >= mostFailed
}
