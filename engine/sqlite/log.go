package sqlite

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// A log is the write-ahead log as the disk has it. SQLite would sync it at the end of each transaction, and nothing could be written meanwhile. So it is told not to: the writer's next
// transaction goes on while the log is synced, and whoever has written waits for that. Nobody relies on a transaction that is not on disk: what follows from it is in a later one of
// the same log, which is synced up to its end.
type log struct {
	path   string
	file   *os.File             // opened when there is something to sync; only who settles looks
	bring  func(*os.File) error // to the disk
	broken atomic.Pointer[error]
}

// syncBeside lets the log be synced beside the writer, and returns what does so. A journal that has no such log is left to SQLite.
func (w *writer) syncBeside(ctx context.Context, path string) (sync func() error, err error) {
	var mode string
	if err := w.conn.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil || !strings.EqualFold(mode, "wal") {
		return nil, err
	}
	// The log is synced before it is moved into the file, and the file after that, as before.
	if _, err := w.conn.ExecContext(ctx, `PRAGMA synchronous = NORMAL`); err != nil {
		return nil, err
	}
	w.log = &log{path: path + "-wal", bring: syncLog}
	return w.log.sync, nil
}

// sync brings everything that was written to the disk. When that fails nobody knows what the disk has, and to try again does not tell: the system may have forgotten what it could not
// write. So nothing more is written until the journal is opened anew, which reads what is there.
func (l *log) sync() (err error) {
	if err := l.failed(); err != nil {
		return err
	}
	if l.file == nil {
		l.file, err = os.OpenFile(l.path, os.O_RDWR, 0)
	}
	if err == nil {
		err = l.bring(l.file)
	}
	if err != nil {
		err = fmt.Errorf("the disk did not keep what was written to it: see what is wrong with it and start again (%w)", err)
		l.broken.Store(&err)
	}
	return err
}

// failed returns why nothing more can be written.
func (l *log) failed() error {
	if l == nil {
		return nil
	}
	if broken := l.broken.Load(); broken != nil {
		return *broken
	}
	return nil
}

func (l *log) close() error {
	if l == nil || l.file == nil {
		return nil
	}
	return l.file.Close()
}
