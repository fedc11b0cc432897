package main

import (
	"bufio"
	"io"
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
