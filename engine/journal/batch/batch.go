// Package batch groups the items of many callers, so that they share one transaction: items that
// arrive while a batch runs are in the next one.
package batch

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed says that a queue accepts no more items.
var ErrClosed = errors.New("the journal is closed")

// Full is the maximum weight of a batch; a single item may weigh more.
const Full = 1024

// A Queue collects items and hands all that are pending to one goroutine, as a batch.
type Queue[T any] struct {
	do func([]T) []error

	mu      sync.Mutex
	waiting []*item[T]
	closed  bool
	lastEnd time.Time // when the last batch ended

	wakeup chan struct{} // receives a value when the queue is no longer empty, or is closed
	done   chan struct{}
}

// An item is a value in the queue, and its result.
type item[T any] struct {
	value  T
	weight int
	state  atomic.Int32
	result chan error
}

// The states of an item: in the queue, in a batch, withdrawn by its caller.
const (
	queued int32 = iota
	taken
	withdrawn
)

// New returns a queue and starts its goroutine. Do runs a batch and returns a result for each of
// its items.
func New[T any](do func([]T) []error) *Queue[T] {
	q := &Queue[T]{do: do, wakeup: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// Do adds an item to the queue and waits for its result. If the context ends while the item is in
// the queue, Do withdraws it and returns the context's error. Once the item's batch has begun, Do
// waits for the result, so that the caller always knows whether it was committed.
func (q *Queue[T]) Do(ctx context.Context, value T, weight int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	it := &item[T]{value: value, weight: max(weight, 1), result: make(chan error, 1)}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	q.waiting = append(q.waiting, it)
	first := len(q.waiting) == 1
	q.mu.Unlock()
	if first {
		q.wake()
	}
	select {
	case err := <-it.result:
		return err
	case <-ctx.Done():
		if it.state.CompareAndSwap(queued, withdrawn) {
			return ctx.Err()
		}
		return <-it.result
	}
}

func (q *Queue[T]) wake() {
	select {
	case q.wakeup <- struct{}{}:
	default:
	}
}

// Close accepts no more items, and waits for those in the queue.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
	<-q.done
}

func (q *Queue[T]) run() {
	defer close(q.done)
	for range q.wakeup {
		for items := q.next(); len(items) > 0; items = q.next() {
			values := make([]T, len(items))
			for i, it := range items {
				values[i] = it.value
			}
			for i, err := range q.do(values) {
				items[i].result <- err
			}
			q.mu.Lock()
			q.lastEnd = time.Now()
			q.mu.Unlock()
		}
		q.mu.Lock()
		finished := q.closed && len(q.waiting) == 0
		q.mu.Unlock()
		if finished {
			return
		}
	}
}

// next returns the items of the next batch. It yields first: callers that have just received a
// result add their next item, and share the batch.
func (q *Queue[T]) next() (items []*item[T]) {
	runtime.Gosched()
	q.mu.Lock()
	defer q.mu.Unlock()
	weight, n := 0, 0
	for _, it := range q.waiting {
		if weight > 0 && weight+it.weight > Full {
			break
		}
		n++
		if it.state.CompareAndSwap(queued, taken) {
			items = append(items, it)
			weight += it.weight
		}
	}
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	return items
}

// Len returns how many items are pending.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// idle is how long after its last batch a queue still counts as busy.
const idle = 10 * time.Millisecond

// AwaitIdle waits until the queue has been idle for a moment, or for at most so long.
func (q *Queue[T]) AwaitIdle(ctx context.Context, most time.Duration) {
	for began := time.Now(); time.Since(began) < most; {
		q.mu.Lock()
		wait := idle - time.Since(q.lastEnd)
		if len(q.waiting) > 0 {
			wait = idle
		}
		q.mu.Unlock()
		if wait <= 0 {
			return
		}
		select {
		case <-time.After(min(wait, most)):
		case <-ctx.Done():
			return
		}
	}
}
