package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// An execution is a statement that writes, in the driver's own form: there are a dozen to a run, all from one goroutine on one connection, and what database/sql
// does for connections that are shared costs as much again as the driver.
type execution struct {
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
	}
	args []driver.NamedValue
}

func newExecution(conn *sql.Conn, query string) (*execution, error) {
	e := &execution{}
	err := conn.Raw(func(c any) error {
		stmt, err := c.(driver.Conn).Prepare(query)
		if err != nil {
			return err
		}
		var ok bool
		if e.stmt, ok = stmt.(interface {
			driver.Stmt
			driver.StmtExecContext
		}); !ok {
			return fmt.Errorf("the driver's statements are of another kind: %T", stmt)
		}
		return nil
	})
	return e, err
}

// do carries the statement out.
func (e *execution) do(args []any) (driver.Result, error) {
	e.args = e.args[:0]
	for i, a := range args {
		v := driver.NamedValue{Ordinal: i + 1}
		switch a := a.(type) {
		case nil, string, int64, bool:
			v.Value = a
		case int:
			v.Value = int64(a)
		case *string:
			if a != nil {
				v.Value = *a
			}
		default:
			var err error
			if v.Value, err = driver.DefaultParameterConverter.ConvertValue(a); err != nil {
				return nil, err
			}
		}
		e.args = append(e.args, v)
	}
	result, err := e.stmt.ExecContext(context.Background(), e.args)
	clear(e.args)
	return result, err
}
