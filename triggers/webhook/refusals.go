package webhook

import (
	"log/slog"
	"sync"
	"time"
)

// tellEvery is how often the log tells of deliveries that were refused for the same reason: anybody
// can send some, as fast as the network allows, and that must not fill the disk.
const tellEvery = time.Minute

// refusals tell the log of deliveries that were refused: the first of each outcome at once, and
// those behind it by their number.
type refusals struct {
	log       *slog.Logger
	workspace string

	mu     sync.Mutex
	untold map[Outcome]*untold // since the last line
}

// untold is how many were refused of which the log does not tell yet.
type untold struct {
	count  int
	reason error // of the last
}

func (r *refusals) tell(o Outcome, reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.untold[o]; u != nil {
		u.count++
		u.reason = reason
		return
	}
	if r.untold == nil {
		r.untold = map[Outcome]*untold{}
	}
	r.untold[o] = &untold{}
	r.log.Warn("delivery refused", "workspace", r.workspace, "outcome", string(o), "reason", reason)
	time.AfterFunc(tellEvery, func() { r.sumUp(o) })
}

// sumUp tells of those that were not told of. After a while without any the next one is told of at
// once again.
func (r *refusals) sumUp(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.untold[o]
	if u.count == 0 {
		delete(r.untold, o)
		return
	}
	r.log.Warn("more deliveries refused", "workspace", r.workspace, "outcome", string(o), "count", u.count, "last_reason", u.reason)
	*u = untold{}
	time.AfterFunc(tellEvery, func() { r.sumUp(o) })
}
