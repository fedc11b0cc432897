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

// A Store is a journal that no engine works on, as tables of rows.
type Store interface {
	// Rows returns rows of a table in the order of its key, from the one after a key on; without one,
	// from the first.
	Rows(ctx context.Context, t *Table, after []any, limit int) ([][]any, error)

	// Put adds rows to a table, and keeps a cursor in the same transaction.
	Put(ctx context.Context, t *Table, rows [][]any, cursor, value string) error

	// Size returns how many rows a table has.
	Size(ctx context.Context, t *Table) (int64, error)

	// Cursor returns a cursor; empty is none. SetCursor keeps one, or with an empty value takes it
	// away.
	Cursor(ctx context.Context, name string) (string, error)
	SetCursor(ctx context.Context, name, value string) error

	// Newest returns the newest number that was ever given in each of the tables that are Numbered,
	// and SetNewest lets numbers go on after these.
	Newest(ctx context.Context) (map[string]int64, error)
	SetNewest(ctx context.Context, newest map[string]int64) error
}

// copySize is how many rows are copied in one transaction.
const copySize = 1000

// A position is how far a copy is: which copy, of the tables up to which, and in that one up to
// which key.
type position struct {
	Copy  string   `json:"copy"`
	Table string   `json:"table"`
	After [][]byte `json:"after,omitempty"` // as bytes, because not every text is one of JSON
}

// ErrUnfinished says that a journal is only a part of the one that it is copied from.
var ErrUnfinished = errors.New("it is an unfinished copy of another journal: begin quando journal copy once more, which goes on where it was stopped")

// Copy copies a journal into an empty one, or goes on with a copy that was stopped halfway. It
// tells how many rows of a table are there, and ends with a comparison of how many rows there are,
// which it returns by table.
func Copy(ctx context.Context, from, to Store, tell func(t *Table, done, of int64)) (map[string]int64, error) {
	at, err := begin(ctx, from, to)
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
		if err := copyTable(ctx, from, to, t, at, tell); err != nil {
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
	sizes, err := compare(ctx, from, to)
	if err != nil {
		return nil, err
	}
	return sizes, to.SetCursor(ctx, CopyTo, "")
}

// begin finds out where a copy goes on.
func begin(ctx context.Context, from, to Store) (*position, error) {
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

func copyTable(ctx context.Context, from, to Store, t *Table, at *position, tell func(t *Table, done, of int64)) error {
	size, err := from.Size(ctx, t)
	if err != nil {
		return err
	}
	done, err := to.Size(ctx, t)
	if err != nil {
		return err
	}
	for {
		after, err := t.key(at.After)
		if err != nil {
			return err
		}
		tell(t, done, size)
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
			tell(t, done, size)
			return nil
		}
	}
}

// key reads the key of a row.
func (t *Table) key(kept [][]byte) (key []any, err error) {
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

// compare counts the rows of both.
func compare(ctx context.Context, from, to Store) (map[string]int64, error) {
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
