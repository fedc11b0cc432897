package service

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"testing"
)

// BenchmarkSendOverHTTP measures a call over loopback, to a service that does next to nothing.
func BenchmarkSendOverHTTP(b *testing.B) {
	c := answered(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := send(c); err != nil {
			b.Fatal(err)
		}
	}
}

// A call must not become dearer unnoticed: an engine makes little else. The bound leaves room for
// what a pool loses under the race detector.
func TestSendAllocates(t *testing.T) {
	c := answered(t)
	got := testing.AllocsPerRun(500, func() {
		if err := send(c); err != nil {
			t.Fatal(err)
		}
	})
	if got > 95 {
		t.Errorf("a call makes %v allocations", got)
	}
}

// answered gives a client for such a service.
func answered(t testing.TB) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go answerMessages(l)
	c, err := New(Options{BaseURL: "http://" + l.Addr().String() + "/v1", APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// answerMessages answers every request with a message.
func answerMessages(l net.Listener) {
	answer := fmt.Appendf(nil, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nDate: Fri, 13 Nov 2026 20:50:00 GMT\r\nContent-Length: %d\r\n\r\n%s", len(jsonMessage), jsonMessage)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			r := bufio.NewReader(c)
			for length := 0; ; {
				line, err := r.ReadSlice('\n')
				if err != nil {
					return
				}
				if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
					length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
				}
				if len(line) > 2 {
					continue
				}
				if _, err := r.Discard(length); err != nil {
					return
				}
				if _, err := c.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}
