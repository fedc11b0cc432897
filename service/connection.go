package service

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
)

// maxHead bounds the status line and the header of an answer, with all that announces it.
const maxHead = 1 << 20

// connection is one over which requests and answers follow each other. It is used by one goroutine at a time.
type connection struct {
	net.Conn // the encrypted one where it is encrypted
	link     *link
	r        *bufio.Reader
}

func newConnection(c net.Conn, l *link) *connection {
	return &connection{c, l, bufio.NewReader(c)}
}

// noAnswer says that a request was sent, or a part of it, and that not a byte came back.
type noAnswer struct{ error }

func (e noAnswer) Unwrap() error { return e.error }

// exchange sends a request and reads the answer, its body into a buffer, and reports whether the connection can be used again.
func (c *connection) exchange(ctx context.Context, request []byte, body *bytes.Buffer) (a response, reusable bool, err error) {
	c.link.sent, c.link.failed = false, nil
	_, failed := c.Write(request)
	if failed != nil && !c.link.sent {
		return a, false, notSent{ended(ctx, failed)}
	}
	// Who refuses a request may answer before it was read, and close: the answer counts, not the failure to write.
	c.link.left = maxHead
	if _, err := c.r.Peek(1); err != nil {
		return a, false, noAnswer{ended(ctx, cmp.Or(failed, err))}
	}
	h, err := readHead(c.r)
	if err != nil {
		return a, false, ended(ctx, fmt.Errorf("the answer's head: %w", c.link.why(err)))
	}
	c.link.left = math.MaxInt64
	a = response{h.status, h.header, ended(ctx, c.link.why(h.readBody(c.r, body)))}
	reusable = failed == nil && a.cut == nil && !h.last && c.r.Buffered() == 0
	return a, reusable, nil
}

// ended is the error of a context where that is what a deadline of a connection stands for.
func ended(ctx context.Context, err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return context.DeadlineExceeded
}

// isQuiet reports whether nothing has come over a connection since it was used last: neither its end nor bytes that nobody asked for, which would be taken for the next answer.
func (c *connection) isQuiet() bool {
	c.link.looking, c.link.heard = true, false
	_, err := c.r.Peek(1)
	c.link.looking = false
	return errors.Is(err, errNothing) && !c.link.heard
}

// link is the connection to the host itself, below its encryption.
type link struct {
	net.Conn
	look    *look
	left    int64 // how many bytes may still be read
	sent    bool  // whether anything was written
	looking bool  // reads do not wait
	heard   bool  // whether looking found anything
	failed  error // why nothing more can be read, unless it has come to its end
}

func newLink(socket net.Conn) *link {
	return &link{Conn: socket, look: newLook(socket), left: math.MaxInt64}
}

// errNothing is what a look returns where there is nothing to read. To the layer of encryption it is a deadline, after which one may go on.
var errNothing = os.ErrDeadlineExceeded

var errLongHead = fmt.Errorf("it is larger than %d MiB", maxHead>>20)

func (l *link) Read(p []byte) (n int, err error) {
	if l.looking {
		n, err = l.look.Read(p)
		l.heard = l.heard || n > 0
		return n, err
	}
	if l.left <= 0 {
		n, err = 0, errLongHead
	} else {
		n, err = l.Conn.Read(p[:min(int64(len(p)), l.left)])
		l.left -= int64(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.failed = err
	}
	return n, err
}

// why is the reason for which an answer could not be read. Parsers tell of the line that is cut off, not always of what cut it off.
func (l *link) why(err error) error {
	if err != nil && l.failed != nil {
		return l.failed
	}
	return err
}

func (l *link) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	l.sent = l.sent || n > 0
	return n, err
}
