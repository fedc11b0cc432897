package service

import (
	"net"
	"sync"
	"testing"
	"time"
)

// occupy makes so many calls at once, so that as many connections are left.
func occupy(t *testing.T, c *Client, h *host, n int, answer chan struct{}) {
	t.Helper()
	var calls sync.WaitGroup
	before := h.requests.Load()
	for range n {
		calls.Go(func() {
			if err := send(c); err != nil {
				t.Error(err)
			}
		})
	}
	for h.requests.Load() < before+int32(n) {
		time.Sleep(time.Millisecond)
	}
	for range n {
		answer <- struct{}{}
	}
	calls.Wait()
}

// answering is a host that answers when it is told to.
func answering(t *testing.T) (*host, chan struct{}) {
	answer := make(chan struct{})
	return newHost(t, listen(t), func(_ int, c *caller) {
		for c.hear() {
			<-answer
			c.say(created201)
		}
	}), answer
}

func TestIdleConnectionsAreClosedInTime(t *testing.T) {
	const many = 5
	h, answer := answering(t)
	c := h.client(t)
	idleOf(c).timeout = 20 * time.Millisecond
	for range 2 {
		occupy(t, c, h, many, answer)
		for range many {
			<-h.left
		}
	}
}

func TestCloseIdleConnections(t *testing.T) {
	const many = 5
	h, answer := answering(t)
	c := h.client(t)
	occupy(t, c, h, many, answer)
	occupy(t, c, h, many, answer)
	if got := h.connections.Load(); got != many {
		t.Errorf("%d connections for %d calls at once, twice; want %d", got, many, many)
	}
	c.CloseIdleConnections()
	for range many {
		<-h.left
	}
	occupy(t, c, h, 1, answer)
}

func TestNotTooManyIdleConnections(t *testing.T) {
	h, answer := answering(t)
	c := h.client(t)
	occupy(t, c, h, maxIdle+3, answer)
	for range 3 {
		<-h.left
	}
	occupy(t, c, h, maxIdle, answer)
	if got := h.connections.Load(); got != maxIdle+3 {
		t.Errorf("%d connections, want %d", got, maxIdle+3)
	}
}

// A connection that the host has ended is not kept until somebody wants to use it.
func TestConnectionsThatTheHostEnds(t *testing.T) {
	ended := make(chan struct{})
	h := newHost(t, listen(t), func(n int, c *caller) {
		c.hear()
		c.say(created201)
		if n == 1 {
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			close(ended)
		}
		c.wait()
	})
	c := h.client(t)
	idleOf(c).look = 10 * time.Millisecond
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	<-ended
	<-h.left
}

// slow is a connection that takes long to say goodbye.
type slow struct {
	net.Conn
	closing, closed chan struct{}
}

func (s slow) Close() error {
	close(s.closing)
	<-s.closed
	return s.Conn.Close()
}

// While a connection is being closed, others can be taken and kept.
func TestNobodyWaitsForAGoodbye(t *testing.T) {
	for name, end := range map[string]func(*idle){"of old ones": (*idle).clear, "of all": (*idle).close} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer func() { _ = far.Close() }()
			s := slow{near, make(chan struct{}), make(chan struct{})}
			i := &idle{timeout: time.Hour, look: time.Hour}
			l := newLink(near)
			i.list = []idleConnection{{newConnection(s, l), time.Now().Add(-2 * time.Hour)}}
			var ending sync.WaitGroup
			ending.Go(func() { end(i) })
			<-s.closing
			kept := make(chan bool)
			go func() { kept <- i.keep(newConnection(near, l)) }()
			select {
			case ok := <-kept:
				if !ok {
					t.Error("there is no room")
				}
			case <-time.After(10 * time.Second):
				t.Error("nothing can be kept meanwhile")
			}
			close(s.closed)
			ending.Wait()
		})
	}
}
