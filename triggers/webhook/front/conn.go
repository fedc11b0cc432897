package front

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"
)

// A conn is a connection over which only plain requests have come.
type conn struct {
	net.Conn
	server *Server
	door   *door
	remote string
	state  atomic.Int32

	buffer   []byte // what has been read and not used is its part up to filled
	filled   int
	out      []byte
	answered bool // a request has been

	reads, writes time.Time // its deadlines
}

// The states of a connection: nobody is being answered, somebody is, it has come to its end.
const (
	idle int32 = iota
	busy
	ended
)

// someRoom is what most deliveries need.
const someRoom = 4 << 10

// endIdle ends a connection over which nothing is under way.
func (c *conn) endIdle() {
	if c.state.CompareAndSwap(idle, ended) {
		_ = c.Close()
	}
}

// serve answers what is plain, and lets net/http have the rest.
func (c *conn) serve() {
	defer c.server.end(c)
	c.buffer, c.remote = make([]byte, someRoom), c.RemoteAddr().String()
	for patience := c.server.ReadHeaderTimeout; c.hear(patience); patience = c.server.IdleTimeout {
		r, size, ok := c.plain()
		if !ok || c.complete(size) != nil {
			c.leave()
			return
		}
		if !c.answer(r, size) {
			break
		}
		c.state.Store(idle)
		if c.server.closing.Load() {
			break
		}
	}
	_ = c.Close()
}

// hear waits for a request, and reports whether one has begun.
func (c *conn) hear(patience time.Duration) bool {
	for c.filled == 0 {
		putOff(&c.reads, patience, c.SetReadDeadline)
		n, _ := c.Read(c.buffer) // the next time tells what the matter was
		if n == 0 {
			return false
		}
		c.keep(c.buffer[:n])
	}
	return c.state.CompareAndSwap(idle, busy)
}

// keep keeps what has been read and not used. Empty lines behind a POST are passed over, as net/http does: old clients write them.
func (c *conn) keep(rest []byte) {
	if c.answered {
		rest = bytes.TrimLeft(rest, "\r\n")
	}
	c.filled = copy(c.buffer, rest)
}

// leave hands the connection over.
func (c *conn) leave() {
	_ = c.SetDeadline(time.Time{})
	if !c.door.pass(come{conn: &begun{c.Conn, c.buffer[:c.filled]}}) {
		_ = c.Close()
	}
}

// putOff allows so much time, or up to a tenth less: a deadline is not set for every request.
func putOff(deadline *time.Time, d time.Duration, set func(time.Time) error) {
	now := time.Now()
	if left := deadline.Sub(now); d > 0 && (left > d || left < d-d/10) {
		*deadline = now.Add(d)
		_ = set(*deadline)
	}
}

// plain returns the request with which begins what has been read, if it is plain, and how many bytes it has, its body included.
func (c *conn) plain() (r *http.Request, size int, ok bool) {
	r, head, ok := request(c.buffer[:c.filled])
	if !ok {
		return nil, 0, false
	}
	r.RemoteAddr = c.remote
	return r, head + int(r.ContentLength), true
}

// complete reads what is missing of a request of so many bytes.
func (c *conn) complete(size int) error {
	if size <= c.filled {
		return nil
	}
	if size > len(c.buffer) {
		c.buffer = append(make([]byte, 0, size), c.buffer[:c.filled]...)[:size]
	}
	putOff(&c.reads, c.server.ReadTimeout, c.SetReadDeadline)
	n, err := io.ReadFull(c.Conn, c.buffer[c.filled:size])
	c.filled += n
	return err
}

// answer answers a request, and reports whether there may be another one.
func (c *conn) answer(r *http.Request, size int) (more bool) {
	r.Body = io.NopCloser(bytes.NewReader(c.buffer[size-int(r.ContentLength) : size]))
	w := &answer{header: make(http.Header, 4)}
	if err := c.handle(w, r); err != nil {
		return false
	}
	c.out = w.append(c.out[:0], time.Now())
	putOff(&c.writes, c.server.WriteTimeout, c.SetWriteDeadline)
	if _, err := c.Write(c.out); err != nil {
		return false
	}
	rest := c.buffer[size:c.filled]
	if len(c.buffer) > maxKept {
		c.buffer = make([]byte, max(someRoom, len(rest)))
	}
	c.answered = true
	c.keep(rest)
	return w.header.Get("Connection") != "close"
}

// maxKept is the most room that a connection keeps.
const maxKept = 16 << 10

// handle has the handler answer. One that panics is told of, and ends the connection.
func (c *conn) handle(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic serving %s: %v", r.RemoteAddr, p)
			if c.server.ErrorLog != nil {
				c.server.ErrorLog.Printf("%v\n%s", err, debug.Stack())
			}
		}
	}()
	c.server.Handler.ServeHTTP(w, r)
	return nil
}

// An answer collects what a handler says.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, p...)
	return len(p), nil
}

// ours are the fields that a handler does not write.
var ours = map[string]bool{"Content-Length": true, "Date": true}

// append writes the answer as it goes over the wire.
func (a *answer) append(to []byte, now time.Time) []byte {
	a.WriteHeader(http.StatusOK)
	to = append(to, "HTTP/1.1 "...)
	to = strconv.AppendInt(to, int64(a.status), 10)
	to = append(to, ' ')
	to = append(to, http.StatusText(a.status)...)
	to = append(to, "\r\nDate: "...)
	to = now.UTC().AppendFormat(to, http.TimeFormat)
	to = append(to, "\r\nContent-Length: "...)
	to = strconv.AppendInt(to, int64(len(a.body)), 10)
	to = append(to, "\r\n"...)
	b := bytes.NewBuffer(to)
	_ = a.header.WriteSubset(b, ours) // memory takes everything
	b.WriteString("\r\n")
	b.Write(a.body)
	return b.Bytes()
}
