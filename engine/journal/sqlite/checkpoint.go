package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// A checkpointer moves what is in the write-ahead log into the file, on a connection of its own and
// while others write, so that no commit waits for it. Only the little that has come meanwhile is
// moved between two commits, so that the log begins anew.
type checkpointer struct {
	db     *sql.DB
	writer *writer
	stop   context.CancelFunc
	done   chan struct{}
}

const (
	checkpointEvery = 250 * time.Millisecond
	worthMoving     = 2000  // pages
	longLog         = 16000 // pages; then it is to begin anew
)

func newCheckpointer(path string, w *writer) (*checkpointer, error) {
	db, err := sql.Open("sqlite3", source(path, "_cache_size=-256"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	ctx, stop := context.WithCancel(context.Background())
	c := &checkpointer{db: db, writer: w, stop: stop, done: make(chan struct{})}
	go c.run(ctx)
	return c, nil
}

func (c *checkpointer) close() error {
	c.stop()
	<-c.done
	return c.db.Close()
}

func (c *checkpointer) run(ctx context.Context) {
	defer close(c.done)
	var commits int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkpointEvery):
		}
		if now := c.writer.commits.Load(); now != commits {
			commits = now
			c.move(ctx)
		}
	}
}

// move moves what is worth it. What cannot be moved now is moved another time: the log is as good
// as the file.
func (c *checkpointer) move(ctx context.Context) {
	log, moved, err := c.checkpoint(ctx, `PRAGMA wal_checkpoint(NOOP)`)
	if err != nil || log-moved < worthMoving && log < longLog {
		return
	}
	if log, _, err = c.checkpoint(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err == nil && log >= longLog {
		c.writer.restart.Store(true)
	}
}

// checkpoint returns how many pages the log has, and how many of them are in the file.
func (c *checkpointer) checkpoint(ctx context.Context, pragma string) (log, moved int, err error) {
	var busy int
	err = c.db.QueryRowContext(ctx, pragma).Scan(&busy, &log, &moved)
	return log, moved, err
}

// restartLog moves the rest of a long log into the file. Nobody writes meanwhile, so that the next
// commit begins the log anew.
func (w *writer) restartLog() {
	if !w.restart.CompareAndSwap(true, false) {
		return
	}
	_, _ = w.conn.ExecContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`) // another time, then
}
