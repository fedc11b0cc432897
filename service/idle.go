package service

import (
	"slices"
	"sync"
	"time"
)

// idle keeps the connections that no call uses. The one used last goes first, so that those that are not needed grow old. Nobody waits for another's connection to be
// closed: to say goodbye on an encrypted one may take long.
type idle struct {
	timeout time.Duration
	look    time.Duration // how often it is looked for those that the host has ended

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
	if !i.keep(c) {
		_ = c.Close()
	}
}

// keep keeps a connection, and reports whether there was room for it.
func (i *idle) keep(c *connection) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.list) >= maxIdle {
		return false
	}
	i.list = append(i.list, idleConnection{c, time.Now()})
	if i.sweep == nil {
		i.sweep = time.AfterFunc(min(i.look, i.timeout), i.clear)
	}
	return true
}

// clear closes the connections that nobody has used for too long, and those that the host has ended: each of them takes a place among the files of the process.
func (i *idle) clear() {
	for _, c := range i.over() {
		_ = c.Close()
	}
}

// over takes out the connections that are of no more use.
func (i *idle) over() (list []*connection) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = slices.DeleteFunc(i.list, func(c idleConnection) bool {
		// Without a deadline, because that of the call before may be over, and then not even a look is possible.
		over := time.Since(c.since) >= i.timeout || c.SetDeadline(time.Time{}) != nil || !c.isQuiet()
		if over {
			list = append(list, c.connection)
		}
		return over
	})
	if i.sweep = nil; len(i.list) > 0 {
		i.sweep = time.AfterFunc(min(i.look, i.timeout-time.Since(i.list[0].since)), i.clear)
	}
	return list
}

func (i *idle) close() {
	for _, c := range i.all() {
		_ = c.Close()
	}
}

// all takes out all connections.
func (i *idle) all() []idleConnection {
	i.mu.Lock()
	defer i.mu.Unlock()
	list := i.list
	i.list = nil
	if i.sweep != nil {
		i.sweep.Stop()
		i.sweep = nil
	}
	return list
}
