package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// A statement is what the driver gives.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// An execution is a statement in the driver's own form: there are a dozen to a run, all from one goroutine on one connection, and what database/sql
// does for connections that are shared costs as much again as the driver.
type execution struct {
	stmt statement
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
		if e.stmt, ok = stmt.(statement); !ok {
			return fmt.Errorf("the driver's statements are of another kind: %T", stmt)
		}
		return nil
	})
	return e, err
}

// do carries out a statement that writes.
func (e *execution) do(args []any) (driver.Result, error) {
	defer clear(e.args)
	if err := e.bind(args); err != nil {
		return nil, err
	}
	return e.stmt.ExecContext(context.Background(), e.args)
}

// number reads the one number that a statement asks for. It is not found where there is no row.
func (e *execution) number(args []any) (n int64, found bool, err error) {
	defer clear(e.args)
	if err := e.bind(args); err != nil {
		return 0, false, err
	}
	rows, err := e.stmt.QueryContext(context.Background(), e.args)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row [1]driver.Value
	if err := rows.Next(row[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return 0, false, err
	}
	n, found = row[0].(int64)
	if !found {
		err = fmt.Errorf("%T is no number", row[0])
	}
	return n, found, err
}

// bind takes arguments over in the driver's form.
func (e *execution) bind(args []any) (err error) {
	e.args = e.args[:0]
	for i, a := range args {
		v := driver.NamedValue{Ordinal: i + 1}
		switch a := a.(type) {
		case nil, string, int64, bool, []byte:
			v.Value = a
		case int:
			v.Value = int64(a)
		case *string:
			if a != nil {
				v.Value = *a
			}
		default:
			if v.Value, err = driver.DefaultParameterConverter.ConvertValue(a); err != nil {
				return err
			}
		}
		e.args = append(e.args, v)
	}
	return nil
}
