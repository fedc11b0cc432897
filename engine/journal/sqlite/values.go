package sqlite

import (
	"database/sql"
	"errors"
)

// errEnough ends a scan. A LIMIT that is an argument would do the same, but SQLite would then plan
// the query again each time.
var errEnough = errors.New("enough")

// scanAll calls scan for each row.
func scanAll(rows *sql.Rows, scan func(*sql.Rows) error) error {
	for rows.Next() {
		err := scan(rows)
		if errors.Is(err, errEnough) {
			return rows.Close()
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// closeAll closes statements: a connection with open statements is not really closed.
func closeAll(stmts map[string]*sql.Stmt) error {
	var problems []error
	for _, s := range stmts {
		problems = append(problems, s.Close())
	}
	return errors.Join(problems...)
}
