package process

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxConnections bounds the connections of an address, and is the default if the limit of
	// descriptors is unknown. At most maxUnverified of them may have delivered nothing with a valid
	// signature: each can take some 40 KiB, with encryption and an endless header.
	maxConnections = 4096
	maxUnverified  = 1024

	// unverifiedIdle is the idle timeout of a connection without a validly signed delivery.
	unverifiedIdle = 5 * time.Second

	// safeTime is how long a new connection is not evicted: the time for a handshake and a delivery
	// from the other end of the world. If few connections are allowed it is less, down to minSafeTime,
	// so that new ones get in soon.
	safeTime    = 500 * time.Millisecond
	minSafeTime = 100 * time.Millisecond

	// evictionLogEvery is the interval of log messages about evicted connections.
	evictionLogEvery = time.Minute
)

// connectionLimit returns the connections an address may have: a quarter of the descriptors, so
// that the two addresses together leave half of them for the journal and for calls to the service.
func connectionLimit() int {
	n, err := descriptorLimit()
	if err != nil {
		return maxConnections
	}
	return int(max(min(n/4, maxConnections), 1))
}

// connections bounds the connections of an address. If there are too many, a new one evicts the
// oldest that has not delivered anything with a valid signature: the service delivers soon after it
// has connected. A connection has a moment to do that, so others may have to wait.
type connections struct {
	net.Listener
	name  string
	limit int
	safe  time.Duration
	idle  time.Duration // of strangers; 0 is that the server's own time counts
	log   *slog.Logger

	mu        sync.Mutex
	strangers *list.List // of *connection, the oldest first
	trusted   *list.List
	freed     chan struct{} // has one when a connection has ended
	told      time.Time     // when evictions were last logged
	ended     int           // since then
}

// boundConnections bounds the connections that a server gets from a listener.
func boundConnections(l net.Listener, s *http.Server, name string, idle time.Duration, log *slog.Logger) net.Listener {
	limit := connectionLimit()
	b := &connections{
		Listener: l, name: name, limit: limit, safe: min(max(safeTime*time.Duration(limit)/maxUnverified, minSafeTime), safeTime), idle: idle, log: log,
		strangers: list.New(), trusted: list.New(), freed: make(chan struct{}, 1),
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if c := boundConnection(c); c != nil {
			b.changed(c, state)
		}
	}
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, boundConnection(c))
	}
	return b
}

// A connection is one of those that are bounded.
type connection struct {
	net.Conn
	of      *connections
	began   time.Time
	waiting atomic.Bool // for the one at the other end

	// The rest is guarded by the bound.
	place   *list.Element // nil is that it has ended
	trusted bool
	active  bool
	timer   *time.Timer // closes it when idle; may be nil
}

// connectionKey is the context key of a request's connection.
type connectionKey struct{}

// boundConnection returns the connection below a TLS one, or the connection itself.
func boundConnection(c net.Conn) *connection {
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	bound, _ := c.(*connection)
	return bound
}

// Accept returns the next connection, and ends another where there are too many.
func (b *connections) Accept() (net.Conn, error) {
	socket, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: socket, of: b}
	for {
		wait := b.admit(c)
		if wait <= 0 {
			return c, nil
		}
		select {
		case <-b.freed:
		case <-time.After(wait):
		}
	}
}

// admit notes a connection, and where there are too many ends another. It returns how long to wait
// where none can be ended yet.
func (b *connections) admit(c *connection) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.strangers.Len() >= min(b.limit, maxUnverified) || b.strangers.Len()+b.trusted.Len() >= b.limit {
		victim, wait := b.victim(now)
		if victim == nil {
			return wait
		}
		b.logEvictions(now)
		b.remove(victim)
		_ = victim.Conn.Close() // its own goroutine finds that out
	}
	c.began, c.place = now, b.strangers.PushBack(c)
	return 0
}

// victim returns the connection to evict, or how long to wait for one: the oldest stranger past its
// safe time from which the server is waiting for data; without strangers, an idle connection of the
// service.
func (b *connections) victim(now time.Time) (*connection, time.Duration) {
	for e := b.strangers.Front(); e != nil; e = e.Next() {
		c := e.Value.(*connection)
		if age := now.Sub(c.began); age < b.safe {
			return nil, b.safe - age
		}
		if c.waiting.Load() {
			return c, 0
		}
	}
	for e := b.trusted.Front(); e != nil && b.strangers.Len() == 0; e = e.Next() {
		if c := e.Value.(*connection); !c.active {
			return c, 0
		}
	}
	return nil, minSafeTime
}

// logEvictions logs evictions, the first at once and the others by their number.
func (b *connections) logEvictions(now time.Time) {
	b.ended++
	if now.Sub(b.told) < evictionLogEvery {
		return
	}
	b.log.Warn("too many connections: new ones take the place of the oldest", "address", b.name, "most", b.limit, "ended", b.ended)
	b.told, b.ended = now, 0
}

// remove takes a connection off the lists.
func (b *connections) remove(c *connection) {
	if c.place == nil {
		return
	}
	if c.trusted {
		b.trusted.Remove(c.place)
	} else {
		b.strangers.Remove(c.place)
	}
	if c.place = nil; c.timer != nil {
		c.timer.Stop()
	}
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// changed notes what a connection is at. One of a stranger ends soon when it is idle.
func (b *connections) changed(c *connection, state http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.active = state == http.StateActive
	if c.timer != nil {
		c.timer.Stop()
	}
	if state == http.StateIdle && b.idle > 0 && !c.trusted && c.place != nil {
		c.timer = time.AfterFunc(b.idle, func() { _ = c.Close() })
	}
}

// trust notes that something right signed has come over the connection of a request.
func trust(r *http.Request) {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	if c == nil {
		return
	}
	b := c.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if !c.trusted && c.place != nil {
		b.strangers.Remove(c.place)
		c.trusted, c.place = true, b.trusted.PushBack(c)
	}
}

// Read reads what comes.
func (c *connection) Read(p []byte) (int, error) {
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	return c.Conn.Read(p)
}

// Close ends the connection.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes the sending side, so that a client that is still sending can read the answer
// before the connection ends.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
