package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRefusedIdle shows that a connection over which only what is refused has come ends within
// seconds, and one over which the service delivers does not.
func TestRefusedIdle(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for five seconds")
	}
	t.Parallel()
	o := newOffice(t)
	o.start(o.service())
	deliver := func(header map[string]string) (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp", strings.TrimPrefix(o.public, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		r := httptest.NewRequest("POST", o.public+"/webhook", strings.NewReader(delivery))
		for k, v := range header {
			r.Header.Set(k, v)
		}
		if err := r.Write(c); err != nil {
			t.Fatal(err)
		}
		b := bufio.NewReader(c)
		res, err := http.ReadResponse(b, r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return c, b
	}
	trusted, fromTrusted := deliver(signed(string(o.secret), delivery))
	refused, fromRefused := deliver(signed("guess", delivery))
	_ = refused.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := fromRefused.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection of a stranger ends with %v", err)
	}
	_ = trusted.SetReadDeadline(time.Now().Add(time.Second)) // it began before the other
	if _, err := fromTrusted.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the idle connection of the service ends with %v", err)
	}
}
