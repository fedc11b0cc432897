package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A host that hears a request on a kept connection and closes may have carried it out: only a
// read is repeated, and once.
func TestConnectionClosedAfterTheRequest(t *testing.T) {
	onlyHear := func(c *caller) { c.hear() }
	for _, tc := range []struct {
		name     string
		call     func(*Client) error
		others   func(*caller) // other connections
		requests int32
		fails    func(error) bool // nil is that it does not
	}{
		{"a call that changes something", send, (*caller).serve, 2, IsUncertain},
		{"a read", read, (*caller).serve, 3, nil},
		{"a read, of a host that always does so", read, onlyHear, 3, IsTemporary},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, c := acquainted(t, onlyHear, tc.others)
			err := tc.call(c)
			if tc.fails == nil && err != nil || tc.fails != nil && !tc.fails(err) {
				t.Errorf("got %v", err)
			}
			if got := h.requests.Load(); got != tc.requests {
				t.Errorf("%d requests, want %d", got, tc.requests)
			}
		})
	}
}

// A read that is given up on a kept connection is not begun again.
func TestReadGivenUp(t *testing.T) {
	heard := make(chan struct{})
	_, c := acquainted(t, func(c *caller) {
		c.hear()
		heard <- struct{}{}
		c.wait()
	}, (*caller).serve)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-heard; cancel() }()
	if _, err := c.GetConversation(ctx, idConv); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "dial") {
		t.Errorf("got %v", err)
	}
}

func TestHeaderThatCannotBeSent(t *testing.T) {
	h := serving(t)
	c := h.client(t)
	for _, value := range []string{"1\r\nX: y", "1\nX: y", "1\x00", "\x7f"} {
		_, err := c.do(t.Context(), request{op: opUpdateContact, id: "1", ifMatch: value})
		if err == nil || IsUncertain(err) || !strings.Contains(err.Error(), "If-Match") || h.requests.Load() != 0 {
			t.Errorf("%q: %v, %d requests", value, err, h.requests.Load())
		}
	}
}

// With many callers, some of which cancel, each answer reaches its caller.
func TestAnswersReachWhoAsked(t *testing.T) {
	h := newHost(t, listen(t), func(_ int, c *caller) {
		for n := 1; ; n++ {
			r, err := http.ReadRequest(c.r)
			if err != nil {
				return
			}
			_, id, _ := strings.Cut(r.URL.Path, "/conversations/")
			answer := withLength("HTTP/1.1 200 OK\r\n", `{"id":"`+id+`"}`)
			c.say(answer[:n%len(answer)])
			if n%50 == 0 {
				return
			}
			c.say(answer[n%len(answer):])
		}
	})
	c := h.client(t)
	var callers sync.WaitGroup
	var answered atomic.Int32
	for caller := range 16 {
		callers.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if n%5 == 0 {
					time.AfterFunc(time.Duration(10*n)*time.Microsecond, cancel)
				}
				id := fmt.Sprintf("%d-%d", caller, n)
				got, err := c.GetConversation(ctx, id)
				cancel()
				if err == nil && got.ID != id {
					t.Errorf("%s got the answer of %s", id, got.ID)
				}
				if n%5 != 0 && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("%s ended with somebody else's context: %v", id, err)
				}
				if err == nil {
					answered.Add(1)
				}
			}
		})
	}
	callers.Wait()
	if answered.Load() < 1600 {
		t.Errorf("%d of 3200 were answered", answered.Load())
	}
}
