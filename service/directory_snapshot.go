package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// A Snapshot is what a directory knows: names and ids, and nothing else. It can be stored and used
// without the service.
type Snapshot struct {
	Lists []SnapshotList `json:"lists"`
}

// A SnapshotList is one list of names, in the service's order.
type SnapshotList struct {
	Kind    Kind            `json:"kind"`
	Board   string          `json:"board,omitempty"` // of stages: the id of their board
	Entries []SnapshotEntry `json:"entries"`
}

// A SnapshotEntry is a name with the id that it stands for.
type SnapshotEntry struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Load fetches every list that is unknown or old, including the stages of boards. It skips what the
// key may not read, and returns the error of other lists that could not be fetched.
func (d *Directory) Load(ctx context.Context) error {
	var problems []error
	load := func(key listingKey) []entry {
		entries, err := d.entries(ctx, key, func([]entry) bool { return true })
		if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Status != http.StatusForbidden && e.Status != http.StatusNotFound) {
			problems = append(problems, fmt.Errorf("list names of kind %s: %w", key.kind, err))
		}
		return entries
	}
	for _, kind := range []Kind{KindChannel, KindLabel, KindPerson, KindSector} {
		load(listingKey{kind: kind})
	}
	for _, board := range load(listingKey{kind: KindBoard}) {
		load(listingKey{KindStage, board.id})
	}
	return errors.Join(problems...)
}

// Forget drops the lists, so that each is fetched again when it is needed next.
func (d *Directory) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.listings)
}

// Snapshot returns every list that the directory has fetched, in a stable order.
func (d *Directory) Snapshot() Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Snapshot{Lists: []SnapshotList{}}
	for key, l := range d.listings {
		l.mu.Lock()
		if !l.fetched.IsZero() {
			list := SnapshotList{Kind: key.kind, Board: key.board, Entries: make([]SnapshotEntry, len(l.entries))}
			for i, e := range l.entries {
				list.Entries[i] = SnapshotEntry{e.id, e.name}
			}
			s.Lists = append(s.Lists, list)
		}
		l.mu.Unlock()
	}
	slices.SortFunc(s.Lists, compareLists)
	return s
}

func compareLists(a, b SnapshotList) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Board, b.Board))
}

// With returns the snapshot with its lists replaced by those of a newer one.
func (s Snapshot) With(newer Snapshot) Snapshot {
	out := Snapshot{Lists: slices.Clone(newer.Lists)}
	for _, old := range s.Lists {
		if !slices.ContainsFunc(newer.Lists, func(l SnapshotList) bool { return compareLists(l, old) == 0 }) {
			out.Lists = append(out.Lists, old)
		}
	}
	slices.SortFunc(out.Lists, compareLists)
	return out
}

// ParseSnapshot reads a snapshot that was kept as JSON. An empty text is an empty one.
func ParseSnapshot(text string) (s Snapshot, err error) {
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("a recorded list of names cannot be read: %w", err)
	}
	return s, nil
}

// NewOfflineDirectory makes a directory of a snapshot. It has no client: what is not in the
// snapshot has no name.
func NewOfflineDirectory(s Snapshot) *Directory {
	d := &Directory{listings: map[listingKey]*listing{}}
	for _, list := range s.Lists {
		l := &listing{entries: make([]entry, len(list.Entries))}
		for i, e := range list.Entries {
			l.entries[i] = newEntry(e.ID, e.Name)
		}
		d.listings[listingKey{list.Kind, list.Board}] = l
	}
	return d
}
