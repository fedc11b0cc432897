package console

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Bounds of rule checks: a person waits for the answer, and the engine shares the processors.
const (
	checkTime    = 10 * time.Second
	checkWaiting = 4 // of one person, besides the running one
)

// checking runs one check at a time for each person.
type checking struct {
	most time.Duration // for waiting and checking

	mu   sync.Mutex
	each map[string]*checker // by person, while they have checks
}

// A checker queues the checks of one person.
type checker struct {
	turn  chan struct{}
	users int // checks that run or wait
}

// checking runs a check after the person's other checks. Its context ends with the request, or when
// the time is over.
func (c *Console) checking(q *request, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(q.ctx(), c.checked.most)
	defer cancel()
	leave, err := c.checked.enter(ctx, q.user.Role.String()+" "+q.user.Name)
	if err == nil {
		defer leave()
		err = do(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) && q.ctx().Err() == nil {
		return problem(http.StatusServiceUnavailable, "error.slow")
	}
	return err
}

// enter waits until the person's other checks are over. The caller calls leave at the end.
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
