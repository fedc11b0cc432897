package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// holdLock is the advisory lock that transactions share in which calls begin, and that Hold has
// exclusively: Hold waits until their intents are visible, and later transactions see the hold. It
// is acquired before any other lock.
const holdLock = migrationLock + 6

const (
	// holdLimits are the limits of Hold's transaction. Its lock timeout is long, because every
	// transaction that it waits for gives up after three seconds.
	holdLimits = `SELECT set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '15s', true), ` + forceIndexes

	insertHold = `INSERT INTO quando.holds (workspace, rule, lane, kind, reason, since, until, why) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (workspace, rule, lane, kind) DO UPDATE SET reason = excluded.reason, since = excluded.since, until = excluded.until, why = excluded.why`

	// selectCalls finds the open steps of running runs. There are few of these: runs that wait are in
	// another state.
	selectCalls = `SELECT r.id, r.key, r.workspace, r.rule, r.lane, s.path, s.verb, s.record FROM quando.runs r JOIN quando.steps s ON s.run = r.id
		WHERE r.state = 'running' AND $1 IN ('', r.workspace) AND $2 IN ('', r.rule) AND $3 IN ('', r.lane) AND s.state = 'open'`
)

// Hold stops a rule or a workspace. It may be retried if it is not known whether it was committed.
func (j *Journal) Hold(ctx context.Context, h journal.Hold) (calls []journal.UnderWay, err error) {
	for try := 1; ; try++ {
		calls, err = j.hold(ctx, h)
		if err == nil {
			return calls, nil
		}
		if try == maxTries || !isTransient(markTransient(err)) || ctx.Err() != nil {
			return nil, fmt.Errorf("hold: %w", explain(err))
		}
	}
}

// hold uses its own transaction: changes in the same transaction would neither see the hold nor be
// seen by it.
func (j *Journal) hold(ctx context.Context, h journal.Hold) (calls []journal.UnderWay, err error) {
	ctx, cancel := context.WithTimeout(ctx, transactionTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(holdLimits)
		b.Queue(`SELECT pg_advisory_xact_lock($1)`, int64(holdLock))
		b.Queue(insertHold, encodeText(h.Workspace), encodeText(h.Rule), encodeText(h.Lane), string(h.Kind), encodeText(h.Reason), stored.Micros(h.Since), stored.Micros(h.Until), stored.Why(h.Why))
		each(b.Queue(selectCalls, encodeText(h.Workspace), encodeText(h.Rule), encodeText(h.Lane)), func(rows pgx.Rows) error {
			r, s := &journal.Run{}, &journal.Step{State: journal.StepOpen}
			var record string
			err := rows.Scan(&r.ID, text{&r.Key}, text{&r.Workspace}, text{&r.Rule}, text{&r.Lane}, text{&s.Path}, text{&s.Verb}, text{&record})
			s.Record = json.RawMessage(record)
			if call, ok := journal.CallUnderWay(r, s); ok && err == nil {
				calls = append(calls, call)
			}
			return err
		})
		return t.SendBatch(ctx, b).Close()
	})
	slices.SortFunc(calls, journal.UnderWay.Compare)
	return calls, err
}

// Lift removes a hold, and makes the lanes due whose runs it held. A transaction that records a run
// as held locks the holds until its commit, so that either Lift sees the run, or that transaction
// sees that the hold is gone.
func (j *Journal) Lift(ctx context.Context, now time.Time, h journal.Hold) (bool, error) {
	var lifted bool
	var held []ledger.LaneKey
	lift := func(b *pgx.Batch) {
		lifted, held = false, nil
		each(b.Queue(`DELETE FROM quando.holds WHERE workspace = $1 AND rule = $2 AND lane = $3 AND kind = $4 AND $5::bigint IN (0, until) RETURNING true`,
			encodeText(h.Workspace), encodeText(h.Rule), encodeText(h.Lane), string(h.Kind), stored.Micros(h.Until)), func(rows pgx.Rows) error {
			return rows.Scan(&lifted)
		})
		each(b.Queue(`SELECT DISTINCT workspace, lane FROM quando.runs WHERE state = 'held' AND $1 IN ('', workspace) AND $2 IN ('', rule) AND $3 IN ('', lane)`, encodeText(h.Workspace), encodeText(h.Rule), encodeText(h.Lane)), func(rows pgx.Rows) error {
			var k ledger.LaneKey
			err := rows.Scan(text{&k.Workspace}, text{&k.Lane})
			held = append(held, k)
			return err
		})
		if filled := h.Slots(); filled != "" {
			b.Queue(`DELETE FROM quando.slots WHERE workspace = $1 AND key = $2`, encodeText(h.Workspace), encodeText(filled))
		}
	}
	err := j.changes.write(ctx, &operation{extra: lift, Operation: &ledger.Operation{
		Want: func(w *ledger.Wants) {
			if filled := h.Slots(); filled != "" {
				w.LockSlots(ledger.SlotKey{Workspace: h.Workspace, Key: filled})
			}
		},
		Decide: func(l *ledger.Ledger) error {
			if lifted {
				for _, k := range held {
					l.Due(k, stored.Micros(now))
				}
			}
			return nil
		},
	}})
	if err != nil {
		return false, fmt.Errorf("lift: %w", err)
	}
	return lifted, nil
}

const selectHolds = `SELECT workspace, rule, lane, kind, reason, since, until, why FROM quando.holds ORDER BY workspace, rule, lane, kind`

// addHold returns a function that scans a row of selectHolds.
func addHold(holds *[]journal.Hold) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var h journal.Hold
		var since, until int64
		var why *string
		err := rows.Scan(text{&h.Workspace}, text{&h.Rule}, text{&h.Lane}, &h.Kind, text{&h.Reason}, &since, &until, &why)
		h.Since, h.Until = stored.Moment(since), stored.Moment(until)
		if err == nil {
			err = stored.Decode(why, &h.Why)
		}
		*holds = append(*holds, h)
		return err
	}
}

// Holds returns all holds.
func (j *Journal) Holds(ctx context.Context) ([]journal.Hold, error) {
	var holds []journal.Hold
	err := j.each(ctx, selectHolds, nil, addHold(&holds))
	if err != nil {
		return nil, fmt.Errorf("holds: %w", err)
	}
	return holds, nil
}
