package webhook

import (
	"container/list"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxUnverified bounds the bytes of all unverified bodies. maxEvicted is the part of it reserved
	// for bodies that have been evicted and have not released their bytes yet.
	maxUnverified = 32 << 20
	maxEvicted    = 8 << 20

	// requestCost is the memory of a request besides its body: a goroutine, its head, its stream. It
	// bounds how many unverified requests can be in progress.
	requestCost = 12 << 10

	// smallBody is the size that nearly every delivery fits into. A small body may evict any older
	// one, so that large bodies cannot keep it out. A larger one may evict only a body that has been
	// arriving for longer than slowBody; otherwise no large body would ever be complete.
	smallBody = 64 << 10
	slowBody  = 250 * time.Millisecond
)

// Bodies bounds the memory of bodies before their signature is verified, because any sender can
// send such bodies. Receivers share one Bodies. If there is no room left, Bodies evicts the body
// that we have waited for the longest: a body from the service arrives within milliseconds.
type Bodies struct {
	mu       sync.Mutex
	used     int        // bytes, including those of evicted bodies
	evicted  int        // bytes of evicted bodies
	arriving *list.List // of *unverified, oldest first, without evicted ones
}

// NewBodies returns the bound of a process.
func NewBodies() *Bodies { return &Bodies{arriving: list.New()} }

// An unverified is a body that is not verified yet.
type unverified struct {
	bodies *Bodies
	began  time.Time
	end    func() // ends an evicted body; called with Bodies locked

	waiting atomic.Bool // for its sender

	held    int
	element *list.Element // in arriving; nil if it cannot be evicted
	evicted bool
}

// reserve reserves n more bytes, and reports whether there is room for them.
func (u *unverified) reserve(n int) bool {
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.used-b.evicted+n > maxUnverified-maxEvicted {
		if u.evicted || !b.evictFor(u, n) {
			return false
		}
	}
	if u.evicted || b.used+n > maxUnverified {
		return false
	}
	b.used += n
	u.held += n
	if u.element == nil {
		u.element = b.arriving.PushBack(u)
	}
	return true
}

// evictFor evicts a body, and reports whether it did.
func (b *Bodies) evictFor(u *unverified, n int) bool {
	victim := b.victim(u)
	if victim == nil || u.held+n > smallBody+requestCost && time.Since(victim.began) < slowBody {
		return false
	}
	b.arriving.Remove(victim.element)
	victim.element, victim.evicted = nil, true
	b.evicted += victim.held
	victim.end()
	return true
}

// victim returns the oldest body whose sender we wait for, or else the oldest one; nil if there is
// none.
func (b *Bodies) victim(but *unverified) (oldest *unverified) {
	for e := b.arriving.Front(); e != nil; e = e.Next() {
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

// complete says that the body has arrived, and reports whether it may be verified. From then on it
// cannot be evicted.
func (u *unverified) complete() bool {
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.element != nil {
		b.arriving.Remove(u.element)
		u.element = nil
	}
	return !u.evicted
}

// allowEviction says that it may take seconds until a complete body is verified, and that end stops
// this.
func (u *unverified) allowEviction(end func()) {
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	u.waiting.Store(true)
	u.end, u.element = end, b.arriving.PushFront(u)
}

// release releases the reserved bytes, and reports whether the body was not evicted.
func (u *unverified) release() bool {
	kept := u.complete()
	b := u.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= u.held
	if u.evicted {
		b.evicted -= u.held
	}
	u.held = 0
	return kept
}

// waitingReader reads a body, and records while it waits for the sender.
type waitingReader struct {
	io.Reader
	body *unverified
}

func (a waitingReader) Read(p []byte) (int, error) {
	a.body.waiting.Store(true)
	defer a.body.waiting.Store(false)
	return a.Reader.Read(p)
}
