//go:build cgo

package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

// hasSQLite is whether the program contains SQLite.
const hasSQLite = true

// explain adds to an error of SQLite what is wrong with the file and what to do.
func explain(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.SystemErrno == syscall.ENOSPC {
		e.Code = sqlite3.ErrFull // whatever SQLite was about to do
	}
	switch e.Code {
	case sqlite3.ErrNotADB:
		return unsound{fmt.Errorf("this is not a journal: give another file, or move this one away (%w)", err)}
	case sqlite3.ErrCorrupt:
		return unsound{fmt.Errorf("the file is damaged: put back a backup, or move it away to begin anew (%w)", err)}
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return fmt.Errorf("another program keeps the file busy: end it and try again (%w)", err)
	case sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrPerm:
		return fmt.Errorf("the file or its folder cannot be written: check who owns them (%w)", err)
	case sqlite3.ErrFull:
		return fmt.Errorf("the disk is full: make room (%w)", err)
	}
	return err
}

// isBusy reports whether another connection has locked the file.
func isBusy(err error) bool {
	var e sqlite3.Error
	return errors.Is(err, errReaders) || errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked)
}
