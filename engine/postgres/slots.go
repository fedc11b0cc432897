package postgres

import (
	"time"

	"github.com/quandohq/quando/engine"
)

// slotRows are the takings of one key, which are numbered.
type slotRows struct {
	n     int64           // the newest one's number
	at    map[int64]int64 // as far as they were asked for
	taken []slotRow
	until int64 // takings up to this number are asked for by nobody any more
}

// A slotRow is a taking that is to be recorded.
type slotRow struct{ n, at, over int64 }

// wrongClock is how far ahead of now a taking must be to be taken for the fault of a clock that was wrong, and not to count.
const wrongClock = time.Hour

func (l *ledger) slotsOf(k slotKey) *slotRows {
	s := l.slots[k]
	if s == nil {
		s = &slotRows{at: map[int64]int64{}}
		l.slots[k] = s
	}
	return s
}

// free reports whether a slot is free; so many that are not recorded yet come before it. Takings are numbered, and one is free when the one
// Times before it is at least Per away. That is enough, in whatever order of time they come: of Times+1 takings two have numbers that are a
// multiple of Times apart, and no window holds these both.
func (s *slotRows) free(slot engine.Slot, now, ahead int64) bool {
	before := s.n + 1 + ahead - int64(slot.Times)
	if before > s.n {
		return false
	}
	at, ok := s.at[before]
	per := slot.Per.Microseconds()
	return !ok || at <= now-per || at >= now+per+wrongClock.Microseconds()
}

// take records a taking and forgets those that nobody will ask for.
func (s *slotRows) take(slot engine.Slot, now int64) {
	s.n++
	s.at[s.n] = now
	s.taken = append(s.taken, slotRow{s.n, now, now + slot.Per.Microseconds()})
	s.until = max(s.until, s.n-int64(slot.Times))
}
