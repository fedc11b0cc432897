package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// hoard keeps so many connections open on which nothing comes to its end, and opens others for
// those that are ended, until ctx does.
func (a *apart) hoard(ctx context.Context, address string, n int, head string) (wait func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				if c, err := dial(address); err == nil {
					stop := context.AfterFunc(ctx, func() { _ = c.Close() })
					_, _ = io.WriteString(c, head)
					_, _ = io.Copy(io.Discard, c) // until it is ended
					_ = c.Close()
					stop()
				}
				time.Sleep(time.Second)
			}
		})
	}
	return all.Wait
}

// TestManyConnections lets a stranger open more connections than there are descriptors: what is
// signed is recorded all the same, and everything can be stopped.
func TestManyConnections(t *testing.T) {
	for name, head := range map[string]string{
		"silent": "", "half a head": "POST /webhook HTTP/1.1\r\nHost: h", "half a body": forgery(1000) + "{", "to the console": "GET / HTTP/1.1\r\nHost: h",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApart(t)
			a.begin(256, a.service())
			ctx, cancel := context.WithCancel(t.Context())
			to := a.public
			if name == "to the console" {
				to = a.console
			}
			wait := a.hoard(ctx, to, 400, head)
			defer func() { cancel(); wait() }()
			time.Sleep(time.Second)
			a.delivers(30)
			if n := a.descriptors(); n > 128 {
				t.Errorf("%d of 256 descriptors are in use", n)
			}
			client := trusting(false)
			client.Timeout = 30 * time.Second
			post := func() (*http.Response, error) {
				return client.Post(a.console+"/pause", "application/x-www-form-urlencoded", strings.NewReader("reason=attacked"))
			}
			res, err := post()
			for tries := 1; err != nil && tries < 5; tries++ { // a busy machine may be too slow to read the request in time
				res, err = post()
			}
			if err != nil {
				t.Fatalf("not everything can be stopped: %v", err)
			}
			_ = res.Body.Close()
			a.logs("hold placed", map[string]any{"kind": "person"})
		})
	}
}
