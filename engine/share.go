package engine

import (
	"github.com/quandohq/quando/engine/journal"
	"runtime"
	"slices"
	"sync"
	"time"
)

// shares keeps a busy workspace from taking the workers of all others: each workspace may have as
// many lanes in progress as keep one worker per processor busy. A worker that waits for the service
// is not busy, so a workspace with a slow service may have more lanes in progress. An engine with
// one workspace needs no shares.
type shares struct {
	mu          sync.Mutex
	byWorkspace map[string]*share // by workspace; nil if there is only one
}

// A share is a workspace's part of the workers.
type share struct {
	lanes        int     // in progress
	took, waited float64 // decaying sums over its visits: seconds in total, and those spent waiting for answers to calls
}

// decay is the weight of a visit relative to the next one.
const decay = 0.95

// maxLanes returns how many lanes may be in progress.
func (w *share) maxLanes() int {
	n := float64(runtime.GOMAXPROCS(0))
	if busy := w.took - w.waited; w.waited > 0 && busy > 0 {
		n *= min(w.took/busy, 1000)
	}
	return int(n)
}

// claimLimit returns how many of n lanes may be claimed at once, and the workspaces that have used
// up their share.
func (s *shares) claimLimit(n int) (most int, full []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byWorkspace == nil {
		return n, nil
	}
	for name, w := range s.byWorkspace {
		if w.lanes >= w.maxLanes() {
			full = append(full, name)
		}
	}
	slices.Sort(full)
	return min(n, runtime.GOMAXPROCS(0)), full
}

// isFull reports whether a workspace has used up its share.
func (s *shares) isFull(workspace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.byWorkspace[workspace]
	return w != nil && w.lanes >= w.maxLanes()
}

// begin counts lanes as in progress.
func (s *shares) begin(lanes []*journal.Lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lanes {
		if w := s.byWorkspace[l.Workspace]; w != nil {
			w.lanes++
		}
	}
}

// end counts a lane as no longer in progress, with the duration of its visit, and how much of that
// was waiting for the service.
func (s *shares) end(workspace string, took, waited time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.byWorkspace[workspace]; w != nil {
		w.lanes--
		w.took = decay*w.took + took.Seconds()
		w.waited = decay*w.waited + waited.Seconds()
	}
}
