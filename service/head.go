package service

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/quandohq/quando/service/plainhead"
)

// head is an answer up to its body.
type head struct {
	status int
	header header
	last   bool // the connection is not to be used again

	body   io.Reader // nil means that so many bytes follow
	length int
}

// header is what an answer says beside its body.
type header struct {
	fields http.Header
	plain  plainhead.Fields // instead of fields
}

// Get returns the first value of a name; empty where there is none.
func (h header) Get(name string) string {
	if h.plain == "" {
		return h.fields.Get(name)
	}
	return h.plain.Get(name)
}

// readHead passes over what only announces the answer.
func readHead(r *bufio.Reader) (head, error) {
	for {
		come, _ := r.Peek(r.Buffered())
		if h, size, ok := plainHead(come); ok {
			_, err := r.Discard(size)
			return h, err
		}
		res, err := http.ReadResponse(r, nil) //nolint:bodyclose // to close it is to read it to its end, however far that is
		if err != nil {
			return head{}, err
		}
		if switches := res.StatusCode == http.StatusSwitchingProtocols; switches || res.StatusCode < 100 || res.StatusCode >= 200 {
			return head{status: res.StatusCode, header: header{fields: res.Header}, last: switches || res.Close, body: res.Body}, nil
		}
	}
}

// plainHead reads an answer's head that is plain, and returns how many bytes it has.
func plainHead(come []byte) (h head, size int, ok bool) {
	p, ok := plainhead.Read(come)
	if !ok || p.Length < 0 {
		return h, 0, false
	}
	h.status, ok = plainStatus(p.First)
	h.header.plain, h.length = p.Fields, p.Length
	return h, p.Size, ok
}

// plainStatus reads the first line. Answers that have no body, whatever their header says, are not plain.
func plainStatus(line string) (status int, ok bool) {
	code, found := strings.CutPrefix(line, "HTTP/1.1 ")
	if !found || len(code) < 3 || len(code) > 3 && code[3] != ' ' {
		return 0, false
	}
	for _, c := range []byte(code[:3]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		status = 10*status + int(c-'0')
	}
	return status, status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// readBody reads the body to its end.
func (h head) readBody(r *bufio.Reader, to *bytes.Buffer) error {
	if h.body != nil {
		return readBody(to, h.body)
	}
	to.Grow(h.length)
	b := to.AvailableBuffer()[:h.length]
	n, err := io.ReadFull(r, b)
	to.Write(b[:n])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
