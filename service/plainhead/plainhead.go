// Package plainhead reads the head of an HTTP message that is written as most are, at a fifth of what net/http takes for it. Everything else it leaves to net/http.
package plainhead

import (
	"bytes"
	"iter"
	"strings"
)

const lineEnd = "\r\n"

// MaxBody bounds the body of a message with a plain head: there is room for all of it before it comes.
const MaxBody = 64 << 10

// A Head is what comes before the body.
type Head struct {
	First  string // the line of the request, or of the status
	Fields Fields
	Length int // of the body; -1 where it is not told
	Size   int // bytes of the head itself
}

// Fields are the lines of a header, as they are written.
type Fields string

// Read reads the head with which bytes begin. It is ok only where all of it has come, nothing but one Content-Length says how the body is written, the connection is to be kept, and there is
// nothing in it that needs a second thought.
func Read(come []byte) (h Head, ok bool) {
	end := bytes.Index(come, []byte(lineEnd+lineEnd))
	if end < 0 {
		return h, false
	}
	first, fields, _ := strings.Cut(string(come[:end]), lineEnd)
	h = Head{First: first, Fields: Fields(fields), Length: -1, Size: end + len(lineEnd+lineEnd)}
	if !isText(first) {
		return h, false
	}
	for name, value := range h.Fields.All() {
		if !isName(name) || !isText(value) {
			return h, false
		}
		switch {
		case strings.EqualFold(name, "Content-Length"):
			if h.Length, ok = length(value, h.Length); !ok {
				return h, false
			}
		case strings.EqualFold(name, "Connection"):
			if !strings.EqualFold(value, "keep-alive") {
				return h, false
			}
		case strings.EqualFold(name, "Transfer-Encoding"):
			return h, false
		}
	}
	return h, true
}

// All returns the names and values, in their order. A line without a colon has no name.
func (f Fields) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for rest := string(f); rest != ""; {
			var line string
			line, rest, _ = strings.Cut(rest, lineEnd)
			name, value, found := strings.Cut(line, ":")
			if !found {
				name = ""
			}
			if !yield(name, strings.Trim(value, " \t")) {
				return
			}
		}
	}
}

// Get returns the first value of a name; empty where there is none.
func (f Fields) Get(name string) string {
	for n, value := range f.All() {
		if strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// length reads the one length of a body.
func length(value string, before int) (n int, ok bool) {
	if value == "" || before >= 0 {
		return 0, false
	}
	for _, c := range []byte(value) {
		if c < '0' || c > '9' || n > MaxBody {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, n <= MaxBody
}

func isName(s string) bool {
	for _, c := range []byte(s) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != ""
}

func isText(s string) bool {
	for _, c := range []byte(s) {
		if (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}
