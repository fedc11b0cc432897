package ledger

import (
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// keepLane lets the lane stay claimed. One that was opened gets a row when it has to be found
// should the engine die: where engines share the journal at once, else when a run waits. A run at
// work is found by itself when the journal is opened.
func (s *Save) keepLane(l *Ledger) {
	here := s.here()
	if s.change.Fresh != nil {
		l.Vacant[here] = false
		put(&l.Opened, here, s.lease.Epoch)
	}
	if s.lease.Opened && (l.Shared || s.waits) {
		s.Listed = true
		l.dueLater(here, s.at)
	}
}

// release gives the lane back. Whatever asked for its attention since it was claimed, the change
// itself included, makes it due at once.
func (s *Save) release(l *Ledger) {
	here := s.here()
	s.lease.released = true
	if s.change.Fresh != nil {
		l.Vacant[here] = false
	}
	next := s.next(l)
	switch {
	case !s.lease.Opened:
		soon := max(s.at, 1)
		if next != 0 {
			soon = min(next, soon)
		}
		put(&l.Releases, here, Release{News: s.lease.News, Next: next, Soon: soon})
	case next != 0:
		l.dueLater(here, next)
	default:
		put(&l.Calm, here, l.Dues[here] == nil && !s.lease.Woken)
	}
}

// next returns when the lane is due again because of what is in it.
func (s *Save) next(l *Ledger) int64 {
	next := stored.Micros(s.change.Next)
	after := int64(0)
	if next != 0 {
		after = s.at // what is over already could not be decided, and Next says when it will be tried again
	}
	for _, g := range l.gathers {
		if until := stored.Micros(g.Until); g.Workspace == s.lane.Workspace && g.Lane == s.lane.Name && until > after && (next == 0 || until < next) {
			next = until
		}
	}
	if next == 0 && s.isUndecided() {
		next = max(s.at, 1)
	}
	return next
}

// wakeRunLane asks for the attention of the lane where an unfinished run is, unless it is the
// claimed one. What held a run may have been lifted before the run was recorded as held: nobody
// else would ask then.
func (s *Save) wakeRunLane(l *Ledger, r *Run) {
	s.waits = s.waits || !r.State.Finished() && r.State != journal.Running
	if r.State.Finished() {
		return
	}
	lane := LaneKey{r.Workspace, r.Lane}
	if lane == s.here() && (r.State != journal.Held || l.isHeld(r)) {
		return
	}
	l.Due(lane, s.at)
}
