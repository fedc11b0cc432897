package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"
)

// ErrBusy says that another program has locked a journal's file.
var ErrBusy = errors.New("the journal is locked")

// Probe reports whether a journal's file can be written now: it returns ErrBusy if another program
// has it locked for longer than a patience. It writes nothing.
func Probe(ctx context.Context, file string, patience time.Duration) (err error) {
	if !hasSQLite {
		return errNoSQLite
	}
	escaped := (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()
	db, err := sql.Open("sqlite3", fmt.Sprintf("file:%s?mode=rw&_busy_timeout=%d", escaped, patience.Milliseconds()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err == nil {
		if _, err = conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err == nil {
			_, err = conn.ExecContext(ctx, `ROLLBACK`)
		}
		err = errors.Join(err, conn.Close())
	}
	if err != nil && isBusy(err) {
		return fmt.Errorf("%w by another program for more than %s", ErrBusy, patience)
	}
	return explain(err)
}
