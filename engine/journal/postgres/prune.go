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

const (
	pruneSize = 500                 // rows that are looked at in one transaction
	idsKept   = 15 * 24 * time.Hour // how long an event's id outlives its content
	slotsKept = 24 * time.Hour      // how long a slot outlives its window
)

// pruneLock is the key under which one engine at a time prunes.
const pruneLock = migrationLock + 2

// pruning is how far Prune has come with the contents of events: those that must stay are passed
// once, not again and again.
type pruning struct {
	mu            sync.Mutex
	received, seq int64
	folded        int64 // the hour in which what engines that are gone have counted was last put together
	versions      int64 // the hour in which rules that no run follows were last looked for, which goes through all runs
}

const (
	// Runs go with their steps. One of which something is asked stays until it is answered.
	deleteRuns = `WITH gone AS (DELETE FROM quando.runs WHERE id IN (SELECT id FROM quando.runs
			WHERE state IN ('done', 'stopped', 'cancelled', 'failed') AND finished_at < $1 AND asked IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id),
		steps AS (DELETE FROM quando.steps s USING gone WHERE s.run = gone.id)
		SELECT count(*) FROM gone`
	deleteEvents = `WITH gone AS (DELETE FROM quando.events WHERE seq IN (SELECT seq FROM quando.events WHERE data IS NULL AND received_at < $1 LIMIT $2) RETURNING 1) SELECT count(*) FROM gone`
	deleteCaused = `WITH gone AS (DELETE FROM quando.caused WHERE at < $1 AND id IN (SELECT id FROM quando.caused ORDER BY id LIMIT $2) RETURNING 1) SELECT count(*) FROM gone`
	deleteFound  = `WITH gone AS (DELETE FROM quando.found WHERE seq IN (SELECT seq FROM quando.found WHERE at < $1 LIMIT $2) RETURNING 1) SELECT count(*) FROM gone`
	deleteSeen   = `WITH gone AS (DELETE FROM quando.seen WHERE ctid IN (SELECT ctid FROM quando.seen WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone`
	deleteSlots  = `WITH gone AS (DELETE FROM quando.slots WHERE (workspace, key, n) IN (SELECT workspace, key, n FROM quando.slots WHERE over < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1)
		SELECT count(*) FROM gone`

	deleteCounts     = `WITH gone AS (DELETE FROM quando.counts WHERE ctid IN (SELECT ctid FROM quando.counts WHERE hour < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone`
	deleteRuleCounts = `WITH gone AS (DELETE FROM quando.rule_counts WHERE ctid IN (SELECT ctid FROM quando.rule_counts WHERE hour < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1)
		SELECT count(*) FROM gone`
	deleteReasons = `WITH gone AS (DELETE FROM quando.reasons WHERE ctid IN (SELECT ctid FROM quando.reasons WHERE day < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone`

	selectContents = `SELECT received_at, seq FROM quando.events WHERE data IS NOT NULL AND received_at < $1 AND (received_at, seq) > ($2, $3) ORDER BY received_at, seq LIMIT $4`

	// Contents stay that are undecided, being gathered, or what an unfinished run came of. What is
	// gathered is read once, however much it is.
	updateContents = `UPDATE quando.events e SET data = NULL, verdicts = NULL, answers = NULL, judges = NULL WHERE e.seq = ANY($1::bigint[]) AND e.decided
		AND NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.event = e.seq AND NOT r.finished)
		AND e.seq <> ALL (ARRAY(SELECT k.seq FROM unnest($1::bigint[]) k (seq) JOIN (
			SELECT g.value::bigint AS seq FROM quando.runs r CROSS JOIN LATERAL json_array_elements_text(r.gathered::json) g WHERE NOT r.finished AND r.gathered IS NOT NULL
			UNION ALL SELECT g.value::bigint FROM quando.gathers h CROSS JOIN LATERAL json_array_elements_text(h.events::json) g) g ON g.seq = k.seq))`

	// The source of a rule stays that a run follows, or that one is about to begin with, which then
	// keeps it locked.
	lockVersions   = `SELECT hash FROM quando.rule_versions v WHERE NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.rule = v.rule AND r.version = v.hash) FOR UPDATE SKIP LOCKED`
	deleteVersions = `DELETE FROM quando.rule_versions v WHERE v.hash = ANY($1::text[]) AND NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.rule = v.rule AND r.version = v.hash)`
)

// Prune forgets what is older than keep; without keep, nothing. It ends with the first kind of
// things of which there may be more. Where another engine is at it, there is nothing left to do.
func (j *Journal) Prune(ctx context.Context, now time.Time, keep time.Duration) (more bool, err error) {
	if j.beside {
		return false, errBeside
	}
	if keep <= 0 {
		return false, nil
	}
	j.prune.mu.Lock()
	defer j.prune.mu.Unlock()
	old, older := stored.Micros(now.Add(-keep)), stored.Micros(now.Add(-keep-idsKept))
	for _, part := range []func(pgx.Tx) (bool, error){
		rows(ctx, deleteRuns, old),
		func(t pgx.Tx) (bool, error) { return j.pruneContents(ctx, t, old) },
		rows(ctx, deleteEvents, older),
		rows(ctx, deleteCaused, older),
		rows(ctx, deleteFound, older),
		rows(ctx, deleteSeen, older),
		rows(ctx, deleteSlots, stored.Micros(now.Add(-slotsKept))),
		rows(ctx, deleteCounts, old/ledger.AnHour),
		rows(ctx, deleteRuleCounts, old/ledger.AnHour),
		rows(ctx, deleteReasons, old/ledger.ADay),
		func(t pgx.Tx) (bool, error) { return false, j.fold(ctx, t, now) },
		func(t pgx.Tx) (bool, error) { return false, j.pruneVersions(ctx, t, now) },
	} {
		err := pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
			var mine bool
			if err := t.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(pruneLock)).Scan(&mine); err != nil || !mine {
				return err
			}
			more, err = part(t)
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

// rows carries out a statement that deletes up to so many rows that are older than a time. It finds
// them by an index: the database takes rows that have no time yet for very old ones, and would go
// through a whole table to find a few where there are none.
func rows(ctx context.Context, query string, old int64) func(pgx.Tx) (bool, error) {
	return func(t pgx.Tx) (bool, error) {
		n := 0
		if _, err := t.Exec(ctx, `SELECT `+byIndex); err != nil {
			return false, err
		}
		err := t.QueryRow(ctx, query, old, pruneSize).Scan(&n)
		return n == pruneSize, err
	}
}

// pruneContents forgets the data and the verdicts of events.
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

// pruneVersions forgets the sources of rules that no run follows. Those are locked first, so that a
// run that begins meanwhile is seen. Once an hour is often enough.
func (j *Journal) pruneVersions(ctx context.Context, t pgx.Tx, now time.Time) error {
	hour := stored.Micros(now) / ledger.AnHour
	if hour == j.prune.versions {
		return nil
	}
	j.prune.versions = hour
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
