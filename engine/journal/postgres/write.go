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
	// transactionTimeout bounds a transaction, and the search for the result of one.
	transactionTimeout = 20 * time.Second

	// maxTries is how often operations are tried if a transaction fails with a transient error.
	maxTries = 5
)

// A writer runs operations, all that are pending in one transaction. A transaction takes two round
// trips: the first locks and reads the rows that the operations need, then they decide in memory,
// and the second writes the changes and commits.
type writer struct {
	*batch.Queue[*operation]
	journal *Journal
	name    string // identifies the writer in the table commits
	n       int64  // the number of its newest transaction
}

// An operation is one caller's part of a transaction.
type operation struct {
	*ledger.Operation
	extra func(*pgx.Batch) // queues statements that need no ledger, in the first round trip; may be nil
}

func newWriter(j *Journal, name string) *writer {
	w := &writer{journal: j, name: name}
	w.Queue = batch.New(w.commit)
	return w
}

// write adds an operation to the queue and waits for its result.
func (w *writer) write(ctx context.Context, op *operation) error { return w.Do(ctx, op, op.Weight) }

// commit runs operations and returns their errors. If the database refuses one of them, or one
// needs a row that another session has locked, it runs each in its own transaction.
func (w *writer) commit(ops []*operation) []error {
	fresh := slices.ContainsFunc(ops, func(op *operation) bool { return op.Fresh })
	results, err := w.attempt(ops, fresh)
	switch {
	case fresh && isLockTimeout(err):
		return w.withoutFresh(ops)
	case len(ops) > 1 && (isDataError(err) || isLockTimeout(err)):
		results = make([]error, len(ops))
		for i := range ops {
			single, err := w.attempt(ops[i:i+1], true)
			if results[i] = explain(err); err == nil {
				results[i] = single[0]
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

// withoutFresh runs the operations that are not Fresh, and refuses the others. The decisions on an
// event may need rows that another session has locked; the delivery of the event must not wait for
// that.
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

// attempt runs operations in one transaction and returns their errors, or that of the transaction,
// which then has changed nothing. With brief it has a short lock timeout.
func (w *writer) attempt(ops []*operation, brief bool) (results []error, err error) {
	for try := 1; ; try++ {
		w.n++
		var l *ledger.Ledger
		if results, l, err = w.transact(ops, brief); errors.Is(err, errUnknownCommit) {
			err = w.resolveCommit(err)
		}
		if err == nil {
			return results, w.afterCommit(ops, results, l)
		}
		if try == maxTries || !isTransient(err) {
			return nil, err
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
}

// afterCommit runs Kept of the operations that are recorded.
func (w *writer) afterCommit(ops []*operation, results []error, l *ledger.Ledger) error {
	for i, op := range ops {
		if results[i] == nil && op.Kept != nil {
			op.Kept(l)
		}
	}
	w.journal.sawEvent(l.Newest)
	if l.Wakes {
		w.journal.notices.announce()
	}
	return w.journal.fail(AfterCommit)
}

// transact runs operations and returns their errors and the ledger, or why the transaction was not
// committed; or errUnknownCommit.
func (w *writer) transact(ops []*operation, brief bool) ([]error, *ledger.Ledger, error) {
	ctx, cancel := context.WithTimeout(context.Background(), transactionTimeout)
	defer cancel()
	conn, err := w.journal.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, &transientError{err}
	}
	defer conn.Release() // closes the connection if the transaction is still open
	r := &readBatch{engine: w.journal.engine, brief: brief}
	for _, op := range ops {
		if op.Want != nil {
			op.Want(&r.Wants)
		}
		if op.extra != nil {
			r.extra = append(r.extra, op.extra)
		}
	}
	l, err := r.read(ctx, conn, w)
	if err != nil {
		return nil, nil, w.rollback(ctx, conn, markTransient(err))
	}
	results := make([]error, len(ops))
	for i, op := range ops {
		if op.Decide != nil {
			results[i] = op.Decide(l)
		}
	}
	if err := w.journal.fail(BeforeCommit); err != nil {
		return nil, nil, w.rollback(ctx, conn, err)
	}
	b := &pgx.Batch{}
	if err := (writeBatch{l, w.journal.engine}).write(b); err != nil {
		return nil, nil, w.rollback(ctx, conn, err)
	}
	b.Queue(`COMMIT`)
	err = conn.SendBatch(ctx, b).Close()
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Severity == "ERROR" {
		return nil, nil, w.rollback(ctx, conn, err)
	}
	if err != nil {
		return results, l, fmt.Errorf("%w: %w", errUnknownCommit, err)
	}
	return results, l, nil
}

// rollback ends a transaction that is not committed.
func (w *writer) rollback(ctx context.Context, conn *pgxpool.Conn, why error) error {
	if conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = conn.Exec(ctx, `ROLLBACK`) // if it fails, Release closes the connection
	}
	return why
}

// errUnknownCommit says that it is not known whether a transaction was committed.
var errUnknownCommit = errors.New("the connection broke while the transaction was being committed")

// resolveCommit finds out whether a transaction was committed whose answer was lost. Each
// transaction writes its number before anything else: a query that locks the number's row waits
// until the transaction is over.
func (w *writer) resolveCommit(why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), transactionTimeout)
	defer cancel()
	for {
		var n int64
		err := w.journal.pool.QueryRow(ctx, selectCommit, w.name).Scan(&n)
		switch {
		case err == nil && n == w.n:
			return nil
		case err == nil:
			return &transientError{why}
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

	// selectCommit returns the number of the newest committed transaction. It writes the row, because
	// only a write waits for a transaction that has inserted it.
	selectCommit = `INSERT INTO quando.commits AS c (writer, n, at) VALUES ($1, 0, clock_timestamp()) ON CONFLICT (writer) DO UPDATE SET at = excluded.at RETURNING c.n`

	// limits bounds how long the database lets a transaction wait, for a client that is gone or for a
	// lock: other transactions wait for it too.
	limits = `SELECT set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '3s', true), ` + forceIndexes

	// briefLockTimeout is for transactions whose locks are not essential.
	briefLockTimeout = `SELECT set_config('lock_timeout', '500ms', true)`

	// forceIndexes makes every statement of a transaction find its few rows by an index, with a
	// generic plan: the planner's statistics of fast growing tables are outdated, and to plan each
	// time would cost more than the statement.
	forceIndexes = `set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
		set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`
)
