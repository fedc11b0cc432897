package service

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// host is a TCP server that does what a test says, whatever HTTP says.
type host struct {
	net.Listener
	connections, requests atomic.Int32
	left                  chan struct{} // one for each connection that has ended
}

// newHost starts a host that gives each connection, and its number from 1 on, to a function.
func newHost(t *testing.T, l net.Listener, serve func(n int, c *caller)) *host {
	t.Helper()
	h := &host{Listener: l, left: make(chan struct{}, 1000)}
	var open sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); open.Wait() })
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := int(h.connections.Add(1))
			open.Go(func() {
				stop := context.AfterFunc(t.Context(), func() { _ = c.Close() })
				serve(n, &caller{c, bufio.NewReader(c), h, t.Context().Done()})
				stop()
				_ = c.Close()
				h.left <- struct{}{}
			})
		}
	})
	return h
}

// serving is a host that answers every request.
func serving(t *testing.T) *host {
	t.Helper()
	return newHost(t, listen(t), func(_ int, c *caller) { c.serve() })
}

// acquainted is a host that has answered one call of a client, which has kept the connection. Two
// functions handle that connection afterwards, and others.
func acquainted(t *testing.T, kept, others func(*caller)) (*host, *Client) {
	t.Helper()
	h := newHost(t, listen(t), func(n int, c *caller) {
		if n > 1 {
			others(c)
			return
		}
		c.hear()
		c.say(created201)
		kept(c)
	})
	c := h.client(t)
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	return h, c
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// client gives a client for the host, with its own connections.
func (h *host) client(t *testing.T, options ...func(*Options)) *Client {
	t.Helper()
	return newClient(t, Options{BaseURL: "http://" + h.Addr().String() + "/v1", APIKey: testKey, Timeout: 20 * time.Second}, options)
}

// caller is the other end of a connection, as the host sees it.
type caller struct {
	net.Conn
	r    *bufio.Reader
	h    *host
	over <-chan struct{} // the test is
}

// hear reads one request, and reports whether there was one.
func (c *caller) hear() bool {
	r, err := http.ReadRequest(c.r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, r.Body)
	c.h.requests.Add(1)
	return err == nil
}

func (c *caller) say(s string) { _, _ = io.WriteString(c, s) }

// serve answers every request with a message.
func (c *caller) serve() {
	for c.hear() {
		c.say(created201)
	}
}

// wait returns when the client has closed the connection.
func (c *caller) wait() { _, _ = io.Copy(io.Discard, c.r) }

var (
	created201 = withLength("HTTP/1.1 201 Created\r\n", jsonMessage)
	refused413 = withLength("HTTP/1.1 413 Content Too Large\r\n", "{}")
)

func withLength(head, body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

func chunked(body string) string {
	return fmt.Sprintf("%x\r\n%s\r\n%x;why=not\r\n%s\r\n0\r\n", len(body)-10, body[:len(body)-10], 10, body[len(body)-10:])
}
