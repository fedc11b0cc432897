package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// documentWriter writes a JSON object part by part and keeps the first error.
type documentWriter struct {
	out     *bufio.Writer
	encoder *json.Encoder
	begun   bool
	err     error
}

func newDocument(to io.Writer) *documentWriter {
	out := bufio.NewWriterSize(to, 64<<10)
	return &documentWriter{out: out, encoder: json.NewEncoder(out)}
}

func (w *documentWriter) sign(c byte) {
	if err := w.out.WriteByte(c); w.err == nil {
		w.err = err
	}
}

func (w *documentWriter) value(v any) {
	if w.err == nil {
		w.err = w.encoder.Encode(v)
	}
}

func (w *documentWriter) name(name string) {
	if w.begun {
		w.sign(',')
	} else {
		w.sign('{')
	}
	w.begun = true
	w.value(name)
	w.sign(':')
}

func (w *documentWriter) part(name string, v any) {
	w.name(name)
	w.value(v)
}

func (w *documentWriter) end() error {
	w.sign('}')
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}

// items writes a part that is a list.
func items[T any](w *documentWriter, name string, list iter.Seq[T]) {
	w.name(name)
	w.sign('[')
	first := true
	for v := range list {
		if !first {
			w.sign(',')
		}
		first = false
		if w.value(v); w.err != nil {
			return
		}
	}
	w.sign(']')
}

func mapped[T, U any](list iter.Seq[T], to func(T) U) iter.Seq[U] {
	return func(yield func(U) bool) {
		for v := range list {
			if !yield(to(v)) {
				return
			}
		}
	}
}

func flat[T, U any](list iter.Seq[T], of func(T) []U) iter.Seq[U] {
	return func(yield func(U) bool) {
		for v := range list {
			for _, u := range of(v) {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// The functions below split valid JSON without copying it: a state can be large, and each of its
// parts is read on its own.

// membersOf returns the members of a JSON object; the last of a name counts.
func membersOf(object []byte) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for member := range inside(object) {
		colon := bytes.IndexByte(member, ':')
		var name string
		for json.Unmarshal(member[:colon], &name) != nil { // a colon within the name
			colon += 1 + bytes.IndexByte(member[colon+1:], ':')
		}
		out[name] = json.RawMessage(member[colon+1:])
	}
	return out
}

// inside yields what stands between the commas of a JSON array or object.
func inside(src []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		src = bytes.TrimSpace(src)
		src = bytes.TrimSpace(src[1 : len(src)-1])
		for len(src) > 0 {
			end := valueEnd(src)
			if !yield(src[:end]) || end == len(src) {
				return
			}
			src = src[end+1:]
		}
	}
}

// valueEnd returns where the value at the beginning of src ends: at the comma
// that follows it, or with src.
func valueEnd(src []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(src)
}
