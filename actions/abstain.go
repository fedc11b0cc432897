package actions

import (
	"context"
	"errors"
	"sync/atomic"
)

// An Abstinence is a time in which the service is not called: what goes on in it must come to an end soon, or be given up.
type Abstinence struct{ wanted, over atomic.Bool }

type abstinenceKey struct{}

// Abstain returns a context in which MayCall refuses, until the abstinence is ended.
func Abstain(ctx context.Context) (context.Context, *Abstinence) {
	a := &Abstinence{}
	return context.WithValue(ctx, abstinenceKey{}, a), a
}

// End lets calls be made.
func (a *Abstinence) End() { a.over.Store(true) }

// Wanted reports whether a call was refused.
func (a *Abstinence) Wanted() bool { return a.wanted.Load() }

var errAbstain = errors.New("the service is not to be called yet")

// MayCall returns an error while the service is not to be called. A client asks it before each call.
func MayCall(ctx context.Context) error {
	if a, ok := ctx.Value(abstinenceKey{}).(*Abstinence); ok && !a.over.Load() {
		a.wanted.Store(true)
		return errAbstain
	}
	return nil
}
