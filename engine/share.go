package engine

import (
	"github.com/quandohq/quando/engine/journal"
	"runtime"
	"slices"
	"sync"
	"time"
)

// shares sees to it that a workspace with much to do leaves room for the others: each may have as
// many lanes under way as keep one worker for each processor busy. A worker that waits for the
// service is not busy, so of a workspace whose service takes its time more lanes may be under way.
// An engine with one workspace has nothing to share.
type shares struct {
	mu sync.Mutex
	of map[string]*share // nil where nothing is shared
}

// A share is what a workspace has of the workers.
type share struct {
	lanes        int     // under way
	took, waited float64 // seconds, lately, by its visits, and of that for the service's answers to calls
}

// recent is what an earlier visit counts against a later one.
const recent = 0.95

// most returns how many lanes may be under way.
func (w *share) most() int {
	n := float64(runtime.GOMAXPROCS(0))
	if busy := w.took - w.waited; w.waited > 0 && busy > 0 {
		n *= min(w.took/busy, 1000)
	}
	return int(n)
}

// room returns how many of n lanes may be claimed at once, and the workspaces that have their
// share.
func (s *shares) room(n int) (most int, full []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		return n, nil
	}
	for name, w := range s.of {
		if w.lanes >= w.most() {
			full = append(full, name)
		}
	}
	slices.Sort(full)
	return min(n, runtime.GOMAXPROCS(0)), full
}

// full reports whether a workspace has its share.
func (s *shares) full(workspace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.of[workspace]
	return w != nil && w.lanes >= w.most()
}

// begin notes lanes that are under way from now on.
func (s *shares) begin(lanes []*journal.Lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lanes {
		if w := s.of[l.Workspace]; w != nil {
			w.lanes++
		}
	}
}

// end notes that a lane is not under way any more, how long its visit took, and how much of that it
// waited for the service.
func (s *shares) end(workspace string, took, waited time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.of[workspace]; w != nil {
		w.lanes--
		w.took = recent*w.took + took.Seconds()
		w.waited = recent*w.waited + waited.Seconds()
	}
}
