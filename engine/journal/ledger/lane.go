package ledger

import (
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// keepLane leaves the lane claimed. A lane that was opened gets a row if it must be found should
// the engine crash: at once if engines share the journal, else when a run waits. A run in state
// running is found without a row when the journal is opened.
func (s *Save) keepLane(l *Ledger) {
	key := s.laneKey()
	if s.change.Fresh != nil {
		l.Vacant[key] = false
		put(&l.Opened, key, s.lease.Epoch)
	}
	if s.lease.Opened && (l.Shared || s.hasWaiting) {
		s.Listed = true
		l.dueWithoutWake(key, s.at)
	}
}

// releaseLane releases the lane. If anything has made it due since it was claimed, this change
// included, it is due at once.
func (s *Save) releaseLane(l *Ledger) {
	key := s.laneKey()
	s.lease.released = true
	if s.change.Fresh != nil {
		l.Vacant[key] = false
	}
	next := s.nextDue(l)
	switch {
	case !s.lease.Opened:
		soon := max(s.at, 1)
		if next != 0 {
			soon = min(next, soon)
		}
		put(&l.Releases, key, Release{News: s.lease.News, Next: next, Soon: soon})
	case next != 0:
		l.dueWithoutWake(key, next)
	default:
		put(&l.Calm, key, l.Dues[key] == nil && !s.lease.Woken)
	}
}

// nextDue returns when the lane is due again because of what is in it.
func (s *Save) nextDue(l *Ledger) int64 {
	next := stored.Micros(s.change.Next)
	after := int64(0)
	if next != 0 {
		after = s.at // a gather that is over could not be decided now, and Next says when to retry
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

// wakeRunLane makes the lane of an unfinished run due, unless it is the claimed one. It makes the
// claimed lane due too if no hold covers a held run: the hold may have been lifted before the run
// was recorded as held, and then nothing else would wake the run.
func (s *Save) wakeRunLane(l *Ledger, r *Run) {
	s.hasWaiting = s.hasWaiting || !r.State.Finished() && r.State != journal.Running
	if r.State.Finished() {
		return
	}
	lane := LaneKey{r.Workspace, r.Lane}
	if lane == s.laneKey() && (r.State != journal.Held || l.isHeld(r)) {
		return
	}
	l.Due(lane, s.at)
}
