// Package front serves HTTP with net/http, but answers itself what is plain: a POST that is written as most deliveries are costs it a third of what it costs net/http.
//
// What is plain is a narrow part of HTTP/1.1, in which nothing can be understood in two ways. A connection over which anything else comes belongs to net/http from there on, with what has come.
package front

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// A Server is an http.Server before which plain requests are answered, by the same handler and within its times. The handler must not hijack a POST, nor flush it.
type Server struct {
	*http.Server

	mu      sync.Mutex
	open    map[*conn]bool
	closing atomic.Bool
	serving sync.WaitGroup // of connections
}

// Serve serves the connections of a listener until the server is shut down.
func (s *Server) Serve(l net.Listener) error {
	d := &door{Listener: l, come: make(chan come), shut: make(chan struct{})}
	go d.accept(s)
	return s.Server.Serve(d)
}

// Shutdown lets requests that are under way come to their end, and ends every connection.
func (s *Server) Shutdown(ctx context.Context) error {
	s.leave((*conn).endIdle)
	gone := make(chan struct{})
	go func() { s.serving.Wait(); close(gone) }()
	err := s.Server.Shutdown(ctx)
	select {
	case <-gone:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends every connection, whatever is under way.
func (s *Server) Close() error {
	s.leave(func(c *conn) { _ = c.Close() })
	return s.Server.Close()
}

// leave lets no more connections begin, and does something with those that there are.
func (s *Server) leave(do func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	for c := range s.open {
		do(c)
	}
}

// begin notes a connection, and reports whether it may be served.
func (s *Server) begin(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	if s.open == nil {
		s.open = make(map[*conn]bool)
	}
	s.open[c] = true
	s.serving.Add(1)
	return true
}

// end forgets a connection.
func (s *Server) end(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	s.serving.Done()
}

// A door is the listener that net/http has: through it come the connections that are not plain.
type door struct {
	net.Listener
	come chan come
	shut chan struct{}
	once sync.Once
}

// A come is what came through a door.
type come struct {
	conn net.Conn
	err  error
}

// accept serves the connections that come, until there are no more. What keeps them from coming is for net/http to judge, which has a pause after it.
func (d *door) accept(s *Server) {
	for {
		socket, err := d.Listener.Accept()
		if err != nil {
			if !d.pass(come{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		c := &conn{Conn: socket, server: s, door: d}
		if s.begin(c) {
			go c.serve()
		} else {
			_ = socket.Close()
		}
	}
}

// pass hands something to net/http, and reports whether it is still there.
func (d *door) pass(c come) bool {
	select {
	case d.come <- c:
		return true
	case <-d.shut:
		return false
	}
}

// Accept returns the next connection that is not plain.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.come:
		return c.conn, c.err
	case <-d.shut:
		return nil, net.ErrClosed
	}
}

// Close closes the listener.
func (d *door) Close() error {
	d.once.Do(func() { close(d.shut) })
	return d.Listener.Close()
}

// A begun is a connection of which something was read.
type begun struct {
	net.Conn
	read []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.read) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.read)
	b.read = b.read[n:]
	return n, nil
}
