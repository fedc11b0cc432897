package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// slotRows are the takings of one key, which are numbered.
type slotRows struct {
	n     int64           // the newest one's number
	at    map[int64]int64 // as far as they were asked for
	taken []slotRow
	until int64 // takings up to this number are asked for by nobody any more
}

// A slotRow is a taking that is to be recorded.
type slotRow struct {
	n, at, over int64
	rule        string
}

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
func (s *slotRows) free(slot journal.Slot, now, ahead int64) bool {
	before := s.n + 1 + ahead - int64(slot.Times)
	if before > s.n {
		return false
	}
	at, ok := s.at[before]
	per := slot.Per.Microseconds()
	return !ok || at <= now-per || at >= now+per+wrongClock.Microseconds()
}

// full says that a slot is not free, and until when.
func (s *slotRows) full(slot journal.Slot) *journal.BoundError {
	bound := &journal.BoundError{Slot: slot}
	if at, ok := s.at[s.n+1-int64(slot.Times)]; ok {
		bound.Free = stored.Moment(at).Add(slot.Per)
	}
	return bound
}

// takenBy reports whether a slot's rule has taken some of those that fill its window.
func (j *Journal) takenBy(ctx context.Context, workspace string, slot journal.Slot, now int64) (own bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM quando.slots WHERE workspace = $1 AND key = $2 AND rule = $3 AND at > $4)`
	err = j.each(ctx, query, []any{keep(workspace), keep(slot.Key), keep(slot.Rule), now - slot.Per.Microseconds()}, func(rows pgx.Rows) error {
		return rows.Scan(&own)
	})
	return own, err
}

// take records a taking and forgets those that nobody will ask for.
func (s *slotRows) take(slot journal.Slot, now int64) {
	s.n++
	s.at[s.n] = now
	s.taken = append(s.taken, slotRow{s.n, now, now + slot.Per.Microseconds(), slot.Rule})
	s.until = max(s.until, s.n-int64(slot.Times))
}
