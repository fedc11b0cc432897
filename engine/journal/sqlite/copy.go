package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal/stored"
)

// A Copy is a journal as tables of rows, to copy from or to. It locks the file, so that no engine
// can use it in the meantime.
type Copy struct {
	lock *os.File
	db   *sql.DB
}

var _ stored.Store = (*Copy)(nil)

// OpenCopy opens a journal to copy from it, or to copy into it, and then creates it if it does not
// exist.
func OpenCopy(ctx context.Context, file string, from bool) (*Copy, error) {
	c := &Copy{}
	if err := c.open(ctx, file, from); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", file, err), c.Close())
	}
	return c, nil
}

func (c *Copy) open(ctx context.Context, file string, from bool) error {
	path, err := (&Journal{attached: from}).locate(file)
	if err != nil {
		return err
	}
	if c.lock, err = lock(path); err != nil {
		return err
	}
	f, err := openOrCreate(path)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if c.db, err = sql.Open("sqlite3", source(path, "_txlock=immediate&_cache_size=-16384")); err != nil {
		return err
	}
	c.db.SetMaxOpenConns(1)
	if err := migrate(ctx, c.db, from); err != nil {
		return explain(err)
	}
	return explain(wakeRunning(ctx, c.db))
}

// Close closes the file and releases its lock.
func (c *Copy) Close() error {
	var problems []error
	if c.db != nil {
		problems = append(problems, c.db.Close())
	}
	if c.lock != nil {
		problems = append(problems, unlock(c.lock))
	}
	return errors.Join(problems...)
}

// copiedRows returns a condition that excludes the cursors of the copy itself.
func copiedRows(t *stored.Table) string {
	if t.Name != "cursors" {
		return `true`
	}
	return `name NOT IN ('` + stored.CopyFrom + `', '` + stored.CopyTo + `')`
}

// Rows returns rows of a table in the order of its key.
func (c *Copy) Rows(ctx context.Context, t *stored.Table, after []any, limit int) ([][]any, error) {
	return readRows(ctx, c.db, t, stored.Names(t.Columns), copiedRows(t), after, limit)
}

// readRows returns rows of a table that meet a condition, in the order of its key, after a key.
// Names has what to select for each column.
func readRows(ctx context.Context, db *sql.DB, t *stored.Table, names []string, condition string, after []any, limit int) (list [][]any, err error) {
	key := strings.Join(names[:t.Key], ", ")
	query := `SELECT ` + strings.Join(names, ", ") + ` FROM ` + t.Name + ` WHERE ` + condition
	if len(after) > 0 {
		query += ` AND (` + key + `) > (` + placeholders(t.Key) + `)`
	}
	rows, err := db.QueryContext(ctx, query+` ORDER BY `+key+` LIMIT ?`, append(slices.Clone(after), limit)...)
	if err != nil {
		return nil, explain(err)
	}
	err = scanAll(rows, func(rows *sql.Rows) error {
		row, err := scanRow(rows, t)
		list = append(list, row)
		return err
	})
	return list, explain(err)
}

// scanRow reads a row in the form that all databases share.
func scanRow(rows *sql.Rows, t *stored.Table) ([]any, error) {
	row, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
	for i := range row {
		into[i] = &row[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	for i, column := range t.Columns {
		switch v := row[i].(type) {
		case []byte:
			row[i] = string(v)
		case int64:
			if column.Kind == stored.Flag {
				row[i] = v != 0
			}
		}
	}
	return row, nil
}

// Put adds rows to a table and sets a cursor.
func (c *Copy) Put(ctx context.Context, t *stored.Table, rows [][]any, cursor, value string) error {
	return c.transact(ctx, func(x *sql.Tx) error {
		insert, err := x.PrepareContext(ctx, `INSERT INTO `+t.Name+` (`+strings.Join(stored.Names(t.Columns), ", ")+`) VALUES (`+placeholders(len(t.Columns))+`)`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, row := range rows {
			if _, err := insert.ExecContext(ctx, row...); err != nil {
				return err
			}
		}
		return putCursor(ctx, x, cursor, value)
	})
}

func (c *Copy) transact(ctx context.Context, do func(*sql.Tx) error) error {
	x, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return explain(err)
	}
	if err := do(x); err != nil {
		return errors.Join(explain(err), x.Rollback())
	}
	return explain(x.Commit())
}

// putCursor sets a cursor, or deletes it.
func putCursor(ctx context.Context, x *sql.Tx, name, value string) error {
	if value == "" {
		_, err := x.ExecContext(ctx, `DELETE FROM cursors WHERE name = ?`, name)
		return err
	}
	_, err := x.ExecContext(ctx, `INSERT OR REPLACE INTO cursors (name, value) VALUES (?, ?)`, name, value)
	return err
}

// Size returns how many rows a table has.
func (c *Copy) Size(ctx context.Context, t *stored.Table) (n int64, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT count(*) FROM `+t.Name+` WHERE `+copiedRows(t)).Scan(&n)
	return n, explain(err)
}

// Cursor returns a cursor.
func (c *Copy) Cursor(ctx context.Context, name string) (value string, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT coalesce((SELECT value FROM cursors WHERE name = ?), '')`, name).Scan(&value)
	return value, explain(err)
}

// SetCursor sets a cursor, or deletes it.
func (c *Copy) SetCursor(ctx context.Context, name, value string) error {
	return c.transact(ctx, func(x *sql.Tx) error { return putCursor(ctx, x, name, value) })
}

// Newest returns the highest numbers that were assigned.
func (c *Copy) Newest(ctx context.Context) (map[string]int64, error) {
	newest := map[string]int64{}
	for _, name := range stored.Numbered {
		var n int64
		query := `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)`
		if name == "known" { // its numbers may be reused
			query = `SELECT coalesce((SELECT max(id) FROM known WHERE ? = 'known'), 0)`
		}
		if err := c.db.QueryRowContext(ctx, query, name).Scan(&n); err != nil {
			return nil, explain(err)
		}
		newest[name] = n
	}
	return newest, nil
}

// SetNewest makes the numbers continue after these.
func (c *Copy) SetNewest(ctx context.Context, newest map[string]int64) error {
	return c.transact(ctx, func(x *sql.Tx) error {
		for name, n := range newest {
			if name == "known" || n == 0 {
				continue
			}
			if _, err := x.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = ?`, name); err != nil {
				return err
			}
			if _, err := x.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)`, name, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// refuseUnfinishedCopy refuses a journal that is an unfinished copy. For an engine, it also removes
// the mark of a copy's source: with the engine's changes, an interrupted copy cannot continue.
func refuseUnfinishedCopy(ctx context.Context, db *sql.DB, attached bool) error {
	var unfinished bool
	if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM cursors WHERE name = ?)`, stored.CopyTo).Scan(&unfinished); err != nil {
		return err
	}
	if unfinished {
		return stored.ErrUnfinished
	}
	if attached {
		return nil
	}
	_, err := db.ExecContext(ctx, `DELETE FROM cursors WHERE name = ?`, stored.CopyFrom)
	return err
}
