package service

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Calls is how the service has answered the calls of one operation lately.
type Calls struct {
	Operation Operation
	Answered  time.Time // of the last answer, which may be a refusal
	Failing   time.Time // when the first call failed since then: no answer, or a 5xx; zero if none has
	Failed    time.Time // when the last one did
	Failures  int       // calls that failed since the last answer
	Status    int       // of the last failure; 0 is no usable answer
}

// callLog keeps the Calls of each operation.
type callLog struct {
	mu  sync.Mutex
	all map[Operation]*Calls
}

// Calls returns how calls were answered since the client was made, by operation. Clients made of
// this one count here too.
func (c *Client) Calls() []Calls {
	l := &c.learned.calls
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Calls, 0, len(l.all))
	for _, one := range l.all {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Calls) int { return strings.Compare(a.Operation.String(), b.Operation.String()) })
	return list
}

// record adds the outcome of a call. A call that the caller gave up says nothing of the service.
func (l *callLog) record(o Operation, now time.Time, e *Error) {
	failed := e != nil && e.Status != http.StatusTooManyRequests && IsTemporary(e)
	if e != nil && !failed && e.Status == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.all[o]
	if one == nil {
		if l.all == nil {
			l.all = map[Operation]*Calls{}
		}
		one = &Calls{Operation: o}
		l.all[o] = one
	}
	if !failed {
		*one = Calls{Operation: o, Answered: now}
		return
	}
	if one.Failures == 0 {
		one.Failing = now
	}
	one.Failures++
	one.Failed, one.Status = now, e.Status
	if e.Err != nil {
		one.Status = 0
	}
}
