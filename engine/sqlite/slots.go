package sqlite

import (
	"github.com/quandohq/quando/engine"
)

// A taking is a slot that was found free.
type taking struct {
	engine.Slot
	n    int64 // its number among those of the key
	last int64 // when the one before was taken
}

// takings finds the slots that a change must have, or returns a *engine.BoundError.
func (s *saving) takings(t *tx) ([]taking, error) {
	var found []taking
	ahead := map[string]int64{}
	for _, slot := range s.change.Take {
		k, free, err := t.free(s.lane.Workspace, slot, s.at, ahead[slot.Key])
		if err != nil {
			return nil, err
		}
		if !free {
			return nil, &engine.BoundError{Slot: slot}
		}
		ahead[slot.Key]++
		found = append(found, k)
	}
	return found, nil
}

// free reports whether a slot is free. Takings are numbered, so that one is free when the one that is Times before it is outside of every window
// that holds both. So many that are not recorded yet come before it.
func (t *tx) free(workspace string, slot engine.Slot, now, ahead int64) (taking, bool, error) {
	k := taking{Slot: slot}
	if _, err := t.get(`SELECT n, at FROM slots WHERE workspace = ? AND key = ? ORDER BY n DESC LIMIT 1`, []any{workspace, slot.Key}, &k.n, &k.last); err != nil {
		return k, false, err
	}
	recorded := k.n
	k.n += 1 + ahead
	before := k.n - int64(slot.Times)
	if before > recorded {
		return k, false, nil
	}
	var at int64
	found, err := t.get(`SELECT at FROM slots WHERE workspace = ? AND key = ? AND n = ?`, []any{workspace, slot.Key, before}, &at)
	if err != nil || !found {
		return k, err == nil, err
	}
	per := slot.Per.Microseconds()
	return k, at <= now-per || at >= now+per, nil
}

// take records a taking and forgets those that no window will ask for. Changes may come in another order than that of their times:
// a taking is never earlier than the one before, else a window could hold too many. One that a wrong clock put far ahead does not count.
func (t *tx) take(workspace string, k taking, now int64) error {
	per := k.Per.Microseconds()
	at := now
	if k.last > now && k.last < now+per {
		at = k.last
	}
	if _, err := t.exec(`INSERT INTO slots (workspace, key, n, at, over) VALUES (?, ?, ?, ?, ?)`, workspace, k.Key, k.n, at, at+per); err != nil {
		return err
	}
	_, err := t.exec(`DELETE FROM slots WHERE workspace = ? AND key = ? AND n <= ?`, workspace, k.Key, k.n-int64(k.Times))
	return err
}
