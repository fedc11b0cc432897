package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// copyLock is the advisory lock that a copy has exclusively, and that engines share while they
// start.
const copyLock = migrationLock + 4

// A Copy is a journal as tables of rows, to copy from or to. No engine can start to use it in the
// meantime.
type Copy struct {
	pool *pgxpool.Pool
	lock pgx.Tx
}

var _ stored.Store = (*Copy)(nil)

// OpenCopy opens a journal to copy from it, or to copy into it, and then creates it if it does not
// exist.
func OpenCopy(ctx context.Context, where string, from bool) (*Copy, error) {
	a, err := parse(where)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	c := &Copy{}
	if err := c.open(ctx, a, from); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", a.shown, explain(err)), c.Close())
	}
	return c, nil
}

func (c *Copy) open(ctx context.Context, a *address, from bool) (err error) {
	if c.pool, err = pgxpool.NewWithConfig(ctx, a.pool); err != nil {
		return err
	}
	if err := migrate(ctx, c.pool, from); err != nil {
		return err
	}
	if c.lock, err = c.pool.Begin(ctx); err != nil {
		return err
	}
	if _, err := c.lock.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return err
	}
	var acquired bool
	if err := c.lock.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(copyLock)).Scan(&acquired); err != nil {
		return err
	}
	if !acquired {
		return errors.New("the journal is being copied, or an engine is starting on it: try again when that is over")
	}
	var name string
	err = c.pool.QueryRow(ctx, `SELECT coalesce((SELECT name FROM quando.engines WHERE alive_until >= clock_timestamp() LIMIT 1), '')`).Scan(&name)
	if err == nil && name != "" {
		err = fmt.Errorf("an engine is using it (%s): stop it, or wait some seconds if it has been killed", name)
	}
	return err
}

// Close releases the lock and closes the connections.
func (c *Copy) Close() error {
	var err error
	if c.lock != nil {
		err = c.lock.Rollback(context.Background())
	}
	if c.pool != nil {
		c.pool.Close()
	}
	return err
}

// checkNoCopy runs before an engine uses the journal: no copy may be under way, and the journal
// must not be an unfinished copy. It removes the mark of a copy's source: with the engine's
// changes, an interrupted copy cannot continue.
func checkNoCopy(ctx context.Context, t pgx.Tx) error {
	var acquired bool
	if err := t.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock_shared($1)`, int64(copyLock)).Scan(&acquired); err != nil {
		return err
	}
	if !acquired {
		return errors.New("the journal is being copied: wait until that is over")
	}
	if err := refuseUnfinishedCopy(ctx, t); err != nil {
		return err
	}
	_, err := t.Exec(ctx, `DELETE FROM quando.cursors WHERE name = $1`, stored.CopyFrom)
	return err
}

// refuseUnfinishedCopy refuses a journal that is an unfinished copy.
func refuseUnfinishedCopy(ctx context.Context, q interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}) error {
	var unfinished bool
	if err := q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM quando.cursors WHERE name = $1)`, stored.CopyTo).Scan(&unfinished); err != nil {
		return err
	}
	if unfinished {
		return stored.ErrUnfinished
	}
	return nil
}

// tableSource returns the FROM item for the rows of a table: it sums up the counts of all engines,
// and excludes the cursors of the copy itself.
func tableSource(t *stored.Table) string {
	switch t.Name {
	case "cursors":
		return `(SELECT * FROM quando.cursors WHERE name NOT IN ('` + stored.CopyFrom + `', '` + stored.CopyTo + `')) AS t`
	case "counts":
		return `(SELECT hour, workspace, what, detail, sum(n)::bigint AS n FROM quando.counts GROUP BY 1, 2, 3, 4) AS t`
	case "rule_counts":
		return `(SELECT hour, workspace, rule, what, detail, sum(n)::bigint AS n FROM quando.rule_counts GROUP BY 1, 2, 3, 4, 5) AS t`
	case "reasons":
		return `(SELECT workspace, rule, day, outcome, clause, sum(n)::bigint AS n, max(event) AS event, (array_agg(at ORDER BY event DESC))[1] AS at FROM quando.reasons GROUP BY 1, 2, 3, 4, 5) AS t`
	case "fired":
		return `(SELECT workspace, rule, max(at) AS at FROM quando.fired GROUP BY 1, 2) AS t`
	}
	return `quando.` + t.Name + ` AS t`
}

// Rows returns rows of a table in the order of its key.
func (c *Copy) Rows(ctx context.Context, t *stored.Table, after []any, limit int) ([][]any, error) {
	return readRows(ctx, c.pool, tableSource(t), t, after, limit)
}

// readRows returns rows of a table, or of its source, in the order of its key, after a key.
func readRows(ctx context.Context, pool *pgxpool.Pool, from string, t *stored.Table, after []any, limit int) (list [][]any, err error) {
	names := stored.Names(t.Columns)
	key := strings.Join(names[:t.Key], ", ")
	query := `SELECT ` + strings.Join(names, ", ") + ` FROM ` + from
	var args []any
	if len(after) > 0 {
		var marks []string
		for i, v := range after {
			if s, ok := v.(string); ok {
				v = encodeText(s)
			}
			args = append(args, v)
			marks = append(marks, "$"+strconv.Itoa(i+1))
		}
		query += ` WHERE (` + key + `) > (` + strings.Join(marks, ", ") + `)`
	}
	rows, err := pool.Query(ctx, query+` ORDER BY `+key+` LIMIT `+strconv.Itoa(limit), args...)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		row, err := scanRow(rows, t)
		list = append(list, row)
		return err
	})
	return list, explain(err)
}

// scanRow reads a row in the form that all databases share.
func scanRow(rows pgx.Rows, t *stored.Table) ([]any, error) {
	row, err := rows.Values()
	if err != nil {
		return nil, err
	}
	for i, column := range t.Columns {
		switch v := row[i].(type) {
		case int32:
			row[i] = int64(v)
		case string:
			if column.Kind == stored.Texts {
				row[i] = decodeText(v)
			}
		}
	}
	return row, nil
}

// Put adds rows to a table and sets a cursor.
func (c *Copy) Put(ctx context.Context, t *stored.Table, rows [][]any, cursor, value string) error {
	names := stored.Names(t.Columns)
	list := make([][]any, len(rows))
	for i, row := range rows {
		list[i] = slices.Clone(row)
		for k, column := range t.Columns {
			if s, ok := row[k].(string); ok && column.Kind == stored.Texts {
				list[i][k] = encodeText(s)
			}
		}
	}
	switch t.Name {
	case "events":
		names = append(names, "judges")
		verdicts := slices.Index(names, "verdicts")
		for i := range list {
			judges, err := judgesOfText(list[i][verdicts])
			if err != nil {
				return err
			}
			list[i] = append(list[i], judges)
		}
	case "counts", "rule_counts", "reasons", "fired":
		names = append(names, "engine")
		for i := range list {
			list[i] = append(list[i], int64(0))
		}
	}
	return explain(pgx.BeginFunc(ctx, c.pool, func(x pgx.Tx) error {
		if _, err := x.CopyFrom(ctx, pgx.Identifier{"quando", t.Name}, names, pgx.CopyFromRows(list)); err != nil {
			return err
		}
		return putCursor(ctx, x, cursor, value)
	}))
}

// judgesOfText returns the rules of stored verdicts.
func judgesOfText(kept any) (any, error) {
	text, ok := kept.(string)
	if !ok {
		return nil, nil
	}
	var verdicts []journal.Verdict
	if err := stored.Decode(&text, &verdicts); err != nil {
		return nil, err
	}
	judges := []string{}
	for _, v := range verdicts {
		judges = append(judges, encodeText(v.Rule))
	}
	return judges, nil
}

// putCursor sets a cursor, or deletes it.
func putCursor(ctx context.Context, x pgx.Tx, name, value string) error {
	if value == "" {
		_, err := x.Exec(ctx, `DELETE FROM quando.cursors WHERE name = $1`, name)
		return err
	}
	_, err := x.Exec(ctx, `INSERT INTO quando.cursors (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// Size returns how many rows a table has.
func (c *Copy) Size(ctx context.Context, t *stored.Table) (n int64, err error) {
	err = c.pool.QueryRow(ctx, `SELECT count(*) FROM `+tableSource(t)).Scan(&n)
	return n, explain(err)
}

// Cursor returns a cursor.
func (c *Copy) Cursor(ctx context.Context, name string) (value string, err error) {
	err = c.pool.QueryRow(ctx, `SELECT coalesce((SELECT value FROM quando.cursors WHERE name = $1), '')`, name).Scan(&value)
	return value, explain(err)
}

// SetCursor sets a cursor, or deletes it.
func (c *Copy) SetCursor(ctx context.Context, name, value string) error {
	return explain(pgx.BeginFunc(ctx, c.pool, func(x pgx.Tx) error { return putCursor(ctx, x, name, value) }))
}

// sequences are the sequences of the numbered tables.
var sequences = map[string]string{"events": "events_seq", "runs": "runs_id", "caused": "caused_id", "known": "known_id", "audit": "audit_id"}

// Newest returns the highest numbers that were assigned.
func (c *Copy) Newest(ctx context.Context) (map[string]int64, error) {
	newest := map[string]int64{}
	for _, name := range stored.Numbered {
		var n int64
		if err := c.pool.QueryRow(ctx, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM quando.`+sequences[name]).Scan(&n); err != nil {
			return nil, explain(err)
		}
		newest[name] = n
	}
	return newest, nil
}

// SetNewest makes the numbers continue after these.
func (c *Copy) SetNewest(ctx context.Context, newest map[string]int64) error {
	for name, n := range newest {
		if _, err := c.pool.Exec(ctx, `SELECT setval($1::regclass, greatest($2::bigint, 1), $2::bigint > 0)`, "quando."+sequences[name], n); err != nil {
			return explain(err)
		}
	}
	return nil
}
