// Package batch lets many callers share one turn: what waits while a turn is under way is done in the next one, all of it together.
package batch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed says that a queue takes nothing any more.
var ErrClosed = errors.New("the journal is closed")

const (
	someCompany = 8   // items below which nobody waits for others: they would be kept for longer than they save
	mostCompany = 256 // items beyond which no more are waited for
	mostVain    = 256 // turns
)

// Full is the weight of the items that one turn takes; a single item may weigh more.
const Full = 1024

// A Queue collects items and hands them to one goroutine, as many at a time as are waiting.
//
// Where what a turn has done must be settled before anybody hears of it, as when it has to reach a disk, another goroutine sees to that, for all turns that were had meanwhile: the next turn does not
// wait for it.
type Queue[T any] struct {
	turn   func([]T) []error
	settle func() error // nil is that there is nothing to settle
	linger time.Duration

	mu      sync.Mutex
	waiting []*item[T]
	company int // so many must be waiting, or one be the first, for the goroutine to be told
	closed  bool
	lately  time.Time // when the last turn ended

	news    chan struct{} // that the queue is longer, or closed
	done    chan struct{}
	last    int // items of the last turn
	content int // turns for which no more company is waited for
	vain    int // turns for which none was waited for after the last time that it did not come

	unsettled chan had[T]
	settling  atomic.Int32 // turns that are not settled
}

// A had is a turn that was had, with its answers.
type had[T any] struct {
	items   []*item[T]
	answers []error
}

// An item is what one caller waits for.
type item[T any] struct {
	value  T
	weight int
	state  atomic.Int32
	answer chan error
}

// The states of an item: in the queue, in a turn, taken back.
const (
	queued int32 = iota
	taken
	withdrawn
)

// New returns a queue with its goroutines. Turn returns an answer for each of its items, which is given when settle has returned; its error is the answer instead. Settle may be nil. Linger is how long
// a turn that has company waits for more of it; the zero value is 3 milliseconds, a negative one no time.
func New[T any](linger time.Duration, turn func([]T) []error, settle func() error) *Queue[T] {
	if linger == 0 {
		linger = 3 * time.Millisecond
	}
	q := &Queue[T]{turn: turn, settle: settle, linger: linger, news: make(chan struct{}, 1), done: make(chan struct{}), unsettled: make(chan had[T], 16)}
	go q.run()
	go q.settleAll()
	return q
}

// Do hands an item in and waits for its answer. A context that ends while the item waits takes it back, and its error is returned. Once its turn
// has begun it is waited for, so that the caller always knows.
func (q *Queue[T]) Do(ctx context.Context, value T, weight int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	it := &item[T]{value: value, weight: max(weight, 1), answer: make(chan error, 1)}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	q.waiting = append(q.waiting, it)
	tell := len(q.waiting) == 1 || len(q.waiting) >= q.company
	q.mu.Unlock()
	if tell {
		q.tell()
	}
	select {
	case err := <-it.answer:
		return err
	case <-ctx.Done():
		if it.state.CompareAndSwap(queued, withdrawn) {
			return ctx.Err()
		}
		return <-it.answer
	}
}

func (q *Queue[T]) tell() {
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
	q.tell()
	<-q.done
}

func (q *Queue[T]) run() {
	defer close(q.unsettled)
	for range q.news {
		for {
			q.assemble()
			items := q.take()
			if len(items) == 0 {
				break
			}
			q.last = len(items)
			values := make([]T, len(items))
			for i, it := range items {
				values[i] = it.value
			}
			q.finish(had[T]{items, q.turn(values)})
			q.mu.Lock()
			q.lately = time.Now()
			q.mu.Unlock()
		}
		q.mu.Lock()
		end := q.closed && len(q.waiting) == 0
		q.mu.Unlock()
		if end {
			return
		}
	}
}

// finish has a turn settled, and its items answered. Who is alone need not wait for another goroutine.
func (q *Queue[T]) finish(h had[T]) {
	switch {
	case q.settle == nil:
		h.answer(nil)
	case len(h.items) == 1 && q.settling.Load() == 0:
		h.answer(q.settle())
	default:
		q.settling.Add(1)
		q.unsettled <- h
	}
}

// settleAll settles turns, as many at a time as have been had.
func (q *Queue[T]) settleAll() {
	defer close(q.done)
	for first := range q.unsettled {
		turns := []had[T]{first}
		for more := true; more; {
			select {
			case h, ok := <-q.unsettled:
				if more = ok; ok {
					turns = append(turns, h)
				}
			default:
				more = false
			}
		}
		err := q.settle()
		q.settling.Add(-int32(len(turns)))
		for _, h := range turns {
			h.answer(err)
		}
	}
}

// answer answers the items of a turn. What could not be settled has not been done, as far as anybody may rely on it.
func (h had[T]) answer(unsettled error) {
	for i, err := range h.answers {
		if err == nil {
			err = unsettled
		}
		h.items[i].answer <- err
	}
}

// assemble waits a moment for those who shared the last turn and are likely to come back, and for half as many more: a turn costs the less for each the more share it. Where they do not come they are not
// waited for again for some turns, twice as many each time.
func (q *Queue[T]) assemble() {
	if q.last < someCompany || q.linger <= 0 || q.Len() == 0 {
		return
	}
	company := q.last
	if q.content--; q.content < 0 {
		company = min(q.last+q.last/2+1, max(mostCompany, q.last))
	}
	q.mu.Lock()
	q.company = company
	q.mu.Unlock()
	timer := time.NewTimer(q.linger)
	defer timer.Stop()
	for q.Len() < company {
		select {
		case <-q.news:
		case <-timer.C:
			if company > q.last {
				q.vain = min(2*q.vain+4, mostVain)
				q.content = q.vain
			}
			return
		}
	}
	if company > q.last {
		q.vain = 0
	}
}

// Len returns how many are waiting; a closed queue is as long as can be, because nothing is added to it.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return Full
	}
	return len(q.waiting)
}

// aMoment without a turn is quiet.
const aMoment = 10 * time.Millisecond

// Quiet waits until nobody has had a turn for a moment, or until its patience is over.
func (q *Queue[T]) Quiet(ctx context.Context, patience time.Duration) {
	for began := time.Now(); time.Since(began) < patience; {
		q.mu.Lock()
		wait := aMoment - time.Since(q.lately)
		if len(q.waiting) > 0 {
			wait = aMoment
		}
		q.mu.Unlock()
		if wait <= 0 {
			return
		}
		select {
		case <-time.After(min(wait, patience)):
		case <-ctx.Done():
			return
		}
	}
}

// take returns the items of the next turn.
func (q *Queue[T]) take() []*item[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	var items []*item[T]
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
