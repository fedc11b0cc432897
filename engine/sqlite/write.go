package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A transaction holds operations up to this weight; a single one may weigh more.
const fullWeight = 1024

// A writer carries out operations, as many in one transaction as are waiting.
type writer struct {
	db     *sql.DB
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	linger time.Duration
	fail   func(Point) error

	mu     sync.Mutex
	queue  []*operation
	closed bool
	lately time.Time // when the last transaction ended

	news chan struct{} // that the queue is longer, or closed
	done chan struct{}
	last int // operations of the last transaction

	versions map[string]bool // of rules whose runs have begun since the journal was opened; only the goroutine looks
}

// An operation is one call's part of a transaction.
type operation struct {
	// do refuses before it has written anything, or writes. It may be called once more after a transaction that came to nothing, so that
	// what it changes in memory belongs into kept.
	do     func(*tx) error
	kept   func() // after the commit; may be nil
	weight int

	state  atomic.Int32
	answer chan error
}

// The states of an operation: in the queue, in the writer's hands, taken back.
const (
	queued int32 = iota
	taken
	withdrawn
)

func newWriter(ctx context.Context, db *sql.DB, o Options) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	// A long write-ahead log makes for few checkpoints under load; the limit gives the space back after a burst.
	if _, err := conn.ExecContext(ctx, `PRAGMA wal_autocheckpoint = 8000; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY`); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w := &writer{db: db, conn: conn, stmts: map[string]*sql.Stmt{}, versions: map[string]bool{}, linger: o.Linger, fail: o.Fail, news: make(chan struct{}, 1), done: make(chan struct{})}
	if w.fail == nil {
		w.fail = func(Point) error { return nil }
	}
	go w.run()
	return w, nil
}

// write hands an operation to the writer and waits for its answer.
func (w *writer) write(ctx context.Context, op *operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op.answer = make(chan error, 1)
	op.weight = max(op.weight, 1)
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.queue = append(w.queue, op)
	w.mu.Unlock()
	w.tell()
	select {
	case err := <-op.answer:
		return err
	case <-ctx.Done():
		if op.state.CompareAndSwap(queued, withdrawn) {
			return ctx.Err()
		}
		return <-op.answer
	}
}

func (w *writer) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// close lets what is queued come to an end.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.tell()
	<-w.done
	return errors.Join(closeAll(w.stmts), w.conn.Close())
}

func (w *writer) run() {
	defer close(w.done)
	for range w.news {
		for {
			w.assemble()
			batch := w.take()
			if len(batch) == 0 {
				break
			}
			w.commit(batch)
			w.mu.Lock()
			w.lately = time.Now()
			w.mu.Unlock()
		}
		w.mu.Lock()
		end := w.closed && len(w.queue) == 0
		w.mu.Unlock()
		if end {
			return
		}
	}
}

// assemble waits a moment for those who shared the last transaction and are likely to come back.
func (w *writer) assemble() {
	if w.last < 2 || w.linger <= 0 || w.waiting() == 0 {
		return
	}
	timer := time.NewTimer(w.linger)
	defer timer.Stop()
	for w.waiting() < w.last {
		select {
		case <-w.news:
		case <-timer.C:
			return
		}
	}
}

// waiting returns the length of the queue; a closed one is as long as can be, because nothing is added to it.
func (w *writer) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fullWeight
	}
	return len(w.queue)
}

// aMoment without a transaction is quiet.
const aMoment = 10 * time.Millisecond

// quiet waits until nobody has written anything for a moment, or until its patience is over.
func (w *writer) quiet(ctx context.Context, patience time.Duration) {
	for began := time.Now(); time.Since(began) < patience; {
		w.mu.Lock()
		wait := aMoment - time.Since(w.lately)
		if len(w.queue) > 0 {
			wait = aMoment
		}
		w.mu.Unlock()
		if wait <= 0 {
			return
		}
		select {
		case <-time.After(min(wait, patience)):
		case <-ctx.Done():
			return
		}
	}
}

// take returns the operations of the next transaction.
func (w *writer) take() []*operation {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*operation
	weight, n := 0, 0
	for _, op := range w.queue {
		if weight > 0 && weight+op.weight > fullWeight {
			break
		}
		n++
		if op.state.CompareAndSwap(queued, taken) {
			batch = append(batch, op)
			weight += op.weight
		}
	}
	rest := copy(w.queue, w.queue[n:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
	return batch
}

// commit carries out operations and answers them. An operation that breaks their transaction is found by giving each one of its own.
func (w *writer) commit(batch []*operation) {
	w.last = len(batch)
	results, broken := w.attempt(batch)
	if broken && len(batch) > 1 {
		for _, op := range batch {
			alone, _ := w.attempt([]*operation{op})
			op.answer <- alone[0]
		}
		return
	}
	for i, op := range batch {
		op.answer <- results[i]
	}
}

// attempt carries out operations in one transaction and returns their errors. It is broken by an operation that fails halfway; then
// nothing is recorded.
func (w *writer) attempt(batch []*operation) (results []error, broken bool) {
	results = make([]error, len(batch))
	t := &tx{w: w, released: map[*claim]bool{}, versions: map[string]bool{}}
	all := func(err error) []error {
		t.rollback()
		for i := range results {
			if results[i] == nil {
				results[i] = explain(err)
			}
		}
		return results
	}
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return all(fmt.Errorf("begin: %w", err)), false
	}
	for i, op := range batch {
		t.touched = false
		err := op.do(t)
		if err != nil && t.touched {
			return all(err), true
		}
		results[i] = err
	}
	if err := t.tallied(); err != nil {
		return all(err), false
	}
	if err := w.fail(BeforeCommit); err != nil {
		return all(err), false
	}
	if _, err := t.exec(`COMMIT`); err != nil {
		return all(fmt.Errorf("commit: %w", err)), false
	}
	for i, op := range batch {
		if results[i] == nil && op.kept != nil {
			op.kept()
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

// A tx is the transaction that is open.
type tx struct {
	w        *writer
	touched  bool // an operation has written something, or a statement has failed
	released map[*claim]bool
	versions map[string]bool // of rules whose runs begin in it
	tally    tally
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
