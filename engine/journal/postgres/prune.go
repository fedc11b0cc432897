package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

const pruneSize = 500 // rows that one transaction reads

// pruneLock is the advisory lock for pruning.
const pruneLock = migrationLock + 2

// pruneProgress is how far Prune has scanned the contents of events: it passes those that must stay
// only once.
type pruneProgress struct {
	mu            sync.Mutex
	received, seq int64
	mergedHour    int64 // the hour of the last merge of counts of engines that are gone
	versionsHour  int64 // the hour of the last search for unused versions, which scans all runs
}

const (
	// deleteRuns deletes runs with their steps. A run with a request stays until the request is
	// answered.
	deleteRuns = `WITH gone AS (DELETE FROM quando.runs WHERE id IN (SELECT id FROM quando.runs
			WHERE state IN ('done', 'stopped', 'cancelled', 'failed', 'dealt') AND finished_at < $1 AND asked IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id),
		steps AS (DELETE FROM quando.steps s USING gone WHERE s.run = gone.id)
		SELECT count(*) FROM gone`
	deleteEvents = `WITH gone AS (DELETE FROM quando.events WHERE seq IN (SELECT seq FROM quando.events WHERE data IS NULL AND received_at < $1 LIMIT $2) RETURNING 1) SELECT count(*) FROM gone`
	deleteCaused = `WITH gone AS (DELETE FROM quando.caused WHERE at < $1 AND id IN (SELECT id FROM quando.caused ORDER BY id LIMIT $2) RETURNING 1) SELECT count(*) FROM gone`
	deleteFound  = `WITH gone AS (DELETE FROM quando.found WHERE seq IN (SELECT seq FROM quando.found WHERE at < $1 LIMIT $2) RETURNING 1) SELECT count(*) FROM gone`
	deleteSeen   = `WITH gone AS (DELETE FROM quando.seen WHERE ctid IN (SELECT ctid FROM quando.seen WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone`
	deleteSlots  = `WITH gone AS (DELETE FROM quando.slots WHERE (workspace, key, n) IN (SELECT workspace, key, n FROM quando.slots WHERE over < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1)
		SELECT count(*) FROM gone`
	deleteMutes = `WITH gone AS (DELETE FROM quando.mutes WHERE (workspace, lane) IN (SELECT workspace, lane FROM quando.mutes WHERE until > 0 AND until < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1)
		SELECT count(*) FROM gone`

	deleteCounts     = `WITH gone AS (DELETE FROM quando.counts WHERE ctid IN (SELECT ctid FROM quando.counts WHERE hour < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone`
	deleteRuleCounts = `WITH gone AS (DELETE FROM quando.rule_counts WHERE ctid IN (SELECT ctid FROM quando.rule_counts WHERE hour < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1)
		SELECT count(*) FROM gone`
	deleteReasons = `WITH gone AS (DELETE FROM quando.reasons WHERE ctid IN (SELECT ctid FROM quando.reasons WHERE day < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone`

	selectContents = `SELECT received_at, seq FROM quando.events WHERE data IS NOT NULL AND received_at < $1 AND (received_at, seq) > ($2, $3) ORDER BY received_at, seq LIMIT $4`

	// updateContents deletes contents, except of events that are undecided, being gathered, or needed
	// by an unfinished run. It reads the gathered events once, however many there are.
	updateContents = `UPDATE quando.events e SET data = NULL, verdicts = NULL, answers = NULL, judges = NULL WHERE e.seq = ANY($1::bigint[]) AND e.decided
		AND NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.event = e.seq AND NOT r.finished)
		AND e.seq <> ALL (ARRAY(SELECT k.seq FROM unnest($1::bigint[]) k (seq) JOIN (
			SELECT g.value::bigint AS seq FROM quando.runs r CROSS JOIN LATERAL json_array_elements_text(r.gathered::json) g WHERE NOT r.finished AND r.gathered IS NOT NULL
			UNION ALL SELECT g.value::bigint FROM quando.gathers h CROSS JOIN LATERAL json_array_elements_text(h.events::json) g) g ON g.seq = k.seq))`

	// lockVersions selects the sources of rules that no run has. It skips those that a transaction has
	// locked which is starting a run.
	lockVersions   = `SELECT hash FROM quando.rule_versions v WHERE NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.rule = v.rule AND r.version = v.hash) FOR UPDATE SKIP LOCKED`
	deleteVersions = `DELETE FROM quando.rule_versions v WHERE v.hash = ANY($1::text[]) AND NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.rule = v.rule AND r.version = v.hash)`
)

// Prune deletes what is older than keep; nothing if keep is 0. It returns after the first kind of
// rows of which there may be more. If another engine is pruning, it does nothing.
func (j *Journal) Prune(ctx context.Context, now time.Time, keep time.Duration) (more bool, err error) {
	if j.attached {
		return false, errAttached
	}
	if keep <= 0 {
		return false, nil
	}
	j.prune.mu.Lock()
	defer j.prune.mu.Unlock()
	old, older := stored.Micros(now.Add(-keep)), stored.Micros(now.Add(-keep-stored.IDRetention))
	for _, step := range []func(pgx.Tx) (bool, error){
		pruneRows(ctx, deleteRuns, old),
		func(t pgx.Tx) (bool, error) { return j.pruneContents(ctx, t, old) },
		pruneRows(ctx, deleteEvents, older),
		pruneRows(ctx, deleteCaused, older),
		pruneRows(ctx, deleteFound, older),
		pruneRows(ctx, deleteSeen, older),
		pruneRows(ctx, deleteSlots, stored.Micros(now.Add(-stored.SlotRetention))),
		pruneRows(ctx, deleteMutes, old),
		pruneRows(ctx, deleteCounts, old/ledger.AnHour),
		pruneRows(ctx, deleteRuleCounts, old/ledger.AnHour),
		pruneRows(ctx, deleteReasons, old/ledger.ADay),
		func(t pgx.Tx) (bool, error) { return false, j.mergeCounts(ctx, t, now) },
		func(t pgx.Tx) (bool, error) { return false, j.pruneVersions(ctx, t, now) },
	} {
		err := pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
			var acquired bool
			if err := t.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(pruneLock)).Scan(&acquired); err != nil || !acquired {
				return err
			}
			more, err = step(t)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("prune: %w", explain(err))
		}
		if more {
			return true, nil
		}
	}
	if more, err = j.pruneKnown(ctx, old/ledger.ADay); err != nil {
		return false, fmt.Errorf("prune: %w", explain(err))
	}
	return more, nil
}

// pruneRows returns a function that deletes up to pruneSize rows older than a time. It forces the
// use of an index: the planner's statistics count rows without a time as very old, and it would
// scan a whole table to find a few or no rows.
func pruneRows(ctx context.Context, query string, old int64) func(pgx.Tx) (bool, error) {
	return func(t pgx.Tx) (bool, error) {
		n := 0
		if _, err := t.Exec(ctx, `SELECT `+forceIndexes); err != nil {
			return false, err
		}
		err := t.QueryRow(ctx, query, old, pruneSize).Scan(&n)
		return n == pruneSize, err
	}
}

// pruneContents deletes the data and the verdicts of events.
func (j *Journal) pruneContents(ctx context.Context, t pgx.Tx, old int64) (more bool, err error) {
	var seqs []int64
	received, seq := j.prune.received, j.prune.seq
	found, err := t.Query(ctx, selectContents, old, received, seq, pruneSize)
	err = scanAll(found, err, func(rows pgx.Rows) error {
		err := rows.Scan(&received, &seq)
		seqs = append(seqs, seq)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(seqs) > 0 {
		if _, err := t.Exec(ctx, updateContents, seqs); err != nil {
			return false, err
		}
	}
	if more = len(seqs) == pruneSize; more {
		j.prune.received, j.prune.seq = received, seq
	} else {
		j.prune.received, j.prune.seq = 0, 0
	}
	return more, nil
}

// pruneVersions deletes the sources of rules that no run has. It locks them first, so that it sees
// a run that starts in the meantime. It runs once an hour.
func (j *Journal) pruneVersions(ctx context.Context, t pgx.Tx, now time.Time) error {
	hour := stored.Micros(now) / ledger.AnHour
	if hour == j.prune.versionsHour {
		return nil
	}
	j.prune.versionsHour = hour
	unused := []string{}
	found, err := t.Query(ctx, lockVersions)
	err = scanAll(found, err, func(rows pgx.Rows) error {
		var hash string
		err := rows.Scan(&hash)
		unused = append(unused, hash)
		return err
	})
	if err != nil || len(unused) == 0 {
		return err
	}
	_, err = t.Exec(ctx, deleteVersions, unused)
	return err
}
