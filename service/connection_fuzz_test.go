package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

// mostHostile is how much a hostile host says at once: no more than is on its way when it has said it, so that all of it is there when the next call is made.
const mostHostile = 16 << 10

// FuzzAnswer lets a host answer with anything, and close or not. The call comes to its end in time, and the next one gets its own answer, never what is left of the one before.
func FuzzAnswer(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, a := range answers {
		if len(a.answer) > mostHostile {
			continue
		}
		f.Add([]byte(a.answer), true)
		f.Add([]byte(a.answer), false)
		for range 3 {
			f.Add(spoilt(random, a.answer), random.IntN(4) > 0)
		}
	}
	f.Fuzz(func(t *testing.T, said []byte, closes bool) {
		if len(said) > mostHostile {
			return
		}
		over := make(chan struct{})
		h := newHost(t, listen(t), func(n int, c *caller) {
			if n == 1 {
				c.echo(1)
				if c.hear() {
					_, _ = c.Write(said)
				}
				if closes {
					_ = c.Close()
				}
				close(over)
			}
			c.echo(1 << 20)
		})
		d := h.client(t).carrier.(*direct)
		ask(t, d, "before", time.Minute)
		patience := time.Minute
		if !closes {
			patience = 30 * time.Millisecond // it may wait for more
		}
		ask(t, d, "", patience)
		<-over
		ask(t, d, "after", time.Minute)
	})
}

// spoilt is a text with some bytes changed, cut off, or said twice.
func spoilt(random *rand.Rand, text string) []byte {
	b := []byte(text)
	for range 1 + random.IntN(3) {
		i, j := random.IntN(len(b)), random.IntN(len(b))
		switch i, j = min(i, j), max(i, j)+1; random.IntN(4) {
		case 0:
			b[i] = byte(random.IntN(256))
		case 1:
			b = b[:j]
		case 2:
			b = append(b[:j:j], b[i:]...)
		case 3:
			b[i], b[j-1] = b[j-1], b[i]
		}
	}
	return b[:min(len(b), mostHostile)]
}

// echo answers so many requests, each with its own address.
func (c *caller) echo(times int) {
	for range times {
		r, err := http.ReadRequest(c.r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		c.say(withLength("HTTP/1.1 200 OK\r\n", r.URL.Path))
	}
}

// ask makes a call whose answer is known, unless it is for nothing: then anything may come of it, within its time.
func ask(t *testing.T, d *direct, what string, patience time.Duration) {
	t.Helper()
	end := time.Now().Add(patience)
	r := &outgoing{method: http.MethodPost, changes: true}
	r.address.Path = fmt.Sprintf("/%s/%d", what, rand.Uint64()) // which no host can guess
	var body bytes.Buffer
	done := make(chan struct{})
	var a response
	var err error
	go func() {
		defer close(done)
		a, err = d.carry(context.Background(), end, r, &body)
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s is not over long after its time", r.address.Path)
	}
	switch known := what != ""; {
	case known && (err != nil || a.cut != nil || a.status != 200 || body.String() != r.address.Path):
		t.Errorf("%s got %d %q, %v", r.address.Path, a.status, body.Bytes(), err)
	case !known && err == nil && (a.status < 0 || a.status > 999 || body.Len() > mostHostile):
		t.Errorf("of %d bytes at most came %d %.100q", mostHostile, a.status, body.Bytes())
	}
}
