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

// A writer carries out operations, as many in one transaction as are waiting.
type writer struct {
	*batch.Queue[*operation]
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	fail  func(Point) error

	commits, statements atomic.Int64
	restart             atomic.Bool // the log is long, and the next one who writes should begin it anew

	versions map[string]bool          // of rules whose runs have begun since the journal was opened; only the goroutine looks
	slots    map[ledger.SlotKey]int64 // the newest taking of keys that were taken lately; only the goroutine looks
	queued   bool                     // there may be runs that wait for their turn; only the goroutine looks
	anyFound bool                     // the journal has events that were found; only the goroutine looks
	run      int64                    // the newest number of a run; only the goroutine looks
	caused   int64                    // the newest number of an own effect; only the goroutine looks
	event    atomic.Int64             // the newest number of an event, of those that this process has recorded and those before
	claims   *claims
}

// An operation is one call's part of a transaction.
type operation struct {
	*ledger.Operation

	// do is what no ledger decides on; it may be nil. It comes before what ledgers read, refuses
	// before it has written anything, and may be called once more after a transaction that came to
	// nothing: what it changes in memory belongs into Kept.
	do func(*tx) error
}

// directly returns an operation without a ledger. Kept runs after the commit; it may be nil.
func directly(weight int, do func(*tx) error, kept func()) *operation {
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
	// An engine's journal has a checkpointer. The limit gives the space back after a burst.
	auto, wait := 0, 5000
	if o.Beside {
		auto, wait = 8000, 10 // it asks again by itself
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
	if err := w.readFound(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w.Queue = batch.New(w.commit)
	return w, nil
}

// write hands an operation to the writer and waits for its answer.
func (w *writer) write(ctx context.Context, op *operation) error { return w.Do(ctx, op, op.Weight) }

// close lets what is queued come to an end.
func (w *writer) close() error {
	w.Close()
	return errors.Join(closeAll(w.stmts), w.conn.Close())
}

// commit carries out operations and returns their errors. An operation that breaks their
// transaction is found by giving each one of its own.
func (w *writer) commit(ops []*operation) []error {
	w.restartLog()
	results, broken := w.attempt(ops)
	if broken && len(ops) > 1 {
		for i := range ops {
			alone, _ := w.attempt(ops[i : i+1])
			results[i] = alone[0]
		}
	}
	return results
}

// attempt carries out operations in one transaction and returns their errors. It is broken by an
// operation that fails halfway; then nothing is recorded.
func (w *writer) attempt(ops []*operation) (results []error, broken bool) {
	t := &tx{w: w, run: w.run, caused: w.caused}
	results = make([]error, len(ops))
	l, broken, err := t.carryOut(ops, results)
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
	w.remember(t, l)
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

// carryOut carries out operations up to the commit. Their own errors are results.
func (t *tx) carryOut(ops []*operation, results []error) (l *ledger.Ledger, broken bool, err error) {
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
	if l, err = t.read(&wants); err != nil {
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

// beginPatience is how long a transaction waits for another process that writes.
const beginPatience = 10 * time.Second

// begin takes the file's write lock. SQLite's own wait looks less and less often, and under an
// engine that commits without a pause it may find the lock taken every time.
func (t *tx) begin() error {
	for until := time.Now().Add(beginPatience); ; {
		_, err := t.exec(`BEGIN IMMEDIATE`)
		if !busy(err) || time.Now().After(until) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// remember keeps what a committed transaction has learned.
func (w *writer) remember(t *tx, l *ledger.Ledger) {
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

// A tx is the transaction that is open.
type tx struct {
	w        *writer
	touched  bool  // an operation has written something, or a statement has failed
	event    int64 // the number of the last event; 0 is that it is not known
	run      int64 // the number of the last run
	caused   int64 // the number of the last own effect
	anyFound bool  // it records events that were found
}

// exec carries out a statement that writes.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	t.touched = true
	stmt, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(args...)
}

// number reads the one number that a statement asks for. It returns false when there is no row.
func (t *tx) number(query string, args ...any) (n int64, found bool, err error) {
	found, err = t.get(query, args, &n)
	return n, found, err
}

// changed carries out a statement and returns how many rows it wrote.
func (t *tx) changed(query string, args ...any) (int, error) {
	r, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}

// get reads one row. It returns false when there is none.
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

// each reads rows, one call of scan each.
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
