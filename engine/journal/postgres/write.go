package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/batch"
	"github.com/quandohq/quando/engine/journal/ledger"
)

const (
	// patience is how long one transaction, or the search for what became of one, may take.
	patience = 20 * time.Second

	// tries is how often operations are carried out when something comes in between that may be gone
	// the next time.
	tries = 5
)

// A writer carries out operations, as many in one transaction as are waiting. A transaction takes
// two trips to the database: the first one locks and reads everything that the operations have to
// do with, then they decide in memory, and the second one writes what came of it and commits.
type writer struct {
	*batch.Queue[*operation]
	journal *Journal
	name    string // under which it numbers its transactions
	n       int64  // the newest one's number
}

// An operation is one call's part of a transaction.
type operation struct {
	*ledger.Operation
	also func(*pgx.Batch) // what it does that no ledger decides on, in the first trip; may be nil
}

func newWriter(j *Journal, name string) *writer {
	w := &writer{journal: j, name: name}
	w.Queue = batch.New(w.commit)
	return w
}

// write hands an operation to the writer and waits for its answer.
func (w *writer) write(ctx context.Context, op *operation) error { return w.Do(ctx, op, op.Weight) }

// commit carries out operations and returns their errors. An operation that the database refuses,
// or that has to do with what somebody keeps locked, is found by giving each one a transaction of
// its own.
func (w *writer) commit(ops []*operation) []error {
	fresh := slices.ContainsFunc(ops, func(op *operation) bool { return op.Fresh })
	results, err := w.attempt(ops, fresh)
	switch {
	case fresh && locked(err):
		return w.withoutFresh(ops)
	case len(ops) > 1 && (refused(err) || locked(err)):
		results = make([]error, len(ops))
		for i := range ops {
			alone, err := w.attempt(ops[i:i+1], true)
			if results[i] = explain(err); err == nil {
				results[i] = alone[0]
			}
		}
		return results
	}
	if err != nil {
		results = make([]error, len(ops))
		for i := range results {
			results[i] = explain(err)
		}
	}
	return results
}

// withoutFresh carries out the operations that only record. What was decided on an event may need
// what somebody keeps locked; who delivers it must not wait for that.
func (w *writer) withoutFresh(ops []*operation) []error {
	var rest []*operation
	for _, op := range ops {
		if !op.Fresh {
			rest = append(rest, op)
		}
	}
	var others []error
	if len(rest) > 0 {
		others = w.commit(rest)
	}
	results := make([]error, len(ops))
	for i, op := range ops {
		if results[i] = journal.ErrOccupied; !op.Fresh {
			results[i], others = others[0], others[1:]
		}
	}
	return results
}

// attempt carries out operations in one transaction and returns their errors, or the one of the
// transaction, which has left nothing then. One that is brief does not wait long for others.
func (w *writer) attempt(ops []*operation, brief bool) (results []error, err error) {
	for try := 1; ; try++ {
		w.n++
		var l *ledger.Ledger
		if results, l, err = w.transact(ops, brief); errors.Is(err, errUntold) {
			err = w.settle(err)
		}
		if err == nil {
			return results, w.told(ops, results, l)
		}
		if try == tries || !passing(err) {
			return nil, err
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
}

// told lets the operations know that they are recorded.
func (w *writer) told(ops []*operation, results []error, l *ledger.Ledger) error {
	for i, op := range ops {
		if results[i] == nil && op.Kept != nil {
			op.Kept(l)
		}
	}
	w.journal.saw(l.Newest)
	if l.Wakes {
		w.journal.notices.tell()
	}
	return w.journal.fail(AfterCommit)
}

// transact carries out operations and returns their errors with what they came to, or why the
// transaction was not committed; or errUntold.
func (w *writer) transact(ops []*operation, brief bool) ([]error, *ledger.Ledger, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := w.journal.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, &passingError{err}
	}
	defer conn.Release() // which closes it when the transaction is not over
	r := &reading{engine: w.journal.engine, brief: brief}
	for _, op := range ops {
		if op.Want != nil {
			op.Want(&r.Wants)
		}
		if op.also != nil {
			r.also = append(r.also, op.also)
		}
	}
	l, err := r.read(ctx, conn, w)
	if err != nil {
		return nil, nil, w.undo(ctx, conn, broken(err))
	}
	results := make([]error, len(ops))
	for i, op := range ops {
		if op.Decide != nil {
			results[i] = op.Decide(l)
		}
	}
	if err := w.journal.fail(BeforeCommit); err != nil {
		return nil, nil, w.undo(ctx, conn, err)
	}
	b := &pgx.Batch{}
	if err := (writing{l, w.journal.engine}).write(b); err != nil {
		return nil, nil, w.undo(ctx, conn, err)
	}
	b.Queue(`COMMIT`)
	err = conn.SendBatch(ctx, b).Close()
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Severity == "ERROR" {
		return nil, nil, w.undo(ctx, conn, err)
	}
	if err != nil {
		return results, l, fmt.Errorf("%w: %w", errUntold, err)
	}
	return results, l, nil
}

// undo ends a transaction that is not committed.
func (w *writer) undo(ctx context.Context, conn *pgxpool.Conn, why error) error {
	if conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = conn.Exec(ctx, `ROLLBACK`) // or else the connection is closed
	}
	return why
}

// errUntold says that nobody was told whether a transaction was committed.
var errUntold = errors.New("the connection broke while the transaction was being committed")

// settle finds out what became of a transaction of which nobody was told. Each one has written its
// number before anything else: whoever reads that waits until the transaction is over.
func (w *writer) settle(why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		var n int64
		err := w.journal.pool.QueryRow(ctx, selectCommit, w.name).Scan(&n)
		switch {
		case err == nil && n == w.n:
			return nil
		case err == nil:
			return &passingError{why}
		case ctx.Err() != nil:
			return fmt.Errorf("%w, and what became of it could not be found out: %w", why, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

const (
	// insertCommit numbers a transaction.
	insertCommit = `INSERT INTO quando.commits (writer, n, at) VALUES ($1, $2, clock_timestamp()) ON CONFLICT (writer) DO UPDATE SET n = excluded.n, at = excluded.at`

	// selectCommit returns the number of the newest transaction that was committed. It writes, because
	// only a writer waits for one that has written the first number.
	selectCommit = `INSERT INTO quando.commits AS c (writer, n, at) VALUES ($1, 0, clock_timestamp()) ON CONFLICT (writer) DO UPDATE SET at = excluded.at RETURNING c.n`

	// limits bounds how long the database lets a transaction wait, for a client that is gone or for a
	// lock: everybody else waits for it too.
	limits = `SELECT set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '3s', true), ` + byIndex

	// briefly is how long a transaction waits for a lock that others can do without.
	briefly = `SELECT set_config('lock_timeout', '500ms', true)`

	// byIndex lets every statement of a transaction find its few rows by an index, by a plan that is
	// made once: the database knows tables that grow fast only as they were a while ago, and planning
	// anew would cost more than the work.
	byIndex = `set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
		set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`
)
