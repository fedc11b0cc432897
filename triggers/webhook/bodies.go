package webhook

import (
	"container/list"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxUnverified bounds the bytes of all bodies that are not verified yet. maxLeaving is the
	// part of it that is kept for bodies which have been told to give way and have not done so yet.
	maxUnverified = 32 << 20
	maxLeaving    = 8 << 20

	// requestCost is what a request takes besides its body: a goroutine, its head, its stream. It
	// bounds how many can be under way that are not verified.
	requestCost = 12 << 10

	// smallBody is what nearly every delivery fits into. A small body takes the place of the oldest
	// one whatever that is, so that large ones cannot keep it out. A larger one takes the place
	// only of one that has been coming for longer than slowBody; otherwise none would ever be
	// complete.
	smallBody = 64 << 10
	slowBody  = 250 * time.Millisecond
)

// Bodies bounds the memory that bodies take before their signature is verified, which anybody can
// send. Receivers share one. Where there is no room left, the body whose sender we have been
// waiting for the longest gives way: what the service sends is there within milliseconds.
type Bodies struct {
	mu      sync.Mutex
	used    int        // bytes, of those that give way too
	leaving int        // bytes of those that give way
	coming  *list.List // of *unverified, the oldest first; without those that give way
}

// NewBodies returns the bound of a process.
func NewBodies() *Bodies { return &Bodies{coming: list.New()} }

// An unverified is a body that is not verified yet.
type unverified struct {
	bodies *Bodies
	began  time.Time
	end    func() // makes it give way; called while bodies are locked

	waiting atomic.Bool // for the one who sends it

	held    int
	place   *list.Element // in coming; nil is that it cannot be made to give way
	leaving bool
}

// take holds so many bytes more, and reports whether there is room for them.
func (u *unverified) take(n int) bool {
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.used-b.leaving+n > maxUnverified-maxLeaving {
		if u.leaving || !b.evictFor(u, n) {
			return false
		}
	}
	if u.leaving || b.used+n > maxUnverified {
		return false
	}
	b.used += n
	u.held += n
	if u.place == nil {
		u.place = b.coming.PushBack(u)
	}
	return true
}

// evictFor makes a body give way, and reports whether one did.
func (b *Bodies) evictFor(u *unverified, n int) bool {
	victim := b.victim(u)
	if victim == nil || u.held+n > smallBody+requestCost && time.Since(victim.began) < slowBody {
		return false
	}
	b.coming.Remove(victim.place)
	victim.place, victim.leaving = nil, true
	b.leaving += victim.held
	victim.end()
	return true
}

// victim returns the oldest body whose sender we wait for, else the oldest; nil is none.
func (b *Bodies) victim(but *unverified) (oldest *unverified) {
	for e := b.coming.Front(); e != nil; e = e.Next() {
		u := e.Value.(*unverified)
		if u != but && u.waiting.Load() {
			return u
		}
		if u != but && oldest == nil {
			oldest = u
		}
	}
	return oldest
}

// complete says that all of the body has come, and reports whether it may be verified: then it does
// not give way any more.
func (u *unverified) complete() bool {
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.place != nil {
		b.coming.Remove(u.place)
		u.place = nil
	}
	return !u.leaving
}

// wait says that it may take seconds until a complete body is verified, unless end is called.
func (u *unverified) wait(end func()) {
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	u.waiting.Store(true)
	u.end, u.place = end, b.coming.PushFront(u)
}

// release gives back what is held, and reports whether the body was not made to give way.
func (u *unverified) release() bool {
	kept := u.complete()
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= u.held
	if u.leaving {
		b.leaving -= u.held
	}
	u.held = 0
	return kept
}

// awaited is what is read of a body, which says when its sender is waited for.
type awaited struct {
	io.Reader
	body *unverified
}

func (a awaited) Read(p []byte) (int, error) {
	a.body.waiting.Store(true)
	defer a.body.waiting.Store(false)
	return a.Reader.Read(p)
}
