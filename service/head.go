package service

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
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
	plain  string // instead of fields: as it is written, in lines
}

// Get returns the first value of a name; empty where there is none.
func (h header) Get(name string) string {
	if h.plain == "" {
		return h.fields.Get(name)
	}
	for line := range strings.SplitSeq(h.plain, lineEnd) {
		if n, value, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			return strings.Trim(value, " \t")
		}
	}
	return ""
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

const lineEnd = "\r\n"

// maxPlain bounds the body of an answer with a plain head: there is room for all of it before it comes.
const maxPlain = 64 << 10

// plainHead reads a head that is written as most are, at a fifth of what net/http takes for it, and returns how many bytes it has. It is ok only where all of it has come, nothing but one
// Content-Length says how the body is written, and there is nothing in it that needs a second thought; net/http has that.
func plainHead(come []byte) (h head, size int, ok bool) {
	end := bytes.Index(come, []byte(lineEnd+lineEnd))
	if end < 0 {
		return h, 0, false
	}
	line, fields, _ := bytes.Cut(come[:end], []byte(lineEnd))
	if h.status, ok = plainStatus(line); !ok {
		return h, 0, false
	}
	h.length = -1
	for rest := fields; len(rest) > 0; {
		line, rest, _ = bytes.Cut(rest, []byte(lineEnd))
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || !isPlainName(name) || !isPlainText(value) {
			return h, 0, false
		}
		switch value = bytes.Trim(value, " \t"); {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if h.length, ok = plainLength(value, h.length); !ok {
				return h, 0, false
			}
		case bytes.EqualFold(name, []byte("Connection")):
			if !bytes.EqualFold(value, []byte("keep-alive")) {
				return h, 0, false
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return h, 0, false
		}
	}
	h.header.plain = string(fields)
	return h, end + len(lineEnd+lineEnd), h.length >= 0
}

// plainStatus reads the first line. Answers that have no body, whatever their header says, are not plain.
func plainStatus(line []byte) (status int, ok bool) {
	code, found := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if !found || len(code) < 3 || len(code) > 3 && code[3] != ' ' || !isPlainText(code) {
		return 0, false
	}
	for _, c := range code[:3] {
		if c < '0' || c > '9' {
			return 0, false
		}
		status = 10*status + int(c-'0')
	}
	return status, status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// plainLength reads the one length of a body.
func plainLength(value []byte, before int) (length int, ok bool) {
	if len(value) == 0 || before >= 0 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' || length > maxPlain {
			return 0, false
		}
		length = 10*length + int(c-'0')
	}
	return length, length <= maxPlain
}

func isPlainName(name []byte) bool {
	for _, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return len(name) > 0
}

func isPlainText(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
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
