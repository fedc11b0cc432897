package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// micros is how a time is kept; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// moment is a time that was kept.
func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// list is how a list is kept; an empty one is NULL.
func list[T any](items []T) (any, error) {
	if len(items) == 0 {
		return nil, nil
	}
	return text(items)
}

// text is how a value is kept.
func text(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// decode reads a value that was kept; NULL leaves it as it is.
func decode(s sql.NullString, into any) error {
	if !s.Valid {
		return nil
	}
	return json.Unmarshal([]byte(s.String), into)
}

// errEnough ends the reading of rows. A LIMIT that is an argument would do the same, but makes SQLite plan the query anew each time.
var errEnough = errors.New("enough")

// scanAll goes through rows to the end.
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

// closeAll closes statements: a connection with open ones is not closed for good.
func closeAll(stmts map[string]*sql.Stmt) error {
	var problems []error
	for _, s := range stmts {
		problems = append(problems, s.Close())
	}
	return errors.Join(problems...)
}

// deepest is how far an event's lists and objects may stand inside of each other: less than what the decoder refuses, so that what is
// recorded can be read.
const deepest = 1000

// shallow returns an error when a value is nested too deeply.
func shallow(v any, depth int) error {
	if depth > deepest {
		return fmt.Errorf("more than %d lists and objects inside of each other", deepest)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			if err := shallow(x, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, x := range v {
			if err := shallow(x, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
