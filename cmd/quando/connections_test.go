package main

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRefusedIdle shows that a connection over which only what is refused has come ends within
// seconds, and one over which the service delivers does not.
func TestRefusedIdle(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for ten seconds")
	}
	t.Parallel()
	o := newOffice(t)
	o.start(o.service())
	for name, header := range map[string]map[string]string{"refused": signed("guess", delivery), "trusted": signed(string(o.secret), delivery)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", strings.TrimPrefix(o.public, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
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
			began := time.Now()
			_ = c.SetReadDeadline(began.Add(10 * time.Second))
			_, err = b.ReadByte()
			if took := time.Since(began); (took < 9*time.Second) != (name == "refused") {
				t.Errorf("the idle connection ends after %v: %v", took, err)
			}
		})
	}
}

// TestConnectionsGiveWay shows which connection ends for a new one: the oldest stranger, when it
// had its time, and never one over which the service delivers.
func TestConnectionsGiveWay(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newPublicServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/signed" {
			trust(r)
		}
		w.WriteHeader(http.StatusNoContent)
	}), slog.New(slog.DiscardHandler))
	l := boundConnections(inner, s, "listen", strangerIdle, slog.New(slog.DiscardHandler)).(*connections)
	l.limit, l.safe = 2, 300*time.Millisecond
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	defer func() { _ = s.Close(); <-done }()
	connect := func(path string) (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: here\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return c, bufio.NewReader(c)
	}
	answered := func(b *bufio.Reader) bool {
		res, err := http.ReadResponse(b, nil)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusNoContent
	}
	trusted, fromTrusted := connect("/signed")
	if !answered(fromTrusted) {
		t.Fatal("the first has no answer")
	}
	_, stranger := connect("/")
	began := time.Now()
	if !answered(stranger) {
		t.Fatal("the second has no answer")
	}
	_, next := connect("/")
	if !answered(next) || time.Since(began) < 250*time.Millisecond {
		t.Errorf("a third has its answer after %v", time.Since(began))
	}
	if _, err := stranger.ReadByte(); err == nil {
		t.Error("the stranger is still there")
	}
	if _, err := io.WriteString(trusted, "POST / HTTP/1.1\r\nHost: here\r\n\r\n"); err != nil || !answered(fromTrusted) {
		t.Errorf("the trusted one has ended: %v", err)
	}
}
