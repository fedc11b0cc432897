package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/service"
)

// attackers are everybody that quando is attacked by, at the same time.
var attackers = []attacker{
	{name: "forged flood", run: forgedFlood},
	{name: "large forgeries", run: largeForgeries},
	{name: "stalled bodies", run: stalledBodies},
	{name: "slow heads", run: slowHeads},
	{name: "many connections", run: manyConnections},
	{name: "hostile requests", run: hostileRequests},
	{name: "replays", run: replays},
	{name: "streams", run: streams, only: "https"},
}

// clientOf returns a client of the office's service.
func clientOf(o *office) *service.Client {
	return must(service.New(service.Options{BaseURL: o.address.BaseURL, APIKey: service.Secret(o.address.APIKey)}))
}

// several runs so many of the same.
func several(ctx context.Context, n int, pause time.Duration, f func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() { every(ctx, pause, func(int) { f() }) })
	}
	all.Wait()
}

// post sends a body with a header.
func (c *campaign) post(ctx context.Context, client *http.Client, attacker string, header map[string]string, body io.Reader, length int64) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.public+"/webhook", body)
	if err != nil {
		c.t.Error(err)
		return
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	r.ContentLength = length
	res, err := client.Do(r)
	if err != nil {
		c.note(attacker, "no answer")
		return
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	c.note(attacker, strconv.Itoa(res.StatusCode))
}

// forgedFlood sends small deliveries that nobody has signed, one after the other, over kept
// connections.
func forgedFlood(ctx context.Context, c *campaign) {
	client := trusting(true)
	several(ctx, 4, 2*time.Millisecond, func() {
		c.post(ctx, client, "forged flood", signed("guess", delivery), strings.NewReader(delivery), int64(len(delivery)))
	})
}

// largeForgeries sends bodies of 1 MiB as fast as they are taken.
func largeForgeries(ctx context.Context, c *campaign) {
	client, body := trusting(true), bytes.Repeat([]byte("x"), 1<<20)
	several(ctx, 3, 50*time.Millisecond, func() {
		c.post(ctx, client, "large forgeries", signed("guess", "x"), bytes.NewReader(body), int64(len(body)))
	})
}

// stalledBodies holds back the last byte of bodies of 1 MiB.
func stalledBodies(ctx context.Context, c *campaign) {
	c.hoards(ctx, "stalled bodies", 40, 500*time.Millisecond, func() string { return forgery(1<<20) + strings.Repeat("x", 1<<20-1) })
}

// slowHeads never comes to the end of the head, which has grown as large as it may.
func slowHeads(ctx context.Context, c *campaign) {
	head := "POST /webhook HTTP/1.1\r\nHost: here\r\nX-Long: " + strings.Repeat("x", 14<<10)
	c.hoards(ctx, "slow heads", 30*c.scale, 500*time.Millisecond, func() string { return head })
}

// manyConnections opens more connections than are allowed, says nothing, and opens others for those
// that are ended.
func manyConnections(ctx context.Context, c *campaign) {
	c.hoards(ctx, "many connections", 500*c.scale, 3*time.Second, func() string { return "" })
}

// hoards keeps so many connections open on which nothing comes to its end.
func (c *campaign) hoards(ctx context.Context, attacker string, n int, pause time.Duration, say func() string) {
	one := func() {
		conn, err := dial(c.public)
		if err != nil {
			c.note(attacker, "not connected")
			return
		}
		defer conn.Close()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		go func() { _, _ = io.WriteString(conn, say()) }() // it may be answered before all is sent
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			_ = res.Body.Close()
			c.note(attacker, strconv.Itoa(res.StatusCode))
		} else if ctx.Err() == nil {
			c.note(attacker, "ended")
		}
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			time.Sleep(time.Second * time.Duration(i) / time.Duration(n)) // not all at once: both ends are on this machine
			every(ctx, pause, func(int) { one() })
		})
	}
	all.Wait()
}

// hostileRequests sends what is no delivery, or none that can be right.
func hostileRequests(ctx context.Context, c *campaign) {
	right := signed("guess", "")
	head := "Host: here\r\nX-Service-Timestamp: " + right["X-Service-Timestamp"] + "\r\nX-Service-Signature: " + right["X-Service-Signature"] + "\r\n"
	texts := []string{
		"POST /webhook HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("400\r\n"+strings.Repeat("x", 0x400)+"\r\n", 1100), // more than 1 MiB, bit by bit
		"POST /webhook HTTP/1.1\r\n" + head + "Content-Length: 99999999999\r\n\r\n" + strings.Repeat("x", 5000),
		"POST /webhook HTTP/1.1\r\n" + head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
		"POST /webhook HTTP/1.1\r\n" + head + "Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n\x1f\x8b\x08\x00xxxxxx",
		"POST /webhook HTTP/1.1\r\n" + head + strings.Repeat("X-Many: y\r\n", 5000) + "\r\n",
		"POST /webhook HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\nx",
		"POST /webhook/" + strings.Repeat("%2e%2e/", 500) + " HTTP/1.1\r\n" + head + "\r\n",
		"POST /webhook HTTP/1.0\r\n" + head + "\r\nx",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00", 1000),
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\xff", 600),
		"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n",
	}
	var all sync.WaitGroup
	for _, text := range texts {
		first, _, _ := strings.Cut(text, "\r\n")
		all.Go(func() {
			c.hoards(ctx, fmt.Sprintf("hostile %.20q of %d bytes", first, len(text)), 1, 100*time.Millisecond, func() string { return text })
		})
	}
	all.Wait()
}

// replays sends again what the service has signed: at once, and when it is too old.
func replays(ctx context.Context, c *campaign) {
	client := trusting(true)
	body := strings.Replace(delivery, "e1", "replayed", 1)
	if status, _, err := c.deliverBody(client, body); status != http.StatusAccepted {
		c.note("replays", fmt.Sprint("not delivered: ", status, " ", err))
		return
	}
	c.mu.Lock()
	c.delivered++
	c.mu.Unlock()
	several(ctx, 2, 20*time.Millisecond, func() {
		for _, age := range []time.Duration{0, 6 * time.Minute, -6 * time.Minute} {
			c.post(ctx, client, fmt.Sprint("replays of ", age, " ago"), signedAt(string(c.secret), body, time.Now().Add(-age)), strings.NewReader(body), int64(len(body)))
		}
	})
}

// streams opens as many streams over HTTP/2 as it may, with bodies that stall, and ends others as
// soon as they have begun.
func streams(ctx context.Context, c *campaign) {
	client := trusting(true)
	client.Timeout = 0
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		several(ctx, 48, 500*time.Millisecond, func() {
			c.post(ctx, client, "streams", signed("guess", ""), &stalled{1<<20 - 1, ctx.Done()}, 1<<20)
		})
	})
	several(ctx, 8, 5*time.Millisecond, func() {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		c.post(short, client, "reset streams", signed("guess", ""), &stalled{1000, short.Done()}, 1<<20)
	})
}
