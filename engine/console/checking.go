package console

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Bounds of checks of rules: whoever writes one waits for it, and the engine works beside it.
const (
	checkTime    = 10 * time.Second
	checkWaiting = 4 // of one person, besides the one that goes on
)

// checking lets each person check one text at a time.
type checking struct {
	most time.Duration // that a check may take, with the wait for it

	mu   sync.Mutex
	each map[string]*checker // by person; whoever checks nothing has none
}

// A checker is a person who has texts checked.
type checker struct {
	turn  chan struct{}
	users int // checks that go on or wait
}

// checking does something that checks a text, when the person's other checks are over, and until the time or the request ends.
func (c *Console) checking(q *request, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(q.ctx(), c.checked.most)
	defer cancel()
	leave, err := c.checked.enter(ctx, q.user.role.String()+" "+q.user.name)
	if err == nil {
		defer leave()
		err = do(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) && q.ctx().Err() == nil {
		return problem(http.StatusServiceUnavailable, "error.slow")
	}
	return err
}

// enter waits for a person's turn, and returns what ends it.
func (c *checking) enter(ctx context.Context, person string) (leave func(), err error) {
	c.mu.Lock()
	one := c.each[person]
	if one == nil {
		one = &checker{turn: make(chan struct{}, 1)}
		c.each[person] = one
	}
	if one.users > checkWaiting {
		c.mu.Unlock()
		return nil, problem(http.StatusTooManyRequests, "error.checks")
	}
	one.users++
	c.mu.Unlock()
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(c.each, person)
		}
	}
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}
