package service

import (
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
