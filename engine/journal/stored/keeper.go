package stored

import (
	"context"
	"time"
)

// A Keeper maintains a journal as tables of rows, while engines may be using it.
type Keeper interface {
	// Rows returns rows of a table in the order of its key, after a key; without one, from the first.
	// A table that the journal does not have is empty.
	Rows(ctx context.Context, t *Table, after []any, limit int) ([][]any, error)

	// Edit passes rows, by their keys, to a function and writes the result, all in one transaction:
	// another row with the same key, or nil to delete it. It skips rows that do not exist. It returns
	// how many rows it changed.
	Edit(ctx context.Context, t *Table, keys [][]any, edit func(row []any) ([]any, error)) (changed int, err error)

	// Cancel cancels those of the runs that are unfinished, and begins the runs queued behind them. If
	// an engine is using the journal, ask that engine instead.
	Cancel(ctx context.Context, now time.Time, runs []int64, reason string) error

	// Engine names an engine that uses the journal; empty if none does.
	Engine(ctx context.Context) (string, error)

	// Check looks for damage in the journal. It passes the name of each check to progress.
	Check(ctx context.Context, progress func(check string)) (*Report, error)

	// Compact returns the space of deleted rows to the file system. If the journal is our own file, no
	// trace of the deleted rows is left in it.
	Compact(ctx context.Context) error

	// Files returns the files of the journal; none if a database server has them.
	Files() []string

	Close() error
}

// EachRow calls do for each row of a table.
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

// Index returns the index of a column in a row.
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
