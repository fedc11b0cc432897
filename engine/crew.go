package engine

import (
	"context"
	"sync"
	"time"
)

// A crew visits lanes, with as many goroutines as there are visits at a time. They stay for a while, because a stack that has grown is worth keeping.
type crew struct {
	mu      sync.RWMutex
	open    bool            // Run is at work
	ctx     context.Context // ends when nothing more is to be begun
	working context.Context // ends when nothing more can be waited for
	clock   func() time.Time

	visits sync.WaitGroup // under way
	idle   chan func()    // for somebody who has nothing to do
	closed chan struct{}
}

// idleFor is how long somebody stays who has nothing to do.
const idleFor = 10 * time.Second

// begin lets lanes be visited.
func (c *crew) begin(ctx, working context.Context, clock func() time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.ctx, c.working, c.clock = true, ctx, working, clock
	c.idle, c.closed = make(chan func()), make(chan struct{})
}

// end waits until nothing is under way, and nothing more can be.
func (c *crew) end() {
	c.mu.Lock()
	c.open = false
	c.mu.Unlock()
	c.visits.Wait()
	close(c.closed)
}

// join makes the caller one of the crew until it parts, and reports whether that can be.
func (c *crew) join() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.open {
		c.visits.Add(1)
	}
	return c.open
}

// part ends what join began.
func (c *crew) part() { c.visits.Done() }

// stopping reports whether nothing more is to be begun.
func (c *crew) stopping() bool { return c.ctx.Err() != nil }

// do lets somebody else visit a lane in place of the caller, who has joined and need not part.
func (c *crew) do(visit func()) {
	one := func() {
		defer c.part()
		visit()
	}
	select {
	case c.idle <- one:
	default:
		go stay(one, c.idle, c.closed)
	}
}

// stay does something, and whatever else there is until it has been idle for long.
func stay(do func(), idle <-chan func(), closed <-chan struct{}) {
	timer := time.NewTimer(idleFor)
	defer timer.Stop()
	for {
		do()
		timer.Reset(idleFor)
		select {
		case do = <-idle:
		case <-closed:
			return
		case <-timer.C:
			return
		}
	}
}
