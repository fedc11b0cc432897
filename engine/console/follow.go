package console

import (
	"context"
	"time"
)

const (
	followEvery = 500 * time.Millisecond // interval of polling for new events
	followNext  = 10 * time.Millisecond  // between one part and the next
	followAgain = 10 * time.Second       // after a failure
)

// Run keeps what conversations are found by up with the events, until ctx ends. Without it pages
// follow as far as they need it, which is not far.
func (c *Console) Run(ctx context.Context) {
	for {
		pause := followEvery
		switch more, err := c.options.Journal.Follow(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.log.Error("what conversations are found by is not up to date", "error", err)
			pause = followAgain
		case more:
			pause = followNext
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
