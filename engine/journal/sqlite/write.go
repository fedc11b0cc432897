package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/batch"
	"github.com/quandohq/quando/engine/journal/ledger"
)

// A writer runs operations, all that are pending in one transaction.
type writer struct {
	*batch.Queue[*operation]
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	fail  func(Point) error

	commits, statements atomic.Int64
	restart             atomic.Bool // the log is long, and the next commit should restart it

	versions map[string]bool          // versions with runs since the journal was opened; only the goroutine uses it
	slots    map[ledger.SlotKey]int64 // the newest slots of keys that were taken lately; only the goroutine uses it
	queued   bool                     // there may be queued runs; only the goroutine uses it
	anyFound bool                     // there are found events; only the goroutine uses it
	run      int64                    // the highest number of a run; only the goroutine uses it
	caused   int64                    // the highest number of an expected event; only the goroutine uses it
	event    atomic.Int64             // the highest number of an event that this process has recorded or read at its start
	claims   *claims
}

// An operation is one caller's part of a transaction.
type operation struct {
	*ledger.Operation

	// do writes what needs no ledger; it may be nil. It runs before the ledger is read, returns an
	// error before it has written anything, and may be called again after a transaction that failed:
	// changes in memory belong into Kept.
	do func(*tx) error
}

// directOperation returns an operation without a ledger. Kept runs after the commit; it may be nil.
func directOperation(weight int, do func(*tx) error, kept func()) *operation {
	op := &operation{Operation: &ledger.Operation{Weight: weight}, do: do}
	if kept != nil {
		op.Kept = func(*ledger.Ledger) { kept() }
	}
	return op
}

func newWriter(ctx context.Context, db *sql.DB, claims *claims, o Options) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	// An engine's journal has a checkpointer. The size limit returns the space to the file system
	// after a burst.
	auto, wait := 0, 5000
	if o.Beside {
		auto, wait = 8000, 10 // begin retries by itself
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d; PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY`, wait, auto)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w := &writer{db: db, conn: conn, stmts: map[string]*sql.Stmt{}, versions: map[string]bool{}, slots: map[ledger.SlotKey]int64{}, claims: claims, fail: o.Fail}
	if w.fail == nil {
		w.fail = func(Point) error { return nil }
	}
	if err := conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs INDEXED BY runs_open WHERE finished = 0 AND state = 'queued')`).Scan(&w.queued); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	var event int64
	for table, into := range map[string]*int64{"runs": &w.run, "caused": &w.caused, "events": &event} {
		if err := conn.QueryRowContext(ctx, `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)`, table).Scan(into); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	w.event.Store(event)
	if err := w.loadAnyFound(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w.Queue = batch.New(w.commit)
	return w, nil
}

// write adds an operation to the queue and waits for its result.
func (w *writer) write(ctx context.Context, op *operation) error { return w.Do(ctx, op, op.Weight) }

// close waits for the operations in the queue.
func (w *writer) close() error {
	w.Close()
	return errors.Join(closeAll(w.stmts), w.conn.Close())
}

// commit runs operations and returns their errors. If one of them breaks the shared transaction, it
// runs each in its own.
func (w *writer) commit(ops []*operation) []error {
	w.restartLog()
	results, broken := w.attempt(ops)
	if broken && len(ops) > 1 {
		for i := range ops {
			single, _ := w.attempt(ops[i : i+1])
			results[i] = single[0]
		}
	}
	return results
}

// attempt runs operations in one transaction and returns their errors. It is broken if an operation
// fails after it has written something; then nothing is recorded.
func (w *writer) attempt(ops []*operation) (results []error, broken bool) {
	t := &tx{w: w, run: w.run, caused: w.caused}
	results = make([]error, len(ops))
	l, broken, err := t.execute(ops, results)
	if err != nil {
		t.rollback()
		for i := range results {
			if results[i] == nil {
				results[i] = explain(err)
			}
		}
		return results, broken
	}
	w.commits.Add(1)
	w.updateCaches(t, l)
	for i, op := range ops {
		if results[i] == nil && op.Kept != nil {
			op.Kept(l)
		}
	}
	if err := w.fail(AfterCommit); err != nil {
		for i := range results {
			if results[i] == nil {
				results[i] = err
			}
		}
	}
	return results, false
}

// execute runs operations up to and including the commit. Their own errors are in results.
func (t *tx) execute(ops []*operation, results []error) (l *ledger.Ledger, broken bool, err error) {
	if err := t.begin(); err != nil {
		return nil, false, fmt.Errorf("begin: %w", err)
	}
	var wants ledger.Wants
	for i, op := range ops {
		if op.do != nil {
			t.touched = false
			if results[i] = op.do(t); results[i] != nil && t.touched {
				return nil, true, results[i]
			}
		}
		if op.Want != nil {
			op.Want(&wants)
		}
	}
	if l, err = t.readWants(&wants); err != nil {
		return nil, true, err
	}
	for i, op := range ops {
		if results[i] == nil && op.Decide != nil {
			results[i] = op.Decide(l)
		}
	}
	if err := t.writeRows(l); err != nil {
		return nil, true, err
	}
	if err := t.w.fail(BeforeCommit); err != nil {
		return nil, false, err
	}
	if _, err := t.exec(`COMMIT`); err != nil {
		return nil, false, fmt.Errorf("commit: %w", err)
	}
	return l, false, nil
}

// maxBeginWait is how long a transaction waits for another process that writes.
const maxBeginWait = 10 * time.Second

// begin acquires the file's write lock. SQLite's own busy handler polls less and less often, and if
// an engine commits without a pause it may find the lock taken every time.
func (t *tx) begin() error {
	for until := time.Now().Add(maxBeginWait); ; {
		_, err := t.exec(`BEGIN IMMEDIATE`)
		if !isBusy(err) || time.Now().After(until) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// updateCaches updates the writer's state after a commit.
func (w *writer) updateCaches(t *tx, l *ledger.Ledger) {
	w.run, w.caused = t.run, t.caused
	if t.event > 0 {
		w.event.Store(t.event)
	}
	taken := l.Slots()
	if len(w.slots)+len(taken) > maxSlotKeys {
		clear(w.slots)
	}
	for k, s := range taken {
		w.slots[k] = s.Newest()
	}
	for _, hash := range l.Versions() {
		w.versions[hash] = true
	}
	begun, _ := l.Runs()
	w.queued = w.queued || slices.ContainsFunc(begun, func(r *ledger.Run) bool { return r.State == journal.Queued })
	w.anyFound = w.anyFound || t.anyFound
}

// A tx is the open transaction.
type tx struct {
	w        *writer
	touched  bool  // an operation has written something, or a statement has failed
	event    int64 // the number of the last event; 0 if it is not known
	run      int64 // the number of the last run
	caused   int64 // the number of the last expected event
	anyFound bool  // it records found events
}

// exec runs a statement that writes.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	t.touched = true
	stmt, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(args...)
}

// number reads a single number. It returns false if there is no row.
func (t *tx) number(query string, args ...any) (n int64, found bool, err error) {
	found, err = t.get(query, args, &n)
	return n, found, err
}

// execCount runs a statement and returns how many rows it wrote.
func (t *tx) execCount(query string, args ...any) (int, error) {
	r, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}

// get reads one row. It returns false if there is none.
func (t *tx) get(query string, args []any, into ...any) (bool, error) {
	stmt, err := t.prepare(query)
	if err == nil {
		err = stmt.QueryRow(args...).Scan(into...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	t.touched = t.touched || err != nil
	return err == nil, err
}

// each calls scan for each row.
func (t *tx) each(query string, args []any, scan func(*sql.Rows) error) error {
	stmt, err := t.prepare(query)
	if err == nil {
		var rows *sql.Rows
		if rows, err = stmt.Query(args...); err == nil {
			err = scanAll(rows, scan)
		}
	}
	t.touched = t.touched || err != nil
	return err
}

func (t *tx) prepare(query string) (*sql.Stmt, error) {
	t.w.statements.Add(1)
	if stmt := t.w.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		t.touched = true
		return nil, err
	}
	t.w.stmts[query] = stmt
	return stmt, nil
}

// rollback ends the transaction, unless SQLite has done so itself.
func (t *tx) rollback() { _, _ = t.exec(`ROLLBACK`) }
