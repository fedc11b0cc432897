package service

import (
	"sync"
	"time"
)

// idle keeps the connections that no call uses. The one used last goes first, so that those that are not needed grow old.
type idle struct {
	timeout time.Duration

	mu    sync.Mutex
	list  []idleConnection // by when they were last used
	sweep *time.Timer      // runs while there are any
}

type idleConnection struct {
	*connection
	since time.Time
}

// take returns a connection that can be used until the given time, or nil.
func (i *idle) take(end time.Time) *connection {
	for {
		i.mu.Lock()
		last := len(i.list) - 1
		if last < 0 {
			i.mu.Unlock()
			return nil
		}
		c := i.list[last].connection
		i.list[last] = idleConnection{}
		i.list = i.list[:last]
		i.mu.Unlock()
		// The deadline of the call before may be over, and then not even a look is possible.
		if err := c.SetDeadline(end); err == nil && c.isQuiet() {
			return c
		}
		_ = c.link.Close()
	}
}

func (i *idle) put(c *connection) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.list) >= maxIdle {
		_ = c.Close()
		return
	}
	i.list = append(i.list, idleConnection{c, time.Now()})
	if i.sweep == nil {
		i.sweep = time.AfterFunc(i.timeout, i.closeOld)
	}
}

// closeOld closes the connections that nobody has used for too long.
func (i *idle) closeOld() {
	i.mu.Lock()
	defer i.mu.Unlock()
	young := 0
	for young < len(i.list) && time.Since(i.list[young].since) >= i.timeout {
		_ = i.list[young].Close()
		young++
	}
	i.list = append(i.list[:0:0], i.list[young:]...)
	if i.sweep = nil; len(i.list) > 0 {
		i.sweep = time.AfterFunc(i.timeout-time.Since(i.list[0].since), i.closeOld)
	}
}

func (i *idle) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.list {
		_ = c.Close()
	}
	i.list = nil
	if i.sweep != nil {
		i.sweep.Stop()
		i.sweep = nil
	}
}
