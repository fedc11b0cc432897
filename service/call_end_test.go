//go:build unix

package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A call ends with its context or at its time, wherever it is, says rightly whether it may have
// left, and leaves no connection behind.
func TestCallsEnd(t *testing.T) {
	here := make(chan struct{}, 10) // the call is where the test wants it
	arrive := func() { here <- struct{}{} }
	for _, place := range []struct {
		name      string
		https     bool
		control   func(context.Context, string, string, syscall.RawConn) error
		serve     func(*caller)
		text      string
		uncertain bool
	}{
		{name: "connecting", control: func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
			arrive()
			<-ctx.Done()
			return ctx.Err()
		}},
		{name: "encrypting", https: true, serve: func(c *caller) { arrive(); c.wait() }},
		{name: "writing", uncertain: true, text: strings.Repeat("x", maxRequest-200), serve: func(c *caller) {
			_, _ = c.Read(make([]byte, 1))
			arrive()
			<-c.over
		}, control: narrow},
		{name: "waiting", uncertain: true, serve: func(c *caller) { c.hear(); arrive(); c.wait() }},
		{name: "reading the head", uncertain: true, serve: func(c *caller) { c.hear(); c.say(created201[:30]); arrive(); c.wait() }},
		{name: "reading the body", uncertain: true, serve: func(c *caller) { c.hear(); c.say(created201[:len(created201)-1]); arrive(); c.wait() }},
	} {
		for _, how := range []struct {
			name string
			want error
			end  func(*testing.T) (context.Context, context.CancelFunc, time.Duration)
		}{
			{"cancelled", context.Canceled, func(t *testing.T) (context.Context, context.CancelFunc, time.Duration) {
				ctx, cancel := context.WithCancel(t.Context())
				return ctx, cancel, time.Minute
			}},
			{"its context's time is over", context.DeadlineExceeded, func(t *testing.T) (context.Context, context.CancelFunc, time.Duration) {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				return ctx, func() {}, deferred(t, cancel, time.Minute)
			}},
			{"its own time is over", context.DeadlineExceeded, func(t *testing.T) (context.Context, context.CancelFunc, time.Duration) {
				return t.Context(), func() {}, 300 * time.Millisecond
			}},
		} {
			t.Run(place.name+", "+how.name, func(t *testing.T) {
				h := newHost(t, listenNarrow(t), func(_ int, c *caller) { place.serve(c) })
				ctx, cancel, timeout := how.end(t)
				c := h.client(t, func(o *Options) {
					if o.Timeout = timeout; place.https {
						o.BaseURL = strings.Replace(o.BaseURL, "http:", "https:", 1)
					}
				})
				c.transport.(*http.Transport).DialContext = (&net.Dialer{ControlContext: place.control}).DialContext
				done := make(chan error)
				go func() {
					_, err := c.SendMessage(ctx, idConv, NewMessage{ClientID: idClient, Text: "oi" + place.text})
					done <- err
				}()
				<-here
				cancel()
				err := <-done
				if e := asError(t, err); !errors.Is(err, how.want) || e.Uncertain != place.uncertain || e.Local {
					t.Errorf("%v, uncertain %v; want %v, %v", err, e.Uncertain, how.want, place.uncertain)
				}
				if place.name != "connecting" && place.name != "encrypting" && place.name != "writing" { // net/http ends the handshake in its own time
					<-h.left
				}
			})
		}
	}
}

// narrow makes the buffer of what is sent as small as it can be.
func narrow(_ context.Context, _, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 1) })
}

// A long request is refused before it is written, by a host that does not read it.
func TestAnswerBeforeALongRequestIsWritten(t *testing.T) {
	h := newHost(t, listenNarrow(t), func(_ int, c *caller) {
		_, _ = c.Read(make([]byte, 1))
		c.say(refused413)
		<-c.over
	})
	c := h.client(t)
	c.transport.(*http.Transport).DialContext = (&net.Dialer{ControlContext: narrow}).DialContext
	_, err := c.SendMessage(t.Context(), idConv, NewMessage{ClientID: idClient, Text: strings.Repeat("x", maxRequest-200)})
	if e := asError(t, err); e.Status != 413 {
		t.Errorf("got %v", err)
	}
}

// listenNarrow listens with the smallest buffers that there are, so that writing waits for reading.
func listenNarrow(t *testing.T) net.Listener {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
	}}
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func deferred(t *testing.T, f func(), d time.Duration) time.Duration { t.Cleanup(f); return d }
