package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A target is a receiver of deliveries.
type target struct {
	address string // host:port
	path    string
	apart   bool // each event has a conversation of its own
}

// A conn is a connection that deliveries are made over, one after the other.
type conn struct {
	to  target
	net net.Conn
	r   *bufio.Reader
	w   *writer

	line, body []byte
}

func dial(ctx context.Context, to target) (*conn, error) {
	c := &conn{to: to, w: newWriter(to.address, to.path)}
	c.w.apart = to.apart
	return c, c.connect(ctx)
}

func (c *conn) connect(ctx context.Context) (err error) {
	c.close()
	if c.net, err = new(net.Dialer).DialContext(ctx, "tcp", c.to.address); err != nil {
		return err
	}
	if c.r == nil {
		c.r = bufio.NewReaderSize(c.net, 4<<10)
	}
	c.r.Reset(c.net)
	return nil
}

func (c *conn) close() {
	if c.net != nil {
		_ = c.net.Close()
		c.net = nil
	}
}

// expect sets the deadline for all answers on this connection: a peer that never answers must not
// block the others.
func (c *conn) expect(within time.Duration) { _ = c.net.SetDeadline(time.Now().Add(within)) }

// deliver delivers an event and returns the status of the answer.
func (c *conn) deliver(n uint64) (int, error) { return c.send(c.w.write(n, time.Now())) }

// send sends a request and returns the status of the answer.
func (c *conn) send(request []byte) (int, error) {
	if _, err := c.net.Write(request); err != nil {
		return 0, err
	}
	return c.answer()
}

func (c *conn) answer() (status int, err error) {
	var length int
	if c.line, length, err = readHead(c.r, c.line); err != nil {
		return 0, unexpected(err)
	}
	if c.body, err = readBody(c.r, length, c.body); err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(c.line, []byte(" "))
	if len(rest) < 3 {
		return 0, fmt.Errorf("the answer begins with %q", c.line)
	}
	for _, d := range rest[:3] {
		status = 10*status + int(d-'0')
	}
	return status, nil
}

// A load is a closed loop: so many connections, each of which delivers the next event when the last
// was answered.
type load struct {
	to          target
	also        []target // others that take the same deliveries, connection by connection
	connections int
	next        *atomic.Uint64 // the last event delivered, shared so that none is delivered twice
	duration    time.Duration  // 0 is until events are over
	events      int            // 0 is as many as there is time for

	// again retries deliveries until they are answered, as the service does. Otherwise that is an
	// error.
	again bool
}

// A loaded is the result of a load.
type loaded struct {
	first, last uint64 // events: those between them were all acknowledged
	took        time.Duration
	delays      []time.Duration // from a delivery to its answer, sorted
}

func (l loaded) events() int { return int(l.last - l.first + 1) }

func (l loaded) perSecond() float64 { return float64(l.events()) / l.took.Seconds() }

// percentile returns a delay of a sorted list.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p/100*float64(len(sorted))))]
}

// run delivers. An answer that is not a 2xx is an error.
func (l load) run(ctx context.Context) (loaded, error) {
	out := loaded{first: l.next.Load() + 1}
	until := uint64(1 << 62)
	if l.events > 0 {
		until = l.next.Load() + uint64(l.events)
	}
	conns := make([]*conn, l.connections)
	targets := append([]target{l.to}, l.also...)
	for i := range conns {
		var err error
		if conns[i], err = dial(ctx, targets[i%len(targets)]); err != nil {
			return out, err
		}
		defer conns[i].close()
		if l.duration > 0 && !l.again {
			conns[i].expect(l.duration + time.Minute)
		}
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	for _, c := range conns {
		group.Go(func() {
			var delays []time.Duration
			for ctx.Err() == nil && (l.duration == 0 || time.Since(began) < l.duration) {
				n := l.next.Add(1)
				if n > until {
					l.next.Add(^uint64(0))
					break
				}
				sent := time.Now()
				if err := l.deliver(ctx, c, n); err != nil {
					fail(err)
					return
				}
				delays = append(delays, time.Since(sent))
			}
			mu.Lock()
			out.delays = append(out.delays, delays...)
			mu.Unlock()
		})
	}
	group.Wait()
	out.took, out.last = time.Since(began), l.next.Load()
	slices.Sort(out.delays)
	return out, context.Cause(ctx)
}

// deliver delivers an event until it is acknowledged.
func (l load) deliver(ctx context.Context, c *conn, n uint64) error {
	for {
		status, err := 0, net.ErrClosed
		if c.net != nil {
			status, err = c.deliver(n)
		}
		switch {
		case err == nil && status >= 200 && status < 300:
			return nil
		case !l.again && err == nil:
			return fmt.Errorf("delivery %d to %s was answered with %d: %s", n, c.to.address, status, bytes.TrimSpace(c.body))
		case !l.again:
			return fmt.Errorf("delivery %d to %s: %w", n, c.to.address, err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		time.Sleep(20 * time.Millisecond) // the pause of a client that retries
		if err := c.connect(ctx); err != nil {
			c.close()
		}
	}
}

// A paced load delivers at a steady rate, whether or not the one before was answered.
type paced struct {
	to       target
	rate     int // per second
	next     *atomic.Uint64
	duration time.Duration
}

// run delivers and returns when the delivery of each event began, and the latency of its answer. A
// delivery begins at its scheduled time, whether or not a connection is free. The timer of this
// program may be up to a millisecond late, which does not count as latency.
func (p paced) run(ctx context.Context) (began map[uint64]time.Time, out loaded, err error) {
	const connections = 64
	free := make(chan *conn, connections)
	for range connections {
		c, err := dial(ctx, p.to)
		if err != nil {
			return nil, out, err
		}
		defer c.close()
		free <- c
	}
	began = map[uint64]time.Time{}
	out.first = p.next.Load() + 1
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	start := time.Now()
	for i := range int(p.duration.Seconds() * float64(p.rate)) {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(p.rate))))
		n, at := p.next.Add(1), time.Now()
		began[n] = at
		c := <-free
		group.Go(func() {
			err := load{to: p.to}.deliver(ctx, c, n)
			mu.Lock()
			out.delays = append(out.delays, time.Since(at))
			mu.Unlock()
			free <- c
			if err != nil {
				fail(err)
			}
		})
	}
	group.Wait()
	out.took, out.last = time.Since(start), p.next.Load()
	slices.Sort(out.delays)
	return began, out, context.Cause(ctx)
}
