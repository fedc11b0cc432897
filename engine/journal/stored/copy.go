package stored

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A Store is a journal that no engine uses, as tables of rows.
type Store interface {
	// Rows returns rows of a table in the order of its key, after a key; without one, from the first.
	Rows(ctx context.Context, t *Table, after []any, limit int) ([][]any, error)

	// Put adds rows to a table, and sets a cursor in the same transaction.
	Put(ctx context.Context, t *Table, rows [][]any, cursor, value string) error

	// Size returns how many rows a table has.
	Size(ctx context.Context, t *Table) (int64, error)

	// Cursor returns a cursor; empty is none. SetCursor sets one, or with an empty value deletes it.
	Cursor(ctx context.Context, name string) (string, error)
	SetCursor(ctx context.Context, name, value string) error

	// Newest returns the highest number that was ever assigned in each of the Numbered tables, and
	// SetNewest makes the numbers continue after these.
	Newest(ctx context.Context) (map[string]int64, error)
	SetNewest(ctx context.Context, newest map[string]int64) error
}

// copySize is how many rows one transaction copies.
const copySize = 1000

// A position is the progress of a copy: the copy's id, the current table, and the last copied key
// of that table.
type position struct {
	Copy  string   `json:"copy"`
	Table string   `json:"table"`
	After [][]byte `json:"after,omitempty"` // as bytes, because a key may not be valid UTF-8, which JSON requires
}

// ErrUnfinished says that a journal is an incomplete copy.
var ErrUnfinished = errors.New("it is an unfinished copy of another journal: begin quando journal copy once more, which goes on where it was stopped")

// Copy copies a journal into an empty one, or continues an interrupted copy. It passes the number
// of copied rows of a table to progress. At the end it compares the numbers of rows, and returns
// them by table.
func Copy(ctx context.Context, from, to Store, progress func(t *Table, done, of int64)) (map[string]int64, error) {
	at, err := findPosition(ctx, from, to)
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(Tables, func(t *Table) bool { return t.Name == at.Table })
	if first < 0 {
		return nil, fmt.Errorf("the copy was begun by another version of this program, with a table %s: go on with that version", at.Table)
	}
	for _, t := range Tables[first:] {
		if at.Table != t.Name {
			at.Table, at.After = t.Name, nil
		}
		if err := copyTable(ctx, from, to, t, at, progress); err != nil {
			return nil, fmt.Errorf("copy %s: %w", t.Name, err)
		}
	}
	newest, err := from.Newest(ctx)
	if err == nil {
		err = to.SetNewest(ctx, newest)
	}
	if err != nil {
		return nil, fmt.Errorf("copy the newest numbers: %w", err)
	}
	sizes, err := compareSizes(ctx, from, to)
	if err != nil {
		return nil, err
	}
	return sizes, to.SetCursor(ctx, CopyTo, "")
}

// findPosition returns where a copy begins or continues.
func findPosition(ctx context.Context, from, to Store) (*position, error) {
	known, err := from.Cursor(ctx, CopyFrom)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if half, err := from.Cursor(ctx, CopyTo); err != nil || half != "" {
		return nil, errors.Join(fmt.Errorf("the source: %w", ErrUnfinished), err)
	}
	value, err := to.Cursor(ctx, CopyTo)
	if err != nil {
		return nil, fmt.Errorf("read the target: %w", err)
	}
	if value != "" {
		at := &position{}
		if err := json.Unmarshal([]byte(value), at); err != nil {
			return nil, fmt.Errorf("the target does not tell how far it was copied: %w", err)
		}
		if known == "" || at.Copy != known {
			return nil, errors.New("the target is an unfinished copy of another journal, or of this one as it was before an engine worked on it: copy into an empty one")
		}
		return at, nil
	}
	for _, t := range Tables {
		n, err := to.Size(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("read the target: %w", err)
		}
		if n > 0 {
			return nil, fmt.Errorf("the target is in use (%s: %d): copy into an empty one", t.Name, n)
		}
	}
	at := &position{Copy: rand.Text(), Table: Tables[0].Name}
	if err := from.SetCursor(ctx, CopyFrom, at.Copy); err != nil {
		return nil, fmt.Errorf("mark the source: %w", err)
	}
	return at, nil
}

func copyTable(ctx context.Context, from, to Store, t *Table, at *position, progress func(t *Table, done, of int64)) error {
	size, err := from.Size(ctx, t)
	if err != nil {
		return err
	}
	done, err := to.Size(ctx, t)
	if err != nil {
		return err
	}
	for {
		after, err := t.parseKey(at.After)
		if err != nil {
			return err
		}
		progress(t, done, size)
		rows, err := from.Rows(ctx, t, after, copySize)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			at.After = nil
			for _, v := range rows[len(rows)-1][:t.Key] {
				at.After = append(at.After, fmt.Append(nil, v))
			}
		}
		value, err := Text(at)
		if err != nil {
			return err
		}
		if err := to.Put(ctx, t, rows, CopyTo, value); err != nil {
			return err
		}
		if done += int64(len(rows)); len(rows) < copySize {
			progress(t, done, size)
			return nil
		}
	}
}

// parseKey decodes the key of a row.
func (t *Table) parseKey(kept [][]byte) (key []any, err error) {
	for i, part := range kept {
		if i >= t.Key {
			break
		}
		var v any = string(part)
		if t.Columns[i].Kind == Number {
			if v, err = strconv.ParseInt(string(part), 10, 64); err != nil {
				return nil, err
			}
		}
		key = append(key, v)
	}
	return key, nil
}

// compareSizes compares the numbers of rows, and returns them by table.
func compareSizes(ctx context.Context, from, to Store) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, t := range Tables {
		want, err := from.Size(ctx, t)
		if err != nil {
			return nil, err
		}
		got, err := to.Size(ctx, t)
		if err != nil {
			return nil, err
		}
		if got != want {
			return nil, fmt.Errorf("the copy is not complete, because something was put into the source meanwhile: %s are %d there and %d in the copy; copy again into an empty journal", t.Name, want, got)
		}
		sizes[t.Name] = got
	}
	return sizes, nil
}
