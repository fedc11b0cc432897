// Package batch groups what many callers hand in, so that they share one transaction: what comes
// while a batch is carried out is in the next one.
package batch

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed says that a queue takes nothing any more.
var ErrClosed = errors.New("the journal is closed")

// Full is the weight of the items that one batch takes; a single item may weigh more.
const Full = 1024

// A Queue collects items and hands them to one goroutine, as many at a time as are waiting.
type Queue[T any] struct {
	do func([]T) []error

	mu      sync.Mutex
	waiting []*item[T]
	closed  bool
	ended   time.Time // when the last batch did

	news chan struct{} // that the queue is longer, or closed
	done chan struct{}
}

// An item is what one caller waits for.
type item[T any] struct {
	value  T
	weight int
	state  atomic.Int32
	result chan error
}

// The states of an item: in the queue, in a batch, taken back.
const (
	queued int32 = iota
	taken
	withdrawn
)

// New returns a queue with its goroutine. Do carries out a batch and returns a result for each
// of its items.
func New[T any](do func([]T) []error) *Queue[T] {
	q := &Queue[T]{do: do, news: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// Do hands an item in and waits for its result. A context that ends while the item waits takes
// it back, and its error is returned. Once its batch has begun the item is waited for, so that
// the caller always knows.
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
	case q.news <- struct{}{}:
	default:
	}
}

// Close lets what is queued come to an end.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
	<-q.done
}

func (q *Queue[T]) run() {
	defer close(q.done)
	for range q.news {
		for items := q.next(); len(items) > 0; items = q.next() {
			values := make([]T, len(items))
			for i, it := range items {
				values[i] = it.value
			}
			for i, err := range q.do(values) {
				items[i].result <- err
			}
			q.mu.Lock()
			q.ended = time.Now()
			q.mu.Unlock()
		}
		q.mu.Lock()
		over := q.closed && len(q.waiting) == 0
		q.mu.Unlock()
		if over {
			return
		}
	}
}

// next returns the items of the next batch. It yields first: callers that were just answered hand
// in their next item, and share the batch.
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

// Len returns how many items are waiting.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// idle is how long a queue without a batch counts as busy.
const idle = 10 * time.Millisecond

// AwaitIdle waits until nothing was carried out for a moment, or for at most so long.
func (q *Queue[T]) AwaitIdle(ctx context.Context, most time.Duration) {
	for began := time.Now(); time.Since(began) < most; {
		q.mu.Lock()
		wait := idle - time.Since(q.ended)
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
