package actions

import (
	"errors"
	"time"
)

// An error without a mark is temporary: the call had no effect, and may succeed later.

// Permanent marks an error that no retry can mend.
func Permanent(err error) error { return &failure{err: err, permanent: true} }

// RetryAfter marks an error after which the whole workspace must wait. It does not count as an
// attempt.
func RetryAfter(d time.Duration, err error) error { return &failure{err: err, workspace: d} }

// Later marks an error after which this step alone must wait at least so long.
func Later(d time.Duration, err error) error { return &failure{err: err, step: d} }

// Uncertain marks an error after which the call may have had its effect: it is settled before it is
// repeated.
func Uncertain(err error) error { return &failure{err: err, uncertain: true} }

// Stale marks a call that was refused, without effect, because the object had changed since it was
// planned: it is planned anew at once, with the next generation.
func Stale(err error) error { return &failure{err: err, stale: true} }

// Held marks an error that puts the workspace on hold until its key works again.
func Held(err error) error { return &failure{err: err, held: true} }

// Denied marks an error that holds the run that asked, and nothing else, until the key has the
// missing scope.
func Denied(err error) error { return &failure{err: err, denied: true} }

// A failure is an error with its marks.
type failure struct {
	err                                       error
	permanent, uncertain, stale, held, denied bool
	workspace, step                           time.Duration
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// IsPermanent reports whether no retry can mend the error.
func IsPermanent(err error) bool { return marked(err, func(f *failure) bool { return f.permanent }) }

// IsUncertain reports whether the call may have had its effect.
func IsUncertain(err error) bool { return marked(err, func(f *failure) bool { return f.uncertain }) }

// IsStale reports whether the call had no effect and must be planned anew, with the next
// generation.
func IsStale(err error) bool { return marked(err, func(f *failure) bool { return f.stale }) }

// IsHeld reports whether the workspace must stop until its key works again.
func IsHeld(err error) bool { return marked(err, func(f *failure) bool { return f.held }) }

// IsDenied reports whether the key lacks the scope for what was asked.
func IsDenied(err error) bool { return marked(err, func(f *failure) bool { return f.denied }) }

// IsMarked reports whether the error has any mark.
func IsMarked(err error) bool { return marked(err, func(*failure) bool { return true }) }

// Wait returns how long the workspace must wait before any other call; 0 means not at all.
func Wait(err error) (d time.Duration) {
	marked(err, func(f *failure) bool { d = max(d, f.workspace); return false })
	return d
}

// StepWait returns how long the step must wait at least before its next attempt; 0 means as usual.
func StepWait(err error) (d time.Duration) {
	marked(err, func(f *failure) bool { d = max(d, f.step); return false })
	return d
}

// Sum returns the outcome of a call in one word, without any of the service's text.
func Sum(err error) string {
	switch {
	case err == nil:
		return "ok"
	case IsUncertain(err):
		return "uncertain"
	case IsStale(err):
		return "stale"
	case IsHeld(err):
		return "held"
	case Wait(err) > 0:
		return "paused"
	case IsPermanent(err):
		return "failed"
	}
	return "retry"
}

// marked looks for a mark among all errors in the tree: an uncertain one may also say how long to
// wait.
func marked(err error, has func(*failure) bool) bool {
	for err != nil {
		f, ok := errors.AsType[*failure](err)
		if !ok {
			return false
		}
		if has(f) {
			return true
		}
		err = f.err
	}
	return false
}
