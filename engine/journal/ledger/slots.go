package ledger

import (
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Slots are the taken slots of one key, numbered from 1.
type Slots struct {
	newest  int64           // the number of the newest taken slot
	takenAt map[int64]int64 // by number, as far as they were wanted
	Taken   []Taking        // to record
	Over    int64           // slots up to this number can be deleted
}

// A Taking is a slot that a rule has taken.
type Taking struct {
	N, At int64
	Until int64 // when it leaves its window
	Rule  string
}

// clockTolerance is how far beyond its window a slot's time may lie in the future. A slot further
// ahead was taken by a wrong clock, and does not count.
const clockTolerance = time.Hour

// AddSlots adds the number of the newest taken slot of a key.
func (l *Ledger) AddSlots(k SlotKey, newest int64) { l.slotsOf(k).newest = newest }

// AddTaking adds the time at which a slot was taken.
func (l *Ledger) AddTaking(k SlotKey, n, at int64) { put(&l.slotsOf(k).takenAt, n, at) }

// Slots returns the keys of which slots are taken.
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

// Newest returns the number of the newest taken slot.
func (s *Slots) Newest() int64 { return s.newest }

// isFree reports whether a slot is free, after ahead others of the same change. Taken slots are
// numbered, and one is free when the slot Times before it is at least Per away. That is enough,
// whatever the order of their times: of Times+1 taken slots two have numbers that are a multiple of
// Times apart, and no window holds both.
func (s *Slots) isFree(slot journal.Slot, now, ahead int64) bool {
	before := s.newest + 1 + ahead - int64(slot.Times)
	if before > s.newest {
		return false
	}
	at, taken := s.takenAt[before]
	per := slot.Per.Microseconds()
	return !taken || at <= now-per || at >= now+per+clockTolerance.Microseconds()
}

// boundError says that a slot is not free, and until when.
func (s *Slots) boundError(slot journal.Slot) *journal.BoundError {
	bound := &journal.BoundError{Slot: slot}
	if at, taken := s.takenAt[s.newest+1-int64(slot.Times)]; taken {
		bound.Free = stored.Moment(at).Add(slot.Per)
	}
	return bound
}

// takeSlot takes a slot, and forgets those that no check needs any more.
func (s *Slots) takeSlot(slot journal.Slot, now int64) {
	s.newest++
	put(&s.takenAt, s.newest, now)
	s.Taken = append(s.Taken, Taking{s.newest, now, now + slot.Per.Microseconds(), slot.Rule})
	s.Over = max(s.Over, s.newest-int64(slot.Times))
}
