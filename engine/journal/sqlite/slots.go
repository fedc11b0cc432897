package sqlite

import (
	"maps"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// A taking is a slot that was found free.
type taking struct {
	journal.Slot
	n      int64 // its number among those of the key
	before int64 // when the one was taken that is in its way
}

// wrongClock is how far ahead of now a taking must be to be taken for the fault of a clock that was wrong, and not to count.
const wrongClock = time.Hour

// takings finds the slots that a change must have, or returns a *journal.BoundError.
func (s *saving) takings(t *tx) ([]taking, error) {
	var found []taking
	for _, slot := range s.change.Take {
		ahead := int64(0)
		for _, before := range found {
			if before.Key == slot.Key {
				ahead++
			}
		}
		k, free, err := t.free(s.lane.Workspace, slot, s.at, ahead)
		if err != nil {
			return nil, err
		}
		if !free {
			return nil, t.full(s.lane.Workspace, k, s.at)
		}
		found = append(found, k)
	}
	return found, nil
}

// free reports whether a slot is free; so many that are not recorded yet come before it. Takings are numbered, and one is free when the one
// Times before it is at least Per away. That is enough, in whatever order of time they come: of Times+1 takings two have numbers that are a
// multiple of Times apart, and no window holds these both.
func (t *tx) free(workspace string, slot journal.Slot, now, ahead int64) (taking, bool, error) {
	k := taking{Slot: slot}
	recorded, err := t.taken(slotKey{workspace, slot.Key})
	if err != nil {
		return k, false, err
	}
	k.n = recorded
	k.n += 1 + ahead
	before := k.n - int64(slot.Times)
	switch {
	case before > recorded:
		return k, false, nil
	case before < 1: // there have not been as many
		return k, true, nil
	}
	at, found, err := t.number(`SELECT at FROM slots WHERE workspace = ? AND key = ? AND n = ?`, workspace, slot.Key, before)
	if err != nil || !found {
		return k, err == nil, err
	}
	k.before = at
	per := slot.Per.Microseconds()
	return k, at <= now-per || at >= now+per+wrongClock.Microseconds(), nil
}

// full says that a slot is not free, by whom, and until when.
func (t *tx) full(workspace string, k taking, now int64) error {
	bound := &journal.BoundError{Slot: k.Slot}
	if k.before != 0 {
		bound.Free = stored.Moment(k.before).Add(k.Per)
	}
	_, own, err := t.number(`SELECT 1 FROM slots WHERE workspace = ? AND key = ? AND rule = ? AND at > ? LIMIT 1`, workspace, k.Key, k.Rule, now-k.Per.Microseconds())
	if err != nil {
		return err
	}
	bound.Own = own
	return bound
}

// A slotKey is a slot's key with its workspace.
type slotKey struct{ workspace, key string }

// mostTaken bounds of how many keys it is remembered how many takings they have.
const mostTaken = 20_000

// taken returns the number of a key's last taking. Nobody else takes any, so that the writer may remember it.
func (t *tx) taken(key slotKey) (n int64, err error) {
	if n, ok := t.takings[key]; ok {
		return n, nil
	}
	if n, ok := t.w.takings[key]; ok {
		return n, nil
	}
	n, _, err = t.number(`SELECT n FROM slots WHERE workspace = ? AND key = ? ORDER BY n DESC LIMIT 1`, key.workspace, key.key)
	return n, err
}

// remember keeps what a transaction has taken, when it is committed.
func (w *writer) remember(takings map[slotKey]int64) {
	if len(w.takings)+len(takings) > mostTaken {
		clear(w.takings)
	}
	maps.Copy(w.takings, takings)
}

// take records a taking and forgets those that nobody will ask for.
func (t *tx) take(workspace string, k taking, now int64) error {
	if _, err := t.exec(`INSERT INTO slots (workspace, key, n, at, over, rule) VALUES (?, ?, ?, ?, ?, ?)`, workspace, k.Key, k.n, now, now+k.Per.Microseconds(), k.Rule); err != nil {
		return err
	}
	t.takings[slotKey{workspace, k.Key}] = k.n
	if k.n <= int64(k.Times) {
		return nil
	}
	_, err := t.exec(`DELETE FROM slots WHERE workspace = ? AND key = ? AND n <= ?`, workspace, k.Key, k.n-int64(k.Times))
	return err
}
