package service

import (
	"net"
	"strings"
	"testing"
)

// answers are the answers of hosts, and the expected result of a call.
var answers = []struct {
	name, answer string
	status       int    // 0 means success
	says         string // the error
}{
	{name: "with its length", answer: created201},
	{name: "in chunks", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(jsonMessage) + "\r\n"},
	{name: "in chunks with a trailer", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n" + chunked(jsonMessage) + "X: y\r\n\r\n"},
	{name: "in chunks, with a length that lies", answer: "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(jsonMessage) + "\r\n"},
	{name: "after hints", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + created201},
	{name: "the last one", answer: withLength("HTTP/1.1 201 Created\r\nConnection: close\r\n", jsonMessage)},
	{name: "of HTTP/1.0", answer: withLength("HTTP/1.0 201 Created\r\n", jsonMessage)},
	{name: "of HTTP/1.0 that goes on", answer: withLength("HTTP/1.0 201 Created\r\nConnection: keep-alive\r\n", jsonMessage)},
	{name: "a refusal", answer: withLength("HTTP/1.1 404 Not Found\r\n", "<html>"), status: 404},
	{name: "not modified, with the length of what is not there", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", status: 304},
	{name: "another protocol", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", status: 101},
	{name: "a chunk without a size", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", status: 201, says: "invalid byte in chunk length"},
	{name: "two lengths", answer: "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", says: "Content-Length"},
	{name: "a length that is none", answer: "HTTP/1.1 201 Created\r\nContent-Length: -2\r\n\r\n{}", says: "Content-Length"},
	{name: "an encoding that nobody knows", answer: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked, rot13\r\n\r\n{}", says: "transfer encoding"},
	{name: "something else", answer: "SSH-2.0-OpenSSH_10.0\r\n\r\n", says: "malformed HTTP response"},
	{name: "a long line of something else", answer: strings.Repeat("x", 900<<10) + "\n", says: "malformed HTTP response"},
	{name: "a header that is none", answer: "HTTP/1.1 201 Created\r\n: x\r\n\r\n{}", says: "malformed MIME header"},
	{name: "a head without an end", answer: "HTTP/1.1 201 Created\r\nX: " + strings.Repeat("x", 1<<20), says: "exceeded 1048576 bytes"},
	{name: "hints without an end", answer: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50_000), says: "exceeded 1048576 bytes"},
	{name: "a body without an end", answer: withLength("HTTP/1.1 201 Created\r\n", strings.Repeat(" ", 9<<20)), status: 201, says: "larger than 8 MiB"},
	{name: "an early refusal", answer: withLength("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n", "{}"), status: 413},
}

// A call makes of an answer what it should, and a second call gets its own.
func TestAnswers(t *testing.T) {
	for _, tc := range answers {
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
			if err := send(c); err != nil || h.requests.Load() != 2 {
				t.Errorf("the next call: %v, %d requests", err, h.requests.Load())
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
	for _, size := range []int{10, 16 << 10, maxRequest - 200} {
		for name, after := range map[string]func(*caller){"kept open": (*caller).wait, "closed": func(*caller) {}} {
			h := newHost(t, listen(t), func(_ int, c *caller) {
				_ = c.Conn.(*net.TCPConn).SetReadBuffer(1 << 10)
				if _, err := c.r.ReadByte(); err == nil {
					c.say(refused413)
				}
				after(c)
			})
			_, err := h.client(t).SendMessage(t.Context(), idConv, NewMessage{ClientID: idClient, Text: strings.Repeat("x", size)})
			// A connection that is closed with unread bytes is reset, and the answer may be lost.
			if e := asError(t, err); e.Status != 413 && (name != "closed" || !e.Uncertain) {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			}
		}
	}
}
