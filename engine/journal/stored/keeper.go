package stored

import (
	"context"
	"time"
)

// A Keeper looks after a journal as tables of rows, while engines may be using it.
type Keeper interface {
	// Rows returns rows of a table in the order of its key, from the one after a key on; without one,
	// from the first. A table that the journal does not have is empty.
	Rows(ctx context.Context, t *Table, after []any, limit int) ([][]any, error)

	// Edit gives rows, by their keys, to a function and records what it makes of them, all in one
	// transaction: another row with the same key, or with nil none. Rows that are gone are left out.
	// It returns how many rows are others than before.
	Edit(ctx context.Context, t *Table, keys [][]any, edit func(row []any) ([]any, error)) (changed int, err error)

	// Cancel ends those of the runs that are not finished, and lets those begin that waited for them.
	// Who knows that an engine works on a run asks that engine for it instead.
	Cancel(ctx context.Context, now time.Time, runs []int64, reason string) error

	// Engine names an engine that uses the journal; empty is that none does.
	Engine(ctx context.Context) (string, error)

	// Check looks for what is wrong with the journal. It tells which check it is at.
	Check(ctx context.Context, tell func(check string)) (*Report, error)

	// Compact gives back the space of what was deleted, and leaves no trace of it where the database
	// is a file of ours.
	Compact(ctx context.Context) error

	// Files returns the files that the journal consists of; none where somebody else looks after them.
	Files() []string

	Close() error
}

// EachRow goes through the rows of a table.
func EachRow(ctx context.Context, k interface {
	Rows(ctx context.Context, t *Table, after []any, limit int) ([][]any, error)
}, t *Table, do func(row []any) error) error {
	var after []any
	for {
		rows, err := k.Rows(ctx, t, after, copySize)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := do(row); err != nil {
				return err
			}
		}
		if len(rows) < copySize {
			return nil
		}
		after = rows[len(rows)-1][:t.Key]
	}
}

// Index returns the place of a column in a row.
func (t *Table) Index(name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	panic("table " + t.Name + " has no column " + name)
}

// Named returns a table by its name.
func Named(name string) *Table {
	for _, t := range Tables {
		if t.Name == name {
			return t
		}
	}
	panic("there is no table " + name)
}
