package actions

import (
	"context"
	"errors"
	"sync/atomic"
)

// NoCalls forbids calls to the service in the scope of a context, and remembers whether one was
// wanted.
type NoCalls struct{ wanted, over atomic.Bool }

type noCallsKey struct{}

// ForbidCalls returns a context in which MayCall refuses calls until Allow.
func ForbidCalls(ctx context.Context) (context.Context, *NoCalls) {
	n := &NoCalls{}
	return context.WithValue(ctx, noCallsKey{}, n), n
}

// Allow allows calls again. Those that were refused can now be made.
func (n *NoCalls) Allow() {
	n.over.Store(true)
	n.wanted.Store(false)
}

// Wanted reports whether a call was refused.
func (n *NoCalls) Wanted() bool { return n.wanted.Load() }

var errNoCalls = errors.New("the service is not to be called yet")

// MayCall returns an error while calls to the service are forbidden. A client calls it before each
// request.
func MayCall(ctx context.Context) error {
	if n, ok := ctx.Value(noCallsKey{}).(*NoCalls); ok && !n.over.Load() {
		n.wanted.Store(true)
		return errNoCalls
	}
	return nil
}
