package ledger

import (
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Slots are the takings of one key, which are numbered from 1 on.
type Slots struct {
	newest int64           // the number of the newest one
	at     map[int64]int64 // when, as far as they were wanted
	Taken  []Taking        // to record
	Over   int64           // takings up to this number are wanted by nobody any more
}

// A Taking is a slot that a rule takes.
type Taking struct {
	N, At int64
	Until int64 // when it is outside of its window
	Rule  string
}

// wrongClock is how far in the future a taking must lie to be blamed on a clock that was wrong.
// It does not count then.
const wrongClock = time.Hour

// AddSlots takes in the number of the newest taking of a key.
func (l *Ledger) AddSlots(k SlotKey, newest int64) { l.slotsOf(k).newest = newest }

// AddTaking takes in when a slot was taken.
func (l *Ledger) AddTaking(k SlotKey, n, at int64) { put(&l.slotsOf(k).at, n, at) }

// Slots returns the keys of which slots were taken.
func (l *Ledger) Slots() map[SlotKey]*Slots {
	taken := map[SlotKey]*Slots{}
	for k, s := range l.slots {
		if len(s.Taken) > 0 {
			taken[k] = s
		}
	}
	return taken
}

func (l *Ledger) slotsOf(k SlotKey) *Slots {
	s := l.slots[k]
	if s == nil {
		s = &Slots{}
		put(&l.slots, k, s)
	}
	return s
}

// Newest returns the number of the newest taking.
func (s *Slots) Newest() int64 { return s.newest }

// free reports whether a slot is free; so many that are not recorded yet come before it. Takings
// are numbered, and one is free when the one Times before it is at least Per away. That is enough,
// in whatever order of time they come: of Times+1 takings two have numbers that are a multiple of
// Times apart, and no window holds these both.
func (s *Slots) free(slot journal.Slot, now, ahead int64) bool {
	before := s.newest + 1 + ahead - int64(slot.Times)
	if before > s.newest {
		return false
	}
	at, taken := s.at[before]
	per := slot.Per.Microseconds()
	return !taken || at <= now-per || at >= now+per+wrongClock.Microseconds()
}

// full says that a slot is not free, and until when.
func (s *Slots) full(slot journal.Slot) *journal.BoundError {
	bound := &journal.BoundError{Slot: slot}
	if at, taken := s.at[s.newest+1-int64(slot.Times)]; taken {
		bound.Free = stored.Moment(at).Add(slot.Per)
	}
	return bound
}

// take records a taking and forgets those that nobody will ask for.
func (s *Slots) take(slot journal.Slot, now int64) {
	s.newest++
	put(&s.at, s.newest, now)
	s.Taken = append(s.Taken, Taking{s.newest, now, now + slot.Per.Microseconds(), slot.Rule})
	s.Over = max(s.Over, s.newest-int64(slot.Times))
}
