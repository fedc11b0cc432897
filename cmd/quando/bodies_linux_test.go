package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// mostResident is the memory in MiB that quando may have, whoever attacks it.
const mostResident = 150

// TestUnverifiedBodies lets strangers hold back the last byte of bodies of 1 MiB, as many as they
// can, over HTTP/2 and HTTP/1.1: the memory stays small, what the bound does not hold is refused
// with 503, and what is signed is recorded meanwhile, also when it is large.
func TestUnverifiedBodies(t *testing.T) {
	for name, attack := range map[string]func(*testing.T, *apart, *atomic.Int32){"240 streams": manyStreams, "300 connections": manyBodies} {
		t.Run(name, func(t *testing.T) {
			a := newApart(t)
			extra := a.service()
			if strings.Contains(name, "streams") {
				extra += a.encrypt()
			}
			a.begin(4096, extra)
			var crowded atomic.Int32
			attack(t, a, &crowded)
			a.delivers(20)
			large := strings.Replace(delivery, `"c1"`, `"c1","name":"`+strings.Repeat("n", 1<<20-len(delivery)-10)+`"`, 1)
			if status, _, err := a.deliverBody(trusting(false), large); status != http.StatusAccepted {
				t.Errorf("a signed delivery of %d bytes is answered with %d %v", len(large), status, err)
			}
			if got := a.peak(); got > mostResident && !raceDetector {
				t.Errorf("it takes %d MiB, want at most %d", got, mostResident)
			}
		})
	}
}

// manyStreams sends 240 bodies over HTTP/2.
func manyStreams(t *testing.T, a *apart, crowded *atomic.Int32) {
	ctx, cancel := context.WithCancel(context.Background())
	client := trusting(true)
	client.Timeout = 0
	var all sync.WaitGroup
	for range 240 {
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.public+"/webhook", &stalled{1<<20 - 1, ctx.Done()})
			if err != nil {
				t.Error(err)
				return
			}
			for k, v := range signed("guess", "") {
				r.Header.Set(k, v)
			}
			r.ContentLength = 1 << 20
			if res, err := client.Do(r); err == nil {
				countCrowded(res, crowded)
			}
		})
	}
	t.Cleanup(func() { cancel(); client.CloseIdleConnections(); all.Wait() })
	refuses(t, crowded)
}

// manyBodies sends 300 bodies, each over a connection of its own.
func manyBodies(t *testing.T, a *apart, crowded *atomic.Int32) {
	var all sync.WaitGroup
	for range 300 {
		c, err := dial(a.public)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		all.Go(func() {
			_, _ = io.WriteString(c, forgery(1<<20)+strings.Repeat("x", 1<<20-1)) // it may be refused before
		})
		go func() {
			if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				countCrowded(res, crowded)
			}
		}()
	}
	all.Wait()
	refuses(t, crowded)
}

// refuses waits until somebody is answered with 503 and when to come again.
func refuses(t *testing.T, crowded *atomic.Int32) {
	t.Helper()
	clitest.Eventually(t, func() (bool, string) {
		return crowded.Load() > 0, "nobody was answered with 503 and when to come again"
	})
}

func countCrowded(res *http.Response, crowded *atomic.Int32) {
	if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "" {
		crowded.Add(1)
	}
	_ = res.Body.Close()
}
