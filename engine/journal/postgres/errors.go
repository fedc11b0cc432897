package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// A passingError is one that may be gone the next time.
type passingError struct{ error }

func (e *passingError) Unwrap() error { return e.error }

// broken marks an error of a connection, as of one that ended while nobody used it.
func broken(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Severity == "ERROR" {
		return err
	}
	return &passingError{err}
}

// passing reports whether it is worth trying again: a connection broke, or transactions of several
// engines were in each other's way.
func passing(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", "23505": // a serialization failure, a deadlock, something that another engine has recorded at the same moment and that is seen the next time
			return true
		}
		if pg.Severity == "ERROR" {
			return false
		}
	}
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok && connect != nil {
		return false // the database is not there: its caller knows best how long to wait
	}
	_, ok := errors.AsType[*passingError](err)
	return ok
}

// refused reports whether it is something about the data that the database does not take, and not
// something about the database.
func refused(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pg.Severity != "ERROR" {
		return false
	}
	switch pg.Code[:2] {
	case "22", "23", "54": // of values, of what must be unique, of what is too long
		return true
	}
	return false
}

// locked reports whether somebody keeps something locked for too long.
func locked(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "55P03"
}

// explain says in a person's words what is wrong with a database.
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
		return fmt.Errorf("somebody keeps rows or tables of the journal locked: quando doctor names the session where it is a table (%w)", err)
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
