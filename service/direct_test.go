package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Who sends something over a connection that nobody uses, or closes it, is found out before anything is written: bytes would be taken for the answer to the next call.
func TestConnectionIsNotQuietWhileIdle(t *testing.T) {
	for name, disturb := range map[string]func(*caller){
		"bytes":  func(c *caller) { c.say(evil) },
		"closed": func(c *caller) { _ = c.Close() },
		"half":   func(c *caller) { _ = c.Conn.(*net.TCPConn).CloseWrite() },
		"reset":  func(c *caller) { _ = c.Conn.(*net.TCPConn).SetLinger(0); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			disturbed := make(chan struct{})
			h, c := acquainted(t, func(c *caller) {
				<-disturbed
				disturb(c)
				disturbed <- struct{}{}
				c.serve()
			}, (*caller).serve)
			disturbed <- struct{}{}
			<-disturbed
			if err := send(c); err != nil || h.requests.Load() != 2 || h.connections.Load() != 2 {
				t.Errorf("%v; %d requests over %d connections, want 2 over 2", err, h.requests.Load(), h.connections.Load())
			}
		})
	}
}

// A host that hears a request on a kept connection and closes may have carried it out: only a read is repeated, and once.
func TestConnectionClosedAfterTheRequest(t *testing.T) {
	onlyHear := func(c *caller) { c.hear() }
	for _, tc := range []struct {
		name     string
		call     func(*Client) error
		others   func(*caller) // other connections
		requests int32
		fails    func(error) bool // nil is that it does not
	}{
		{"a call that changes something", send, (*caller).serve, 2, IsUncertain},
		{"a read", read, (*caller).serve, 3, nil},
		{"a read, of a host that always does so", read, onlyHear, 3, IsTemporary},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, c := acquainted(t, onlyHear, tc.others)
			err := tc.call(c)
			if tc.fails == nil && err != nil || tc.fails != nil && !tc.fails(err) {
				t.Errorf("got %v", err)
			}
			if got := h.requests.Load(); got != tc.requests {
				t.Errorf("%d requests, want %d", got, tc.requests)
			}
		})
	}
}

// stubborn is a connection that takes so many bytes and then breaks.
type stubborn struct {
	net.Conn
	takes int
}

func (s *stubborn) Write(p []byte) (int, error) {
	n, _ := s.Conn.Write(p[:min(s.takes, len(p))])
	return n, errors.New("it broke")
}

// A call is repeated on another connection only where not one byte of it was written.
func TestConnectionBreaksInTheWrite(t *testing.T) {
	for takes, want := range map[int]bool{0: false, 1: true, 100: true} {
		_, c := acquainted(t, (*caller).serve, (*caller).serve)
		kept := idleOf(c).list[0].link
		_ = kept.Conn.(*net.TCPConn).CloseRead() // else the rest is waited for
		kept.Conn, kept.look = &stubborn{kept.Conn, takes}, nil
		if err := send(c); (err != nil) != want || IsUncertain(err) != want {
			t.Errorf("%d bytes written: %v", takes, err)
		}
	}
}

// An answer that comes before the write breaks counts, and the connection is not used again.
func TestAnswerBeforeTheWriteBreaks(t *testing.T) {
	_, c := acquainted(t, func(c *caller) {
		if _, err := c.r.ReadByte(); err == nil {
			c.say(refused413)
		}
		c.wait()
	}, (*caller).serve)
	kept := idleOf(c).list[0].link
	kept.Conn = &stubborn{kept.Conn, 1}
	if e := asError(t, send(c)); e.Status != 413 || e.Uncertain || len(idleOf(c).list) != 0 {
		t.Errorf("got %v; %d connections kept", e, len(idleOf(c).list))
	}
}

// The time of one call is not the time of the next on the same connection.
func TestTimeOfTheCallBefore(t *testing.T) {
	h, c := acquainted(t, (*caller).serve, (*caller).serve)
	_ = idleOf(c).list[0].SetDeadline(longAgo)
	if err := send(c); err != nil || h.connections.Load() != 1 {
		t.Errorf("%v over %d connections", err, h.connections.Load())
	}
}

// ending is a connection over which nothing comes without a call being cancelled.
type ending struct {
	net.Conn
	cancel func()
}

func (e ending) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	e.cancel()
	return n, err
}

// A context that ends while the last bytes of an answer are read is about to end the connection too: nobody else must get it.
func TestContextEndsWithTheAnswer(t *testing.T) {
	_, c := acquainted(t, (*caller).serve, (*caller).serve)
	ctx, cancel := context.WithCancel(t.Context())
	kept := idleOf(c).list[0].link
	kept.Conn = ending{kept.Conn, cancel}
	if _, err := c.SendMessage(ctx, idConv, NewMessage{ClientID: idClient, Text: "oi"}); err != nil || len(idleOf(c).list) != 0 {
		t.Errorf("%v; %d connections kept, want an answer and none", err, len(idleOf(c).list))
	}
}

// A read that is given up on a kept connection is not begun again.
func TestReadGivenUp(t *testing.T) {
	heard := make(chan struct{})
	_, c := acquainted(t, func(c *caller) {
		c.hear()
		heard <- struct{}{}
		c.wait()
	}, (*caller).serve)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-heard; cancel() }()
	if _, err := c.GetConversation(ctx, idConv); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "dial") {
		t.Errorf("got %v", err)
	}
}

func TestHeaderThatCannotBeSent(t *testing.T) {
	h := serving(t)
	c := h.client(t)
	for _, value := range []string{"1\r\nX: y", "1\nX: y", "1\x00", "\x7f"} {
		_, err := c.do(t.Context(), request{op: table[opUpdateContact], id: "1", ifMatch: value})
		if err == nil || IsUncertain(err) || !strings.Contains(err.Error(), "If-Match") || h.requests.Load() != 0 {
			t.Errorf("%q: %v, %d requests", value, err, h.requests.Load())
		}
	}
}

// Both ways of sending put the same on the wire.
func TestSentAsNetHTTPSendsIt(t *testing.T) {
	heard := make(chan string, 1)
	h := newHost(t, listen(t), func(_ int, c *caller) {
		for {
			r, err := http.ReadRequest(c.r)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(r.Body)
			heard <- fmt.Sprint(r.Method, r.RequestURI, r.Host, r.Proto, r.Header, r.ContentLength, r.TransferEncoding, string(body))
			c.say(withLength("HTTP/1.1 200 OK\r\n", "{}"))
		}
	})
	ours, theirs := h.client(t), h.client(t, func(o *Options) {
		o.Transport = newTransport(func(*http.Request) (*url.URL, error) { return nil, nil })
	})
	t.Cleanup(theirs.CloseIdleConnections)
	for name, r := range map[string]request{
		"a read":          {op: table[opGetConversation], id: "1"},
		"a query":         {op: table[opListMessages], id: "a/b c", query: url.Values{"q": {"é&=\n"}}},
		"a body":          {op: table[opSendMessage], id: "1", body: map[string]string{"text": "é\n"}},
		"a key":           {op: table[opSendMessage], id: "1", body: map[string]string{}, key: testCardKey, ifMatch: `"7"`},
		"no body":         {op: table[opReadConversation], id: "1"},
		"a change":        {op: table[opUpdateContact], id: "1", body: []int{}},
		"a sector":        {op: table[opSetSector], id: "é", body: nil},
		"a removal":       {op: table[opDeleteWebhook], id: "1"},
		"an empty object": {op: table[opTransfer], id: "%2F", body: struct{}{}},
	} {
		if _, err := theirs.do(t.Context(), r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := <-heard
		if _, err := ours.do(t.Context(), r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := <-heard; got != want {
			t.Errorf("%s is sent as\n%s, by net/http as\n%s", name, got, want)
		}
	}
}

// Many callers, some of whom give up: each answer reaches the one who asked.
func TestAnswersReachWhoAsked(t *testing.T) {
	h := newHost(t, listen(t), func(_ int, c *caller) {
		for n := 1; ; n++ {
			r, err := http.ReadRequest(c.r)
			if err != nil {
				return
			}
			_, id, _ := strings.Cut(r.URL.Path, "/conversations/")
			answer := withLength("HTTP/1.1 200 OK\r\n", `{"id":"`+id+`"}`)
			c.say(answer[:n%len(answer)])
			if n%50 == 0 {
				return
			}
			c.say(answer[n%len(answer):])
		}
	})
	c := h.client(t)
	var callers sync.WaitGroup
	var answered atomic.Int32
	for caller := range 16 {
		callers.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if n%5 == 0 {
					time.AfterFunc(time.Duration(10*n)*time.Microsecond, cancel)
				}
				id := fmt.Sprintf("%d-%d", caller, n)
				got, err := c.GetConversation(ctx, id)
				cancel()
				if err == nil && got.ID != id {
					t.Errorf("%s got the answer of %s", id, got.ID)
				}
				if n%5 != 0 && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("%s ended with somebody else's context: %v", id, err)
				}
				if err == nil {
					answered.Add(1)
				}
			}
		})
	}
	callers.Wait()
	if answered.Load() < 1600 {
		t.Errorf("%d of 3200 were answered", answered.Load())
	}
}
