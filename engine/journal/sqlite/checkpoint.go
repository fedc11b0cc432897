package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// A checkpointer moves the pages of the write-ahead log into the database file, on its own
// connection and concurrently with the writer, so that no commit waits for it. The writer moves
// only the few pages that were added since, between two commits, so that the log can restart from
// its beginning.
type checkpointer struct {
	db     *sql.DB
	writer *writer
	stop   context.CancelFunc
	done   chan struct{}
}

const (
	checkpointEvery = 250 * time.Millisecond
	minCheckpoint   = 2000  // pages
	maxLog          = 16000 // pages; then the log is to restart from its beginning
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
			c.checkpointIfDue(ctx)
		}
	}
}

// checkpointIfDue runs a checkpoint if there are enough pages. It ignores errors: the pages are as
// durable in the log, and it tries again later.
func (c *checkpointer) checkpointIfDue(ctx context.Context) {
	log, moved, err := c.checkpoint(ctx, `PRAGMA wal_checkpoint(NOOP)`)
	if err != nil || log-moved < minCheckpoint && log < maxLog {
		return
	}
	if log, _, err = c.checkpoint(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err == nil && log >= maxLog {
		c.writer.restart.Store(true)
	}
}

// checkpoint returns how many pages the log has, and how many of them are in the database file.
func (c *checkpointer) checkpoint(ctx context.Context, pragma string) (log, moved int, err error) {
	var busy int
	err = c.db.QueryRowContext(ctx, pragma).Scan(&busy, &log, &moved)
	return log, moved, err
}

// restartLog moves the rest of a long log into the database file. Only the writer calls it, so no
// other commit can add pages, and the next commit restarts the log from its beginning.
func (w *writer) restartLog() {
	if !w.restart.CompareAndSwap(true, false) {
		return
	}
	_, _ = w.conn.ExecContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`) // retried with the next checkpoint
}
