package process

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

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
	l := boundConnections(inner, s, "listen", unverifiedIdle, slog.New(slog.DiscardHandler)).(*connections)
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
		_ = c.SetDeadline(time.Now().Add(time.Minute))
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
