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

// What hosts answer, what a call makes of it, and whether the connection is used again. A second call must get its own answer.
func TestAnswers(t *testing.T) {
	const evil = "HTTP/1.1 418 Not Yours\r\nContent-Length: 0\r\n\r\n"
	for _, tc := range []struct {
		name, answer string
		status       int    // 0 means success
		says         string // the error
		kept         bool
	}{
		{name: "with its length", answer: created201, kept: true},
		{name: "in chunks", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(jsonMessage) + "\r\n", kept: true},
		{name: "in chunks with a trailer", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n" + chunked(jsonMessage) + "X: y\r\n\r\n", kept: true},
		{name: "in chunks, with a length that lies", answer: "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(jsonMessage) + "\r\n", kept: true},
		{name: "after hints", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + created201, kept: true},
		{name: "the last one", answer: withLength("HTTP/1.1 201 Created\r\nConnection: close\r\n", jsonMessage)},
		{name: "of HTTP/1.0", answer: withLength("HTTP/1.0 201 Created\r\n", jsonMessage)},
		{name: "of HTTP/1.0 that goes on", answer: withLength("HTTP/1.0 201 Created\r\nConnection: keep-alive\r\n", jsonMessage), kept: true},
		{name: "a refusal", answer: withLength("HTTP/1.1 404 Not Found\r\n", "<html>"), status: 404, kept: true},
		{name: "not modified, with the length of what is not there", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", status: 304, kept: true},
		{name: "another protocol", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", status: 101},
		{name: "bytes beyond it", answer: created201 + evil},
		{name: "a body where there is none", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n" + evil, status: 304},
		{name: "bytes beyond the last chunk", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(jsonMessage) + "\r\n" + evil},
		{name: "a chunk without a size", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", status: 201, says: "invalid byte in chunk length"},
		{name: "two lengths", answer: "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", says: "Content-Length"},
		{name: "a length that is none", answer: "HTTP/1.1 201 Created\r\nContent-Length: -2\r\n\r\n{}", says: "Content-Length"},
		{name: "an encoding that nobody knows", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked, rot13\r\n\r\n{}", says: "transfer encoding"},
		{name: "something else", answer: "SSH-2.0-OpenSSH_10.0\r\n\r\n", says: "malformed HTTP response"},
		{name: "a long line of something else", answer: strings.Repeat("x", 900<<10) + "\n", says: "malformed HTTP response"},
		{name: "a header that is none", answer: "HTTP/1.1 201 Created\r\n: x\r\n\r\n{}", says: "malformed MIME header"},
		{name: "a head without an end", answer: "HTTP/1.1 201 Created\r\nX: " + strings.Repeat("x", 1<<20), says: "larger than 1 MiB"},
		{name: "hints without an end", answer: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50_000), says: "larger than 1 MiB"},
		{name: "a body without an end", answer: withLength("HTTP/1.1 201 Created\r\n", strings.Repeat(" ", 9<<20)), status: 201, says: "larger than 8 MiB"},
		{name: "an early refusal", answer: withLength("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n", "{}"), status: 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, listen(t), func(n int, c *caller) {
				if n == 1 {
					c.hear()
					c.say(tc.answer)
				}
				c.serve()
			})
			c := h.client(t)
			err := send(c)
			switch {
			case tc.status == 0 && tc.says == "":
				if err != nil {
					t.Errorf("got %v", err)
				}
			default:
				e := asError(t, err)
				if e.Status != tc.status || e.Uncertain != (tc.says != "") || !strings.Contains(err.Error(), tc.says) || len(err.Error()) > maxError+500 {
					t.Errorf("got %.1000v, status %d, uncertain %v; want %d, %q", err, e.Status, e.Uncertain, tc.status, tc.says)
				}
			}
			if kept := len(c.carrier.(*direct).idle.list) == 1; kept != tc.kept {
				t.Errorf("the connection is kept: %v, want %v", kept, tc.kept)
			}
			if err := send(c); err != nil {
				t.Errorf("the next call: %v", err)
			}
			if kept := h.connections.Load() == 1; kept != tc.kept || h.requests.Load() != 2 {
				t.Errorf("%d connections, %d requests; kept should be %v", h.connections.Load(), h.requests.Load(), tc.kept)
			}
		})
	}
}

func TestAnswerUntilTheConnectionEnds(t *testing.T) {
	h := newHost(t, listen(t), func(_ int, c *caller) {
		c.hear()
		c.say("HTTP/1.1 201 Created\r\n\r\n" + jsonMessage)
	})
	c := h.client(t)
	for range 3 {
		if err := send(c); err != nil {
			t.Error(err)
		}
	}
}

// A host that refuses a request may do so without reading it, and keep or close the connection.
func TestAnswerBeforeTheRequestIsRead(t *testing.T) {
	const refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}"
	for _, size := range []int{10, maxAtOnce - 200, maxAtOnce + 200, maxRequest - 200} {
		for name, after := range map[string]func(*caller){"kept open": (*caller).wait, "closed": func(*caller) {}} {
			h := newHost(t, listen(t), func(_ int, c *caller) {
				_ = c.Conn.(*net.TCPConn).SetReadBuffer(1 << 10)
				if _, err := c.r.ReadByte(); err == nil {
					c.say(refusal)
				}
				after(c)
			})
			_, err := h.client(t).SendMessage(t.Context(), idConv, NewMessage{ClientID: idClient, Text: strings.Repeat("x", size)})
			// Closed with bytes that nobody has read, a connection is reset, and the answer may be lost.
			if e := asError(t, err); e.Status != 413 && (name != "closed" || !e.Uncertain) {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			}
		}
	}
}

// Bytes that come while a connection is idle would be taken for the answer to the next call.
func TestBytesThatNobodyAskedFor(t *testing.T) {
	said := make(chan struct{})
	h := newHost(t, listen(t), func(n int, c *caller) {
		if n > 1 {
			c.serve()
			return
		}
		c.hear()
		c.say(created201)
		<-said
		c.say("HTTP/1.1 418 Not Yours\r\nContent-Length: 0\r\n\r\n")
		said <- struct{}{}
		c.wait()
	})
	c := h.client(t)
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	said <- struct{}{}
	<-said
	if err := send(c); err != nil || h.connections.Load() != 2 {
		t.Errorf("%v over %d connections, want none over 2", err, h.connections.Load())
	}
}

// A connection that the service has closed while it was idle is found out before anything is written to it.
func TestConnectionClosedWhileIdle(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){
		"closed": func(c *net.TCPConn) { _ = c.Close() },
		"half":   func(c *net.TCPConn) { _ = c.CloseWrite() },
		"reset":  func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			h := newHost(t, listen(t), func(_ int, c *caller) {
				c.hear()
				c.say(created201)
				<-ended
				end(c.Conn.(*net.TCPConn))
				ended <- struct{}{}
				c.wait()
			})
			c := h.client(t)
			for n := range int32(3) {
				if err := send(c); err != nil || h.requests.Load() != n+1 {
					t.Fatalf("%v, %d requests", err, h.requests.Load())
				}
				ended <- struct{}{}
				<-ended
			}
		})
	}
}

// A host that hears a request on a kept connection and closes may have carried it out: only a read is repeated.
func TestConnectionClosedAfterTheRequest(t *testing.T) {
	for _, tc := range []struct {
		name     string
		call     func(*Client) error
		requests int32
		fails    bool
	}{
		{"a call that changes something", send, 2, true},
		{"a read", read, 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, listen(t), func(n int, c *caller) {
				if n > 1 {
					c.serve()
					return
				}
				c.hear()
				c.say(created201)
				c.hear()
			})
			c := h.client(t)
			if err := send(c); err != nil {
				t.Fatal(err)
			}
			if err := tc.call(c); (err != nil) != tc.fails || IsUncertain(err) != tc.fails {
				t.Errorf("got %v", err)
			}
			if got := h.requests.Load(); got != tc.requests {
				t.Errorf("%d requests, want %d", got, tc.requests)
			}
		})
	}
}

// Nor is a read repeated for ever.
func TestReadOnAHostThatOnlyCloses(t *testing.T) {
	h := newHost(t, listen(t), func(n int, c *caller) {
		if c.hear(); n == 1 {
			c.say(created201)
			c.hear()
		}
	})
	c := h.client(t)
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	if err := read(c); err == nil || !IsTemporary(err) || h.requests.Load() != 3 {
		t.Errorf("%v after %d requests", err, h.requests.Load())
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
		h := newHost(t, listen(t), func(_ int, c *caller) { c.serve() })
		c := h.client(t)
		if err := send(c); err != nil {
			t.Fatal(err)
		}
		kept := c.carrier.(*direct).idle.list[0].link
		kept.Conn = &stubborn{kept.Conn, takes}
		_ = kept.Conn.(*stubborn).Conn.(*net.TCPConn).CloseRead() // else the rest is waited for
		kept.look = nil
		if err := send(c); (err != nil) != want || IsUncertain(err) != want {
			t.Errorf("%d bytes written: %v", takes, err)
		}
	}
}

// An answer that comes before the write breaks counts, and the connection is not used again.
func TestAnswerBeforeTheWriteBreaks(t *testing.T) {
	h := newHost(t, listen(t), func(_ int, c *caller) {
		c.hear()
		c.say(created201)
		if _, err := c.r.ReadByte(); err == nil {
			c.say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}")
		}
		c.wait()
	})
	c := h.client(t)
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	kept := c.carrier.(*direct).idle.list[0].link
	kept.Conn = &stubborn{kept.Conn, 1}
	if e := asError(t, send(c)); e.Status != 413 || e.Uncertain || len(c.carrier.(*direct).idle.list) != 0 {
		t.Errorf("got %v; %d connections kept", e, len(c.carrier.(*direct).idle.list))
	}
}

// The time of one call is not the time of the next on the same connection.
func TestTimeOfTheCallBefore(t *testing.T) {
	h := newHost(t, listen(t), func(_ int, c *caller) { c.serve() })
	c := h.client(t, func(o *Options) { o.Timeout = 50 * time.Millisecond })
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	over := time.Now().Add(50 * time.Millisecond)
	c.timeout = time.Minute
	for time.Now().Before(over.Add(10 * time.Millisecond)) {
		time.Sleep(time.Millisecond)
	}
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
	h := newHost(t, listen(t), func(_ int, c *caller) { c.serve() })
	c := h.client(t)
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	idle := &c.carrier.(*direct).idle
	idle.list[0].link.Conn = ending{idle.list[0].link.Conn, cancel}
	if _, err := c.SendMessage(ctx, idConv, NewMessage{ClientID: idClient, Text: "oi"}); err != nil || len(idle.list) != 0 {
		t.Errorf("%v; %d connections kept, want an answer and none", err, len(idle.list))
	}
}

// A read that is given up on a kept connection is not begun again.
func TestReadGivenUp(t *testing.T) {
	heard := make(chan struct{})
	h := newHost(t, listen(t), func(_ int, c *caller) {
		c.hear()
		c.say(created201)
		c.hear()
		heard <- struct{}{}
		c.wait()
	})
	c := h.client(t)
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-heard; cancel() }()
	if _, err := c.GetConversation(ctx, idConv); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "dial") {
		t.Errorf("got %v", err)
	}
}

func TestHeaderThatCannotBeSent(t *testing.T) {
	h := newHost(t, listen(t), func(_ int, c *caller) { c.serve() })
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
