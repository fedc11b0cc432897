package webhook

import (
	"log/slog"
	"sync"
	"time"
)

// logEvery is how often deliveries that were refused for the same reason are logged: any sender can
// send them, as fast as the network allows, and they must not fill the disk.
const logEvery = time.Minute

// refusals logs refused deliveries: the first of each outcome at once, and the number of those that
// follow.
type refusals struct {
	log       *slog.Logger
	workspace string

	mu       sync.Mutex
	unlogged map[Outcome]*unlogged // since the last line
}

// unlogged counts refusals that are not in the log yet.
type unlogged struct {
	count  int
	reason error // of the last one
}

func (r *refusals) add(o Outcome, reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.unlogged[o]; u != nil {
		u.count++
		u.reason = reason
		return
	}
	if r.unlogged == nil {
		r.unlogged = map[Outcome]*unlogged{}
	}
	r.unlogged[o] = &unlogged{}
	r.log.Warn("delivery refused", "workspace", r.workspace, "outcome", string(o), "reason", reason)
	time.AfterFunc(logEvery, func() { r.logSummary(o) })
}

// logSummary logs the refusals that are not in the log yet. If there were none for a while, the
// next one is logged at once again.
func (r *refusals) logSummary(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.unlogged[o]
	if u.count == 0 {
		delete(r.unlogged, o)
		return
	}
	r.log.Warn("more deliveries refused", "workspace", r.workspace, "outcome", string(o), "count", u.count, "last_reason", u.reason)
	*u = unlogged{}
	time.AfterFunc(logEvery, func() { r.logSummary(o) })
}
