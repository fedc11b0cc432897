package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quandohq/quando/engine/journal/stored"
)

// ErrBusy says that another session has locked a journal's tables.
var ErrBusy = errors.New("the journal is locked")

// Probe reports whether a journal can be written now: it returns ErrBusy if another session has one
// of its tables locked for longer than a patience, and names the sessions that hold the locks. It
// writes nothing.
func Probe(ctx context.Context, where string, patience time.Duration) (who string, err error) {
	a, err := parse(where)
	if err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, a.pool.ConnConfig)
	if err != nil {
		return "", fmt.Errorf("journal %s: %w", a.shown, explain(err))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing was written
	tables := []string{"quando.goose_db_version"}
	for _, t := range stored.Tables {
		tables = append(tables, "quando."+t.Name)
	}
	err = tryLock(ctx, conn, strings.Join(tables, ", "), patience)
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && (pg.Code == "42P01" || pg.Code == "3F000"): // there are no tables yet
		return "", nil
	case ok && pg.Code == "55P03":
		return lockHolders(ctx, conn), fmt.Errorf("%w by another program for more than %s", ErrBusy, patience)
	case err != nil:
		return "", fmt.Errorf("journal %s: %w", a.shown, explain(err))
	}
	return "", nil
}

// tryLock acquires the locks that a writer needs, and releases them.
func tryLock(ctx context.Context, conn *pgx.Conn, tables string, patience time.Duration) error {
	x, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = x.Exec(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`, patience.Milliseconds()))
	if err == nil {
		_, err = x.Exec(ctx, `LOCK TABLE `+tables+` IN ROW EXCLUSIVE MODE`)
	}
	return errors.Join(err, x.Rollback(ctx))
}

// lockHolders names the sessions that hold conflicting locks on tables of the journal; empty if the
// database does not tell.
func lockHolders(ctx context.Context, conn *pgx.Conn) string {
	var list []string
	rows, err := conn.Query(ctx, `SELECT DISTINCT a.pid, coalesce(a.usename::text, ''), coalesce(a.application_name, ''), coalesce(a.state, '') FROM pg_locks l
		JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE n.nspname = 'quando' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') ORDER BY a.pid`)
	_ = scanAll(rows, err, func(rows pgx.Rows) error { // the names are optional
		var pid int
		var user, program, state string
		err := rows.Scan(&pid, &user, &program, &state)
		list = append(list, strings.Join(strings.Fields(fmt.Sprintf("session %d of %s %s %s", pid, user, program, state)), " "))
		return err
	})
	return strings.Join(list, ", ")
}
