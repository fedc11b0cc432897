package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quandohq/quando/engine/journal/stored"
)

// A Keeper maintains a journal while engines may be using it.
type Keeper struct {
	pool   *pgxpool.Pool
	schema int64
}

var _ stored.Keeper = (*Keeper)(nil)

// OpenKeeper opens a journal to maintain it.
func OpenKeeper(ctx context.Context, where string) (*Keeper, error) {
	a, err := parse(where)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	k := &Keeper{}
	if err := k.open(ctx, a); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", a.shown, explain(err)), k.Close())
	}
	return k, nil
}

func (k *Keeper) open(ctx context.Context, a *address) (err error) {
	if k.pool, err = pgxpool.NewWithConfig(ctx, a.pool); err != nil {
		return err
	}
	if err := migrate(ctx, k.pool, true); err != nil {
		return err
	}
	k.schema, err = schema(ctx, k.pool)
	return err
}

// Close closes the connections.
func (k *Keeper) Close() error {
	if k.pool != nil {
		k.pool.Close()
	}
	return nil
}

// Rows returns rows of a table in the order of its key.
func (k *Keeper) Rows(ctx context.Context, t *stored.Table, after []any, limit int) ([][]any, error) {
	source := tableSource(t)
	if t.Name == "cursors" {
		source = "quando.cursors"
	}
	return readRows(ctx, k.pool, source, t, after, limit)
}

// Edit passes rows to a function and writes the result.
func (k *Keeper) Edit(ctx context.Context, t *stored.Table, keys [][]any, edit func([]any) ([]any, error)) (changed int, err error) {
	err = pgx.BeginFunc(ctx, k.pool, func(x pgx.Tx) error {
		changed = 0
		if t.Name == "audit" { // a trigger rejects changes of its rows
			if _, err := x.Exec(ctx, `ALTER TABLE quando.audit DISABLE TRIGGER audit_stays`); err != nil {
				return err
			}
		}
		for _, key := range keys {
			edited, err := editRow(ctx, x, t, key, edit)
			if err != nil {
				return err
			}
			if edited {
				changed++
			}
		}
		if t.Name == "audit" {
			_, err := x.Exec(ctx, `ALTER TABLE quando.audit ENABLE TRIGGER audit_stays`)
			return err
		}
		return nil
	})
	return changed, explain(err)
}

// editRow changes the row with a key, which it locks, and reports whether the row has changed.
func editRow(ctx context.Context, x pgx.Tx, t *stored.Table, key []any, edit func([]any) ([]any, error)) (bool, error) {
	names := stored.Names(t.Columns)
	args := encodeValues(t, key)
	where := ` WHERE (` + strings.Join(names[:t.Key], ", ") + `) = (` + placeholders(1, t.Key) + `)`
	var row []any
	rows, err := x.Query(ctx, `SELECT `+strings.Join(names, ", ")+` FROM quando.`+t.Name+where+` FOR UPDATE`, args...)
	err = scanAll(rows, err, func(rows pgx.Rows) (err error) { row, err = scanRow(rows, t); return err })
	if err != nil || row == nil {
		return false, err
	}
	after, err := edit(slices.Clone(row))
	switch {
	case err != nil:
		return false, err
	case after == nil:
		_, err = x.Exec(ctx, `DELETE FROM quando.`+t.Name+where, args...)
		return true, err
	case slices.Equal(after, row):
		return false, nil
	}
	set := `(` + strings.Join(names[t.Key:], ", ") + `) = ROW (` + placeholders(t.Key+1, len(names)-t.Key) + `)`
	if t.Name == "events" && after[t.Index("verdicts")] == nil {
		set += `, judges = NULL`
	}
	_, err = x.Exec(ctx, `UPDATE quando.`+t.Name+` SET `+set+where, append(args, encodeValues(t, after)[t.Key:]...)...)
	return true, err
}

// encodeValues returns the first values of a row in their stored form.
func encodeValues(t *stored.Table, row []any) []any {
	out := slices.Clone(row)
	for i := range out {
		if s, ok := out[i].(string); ok && t.Columns[i].Kind == stored.Texts {
			out[i] = encodeText(s)
		}
	}
	return out
}

// placeholders returns n placeholders from a number on.
func placeholders(first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "$" + strconv.Itoa(first+i)
	}
	return strings.Join(list, ", ")
}

const (
	cancelRuns = `UPDATE quando.runs SET state = 'cancelled', finished = true, wake_at = 0, finished_at = greatest($1::bigint, 1), reason = $2, asked = NULL
		WHERE id = ANY($3::bigint[]) AND NOT finished RETURNING workspace, rule, by`

	// beginNext begins the oldest unfinished run of a key, if it is queued.
	beginNext = `UPDATE quando.runs SET state = 'running', wake_at = $1 WHERE state = 'queued'
			AND id = (SELECT id FROM quando.runs WHERE workspace = $2 AND rule = $3 AND by = $4 AND NOT finished ORDER BY id LIMIT 1)
		RETURNING workspace, lane`
	makeDue = `INSERT INTO quando.lanes AS d (workspace, lane, due_at, news) VALUES ($1, $2, greatest($3::bigint, 1), 1)
		ON CONFLICT (workspace, lane) DO UPDATE SET due_at = least(d.due_at, excluded.due_at), news = d.news + 1`
)

// Cancel cancels those of the runs that are unfinished.
func (k *Keeper) Cancel(ctx context.Context, now time.Time, runs []int64, reason string) error {
	at := stored.Micros(now)
	err := pgx.BeginFunc(ctx, k.pool, func(x pgx.Tx) error {
		var kinds [][]any
		rows, err := x.Query(ctx, cancelRuns, at, reason, runs)
		err = scanAll(rows, err, func(rows pgx.Rows) error {
			kind, err := rows.Values()
			kinds = append(kinds, kind)
			return err
		})
		for _, kind := range kinds {
			if err != nil {
				return err
			}
			var workspace, lane string
			err = x.QueryRow(ctx, beginNext, append([]any{at}, kind...)...).Scan(&workspace, &lane)
			if errors.Is(err, pgx.ErrNoRows) {
				err = nil
				continue
			}
			if err == nil {
				_, err = x.Exec(ctx, makeDue, workspace, lane, at)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cancel runs: %w", explain(err))
	}
	return nil
}

// Engine names an engine that uses the database.
func (k *Keeper) Engine(ctx context.Context) (name string, err error) {
	err = k.pool.QueryRow(ctx, `SELECT coalesce((SELECT name FROM quando.engines WHERE alive_until >= clock_timestamp() ORDER BY id LIMIT 1), '')`).Scan(&name)
	return name, explain(err)
}

// Files returns none: the database server has them.
func (k *Keeper) Files() []string { return nil }

// Compact makes the space of deleted rows reusable. To return it to the file system would lock the
// tables.
func (k *Keeper) Compact(ctx context.Context) error {
	for _, t := range stored.Tables {
		if _, err := k.pool.Exec(ctx, `VACUUM quando.`+t.Name); err != nil {
			return fmt.Errorf("vacuum: %w", explain(err))
		}
	}
	return nil
}

// Check looks for damage in the rows. The files are the database server's concern.
func (k *Keeper) Check(ctx context.Context, progress func(string)) (*stored.Report, error) {
	r := &stored.Report{Schema: k.schema, Rows: map[string]int64{}, Findings: []string{}}
	for _, t := range stored.Tables {
		progress("the table " + t.Name)
		if err := r.Read(ctx, k, t); err != nil {
			return nil, err
		}
	}
	err := pgx.BeginTxFunc(ctx, k.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(x pgx.Tx) error {
		if _, err := x.Exec(ctx, `SET LOCAL search_path = quando`); err != nil {
			return err
		}
		for _, c := range stored.Consistencies {
			progress(c.Name)
			var found []string
			rows, err := x.Query(ctx, c.Limited())
			err = scanAll(rows, err, func(rows pgx.Rows) error {
				values, err := rows.Values()
				if err == nil {
					found = append(found, fmt.Sprint(values[0]))
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			r.Add(c, found)
		}
		return nil
	})
	return r, explain(err)
}
