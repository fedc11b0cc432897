package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// A transientError is an error that a retry may not meet again.
type transientError struct{ error }

func (e *transientError) Unwrap() error { return e.error }

// markTransient marks an error of a connection, such as one that was closed while it was idle.
func markTransient(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Severity == "ERROR" {
		return err
	}
	return &transientError{err}
}

// isTransient reports whether a retry makes sense: a connection broke, or transactions of several
// engines conflicted.
func isTransient(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", "23505": // a serialization failure, a deadlock, a unique violation: another engine has recorded the same at the same moment, which the retry sees
			return true
		}
		if pg.Severity == "ERROR" {
			return false
		}
	}
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok && connect != nil {
		return false // the database is down: the caller knows best how long to wait
	}
	_, ok := errors.AsType[*transientError](err)
	return ok
}

// isDataError reports whether the database refuses the data, as opposed to a problem of the
// database itself.
func isDataError(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pg.Severity != "ERROR" {
		return false
	}
	switch pg.Code[:2] {
	case "22", "23", "54": // data exceptions, integrity violations, program limits
		return true
	}
	return false
}

// isLockTimeout reports whether another session has held a lock for too long.
func isLockTimeout(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "55P03"
}

// explain adds to an error of the database what is wrong and what to do.
func explain(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			return fmt.Errorf("the database cannot be reached: is it running, and is the address right? (%w)", connect)
		}
		return err
	}
	switch {
	case pg.Code == "3D000":
		return fmt.Errorf("there is no such database: make it with createdb (%w)", err)
	case pg.Code == "28P01" || pg.Code == "28000":
		return fmt.Errorf("the database does not let this user in: check the name and the password (%w)", err)
	case pg.Code == "42501":
		return fmt.Errorf("the user may not do this in the database: let it own the database, or grant it what is missing (%w)", err)
	case pg.Code == "25006":
		return fmt.Errorf("the database only reads, as a standby does: give the address of the primary (%w)", err)
	case pg.Code == "53100":
		return fmt.Errorf("the database's disk is full: make room (%w)", err)
	case pg.Code == "55P03":
		return fmt.Errorf("another session keeps rows or tables of the journal locked: quando doctor names the session where it is a table (%w)", err)
	case pg.Code == "53300":
		return fmt.Errorf("the database has no connection left: raise its max_connections, or lower pool_max_conns in the address (%w)", err)
	case pg.Code == "53200" && strings.Contains(pg.Hint, "max_locks_per_transaction"):
		return fmt.Errorf("the database has no lock left: raise its max_locks_per_transaction (%w)", err)
	case pg.Code == "54000" && strings.Contains(pg.Message, "index row size"):
		return fmt.Errorf("an id or a name is too long for the database (%w)", err)
	case pg.Code == "42P05" || pg.Code == "26000":
		return fmt.Errorf("there is a pooler in between that does not keep prepared statements: add default_query_exec_mode=exec to the address (%w)", err)
	}
	return err
}
