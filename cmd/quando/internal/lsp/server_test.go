package lsp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

// brokenDesk fails as a bug would.
type brokenDesk struct{}

func (brokenDesk) Workspace(string) (Workspace, error)         { panic("a bug") }
func (brokenDesk) CheckTemplate(string, []byte) rules.Problems { panic("a bug") }

// TestPanic shows that a bug in one request is an error of that request, and of no other one.
func TestPanic(t *testing.T) {
	t.Parallel()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- New(Options{Desk: brokenDesk{}, Catalog: builtin.Catalog()}).Run(t.Context(), stdin, stdout)
	}()
	send := func(body string) { fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(body), body) }
	answers := bufio.NewReaderSize(out, maxHeader)
	answer := func(id string) message {
		for {
			body, err := readFrame(answers)
			if err != nil {
				t.Fatal(err)
			}
			var m message
			if err := json.Unmarshal(body, &m); err != nil {
				t.Fatal(err)
			}
			if string(m.ID) == id {
				return m
			}
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	answer("1")
	go func() { // what is told must be read while more is sent
		send(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.yaml","version":1,"text":"rules:\n"}}}`)
		send(`{"jsonrpc":"2.0","id":2,"method":"textDocument/completion","params":{"textDocument":{"uri":"file:///a.yaml"},"position":{"line":1,"character":0}}}`)
	}()
	if m := answer("2"); m.Error == nil || m.Error.Code != internalError {
		t.Errorf("%+v", m)
	}
	go send(`{"jsonrpc":"2.0","id":3,"method":"textDocument/formatting","params":{"textDocument":{"uri":"file:///a.yaml"}}}`)
	if m := answer("3"); m.Error != nil {
		t.Errorf("%+v", m.Error)
	}
	go send(`{"jsonrpc":"2.0","id":4,"method":"shutdown"}`)
	answer("4")
	go send(`{"jsonrpc":"2.0","method":"exit"}`)
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestPositions goes from every place of a text to its position and back, in both encodings and
// with all ends of lines.
func TestPositions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "ã🙂x\n", "é\r\n🙂🙂\r\n\r\nz", "a\rb\r\nc\n\r", "🙂"} {
		for _, units := range []encoding{utf8Units, utf16Units} {
			d := newDocument("file:///a.yaml", 1, text, units)
			for offset := range text {
				if text[offset] == '\n' || text[offset] == '\r' {
					continue // a position is never between \r and \n
				}
				if got := d.offset(d.position(offset)); got != offset {
					t.Errorf("%q, %s: %d becomes %+v becomes %d", text, units, offset, d.position(offset), got)
				}
				if line, column := d.place(d.position(offset)); d.offsetAt(line, column) != offset {
					t.Errorf("%q, %s: %d becomes %d:%d becomes %d", text, units, offset, line, column, d.offsetAt(line, column))
				}
			}
			for _, p := range []position{{-1, 0}, {0, -1}, {99, 99}, {0, 99}} {
				if at := d.offset(p); at < 0 || at > len(text) {
					t.Errorf("%q: %+v is %d", text, p, at)
				}
			}
		}
	}
	for units, want := range map[encoding]int{utf16Units: 4, utf8Units: 7} {
		if got := newDocument("file:///a.yaml", 1, "ã🙂ab", units).position(len("ã🙂a")); got.Character != want {
			t.Errorf("%s: b is at %d, not at %d", units, got.Character, want)
		}
	}
	d := newDocument("file:///a.yaml", 1, "a🙂b\nc", utf16Units)
	d = d.changed(2, []contentChange{{&textRange{position{0, 3}, position{1, 0}}, "ã"}, {&textRange{position{0, 1}, position{0, 3}}, ""}})
	if d.text != "aãc" || d.version != 2 {
		t.Errorf("%q", d.text)
	}
}

// FuzzFrame reads whatever comes.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("content-length:99999999999999999999\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(newSlowReader(data), maxHeader)
		for {
			body, err := readFrame(r)
			if err != nil {
				return
			}
			if len(body) > maxFrame {
				t.Errorf("%d bytes", len(body))
			}
		}
	})
}

// A slowReader gives a few bytes at a time, as a pipe may.
type slowReader struct{ data []byte }

func newSlowReader(data []byte) *slowReader { return &slowReader{data} }

func (s *slowReader) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 3)], s.data)
	s.data = s.data[n:]
	return n, nil
}
