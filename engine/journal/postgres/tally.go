package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// writeTally queues the counts of the transaction. It adds them to rows of this engine only: a row
// that all engines share would be locked by each of them until its commit is on disk, and serialise
// their commits.
func (w writeBatch) writeTally(b *pgx.Batch) {
	w.writeCounts(b)
	w.writeReasons(b)
	if len(w.Tally.Fired) == 0 {
		return
	}
	var workspaces, names texts
	var ats []int64
	for k, at := range w.Tally.Fired {
		workspaces.add(k.Workspace)
		names.add(k.Rule)
		ats = append(ats, at)
	}
	b.Queue(`INSERT INTO quando.fired (workspace, rule, engine, at) SELECT k.w, k.r, $1, k.at FROM unnest($2::text[], $3::text[], $4::bigint[]) k (w, r, at)
		ON CONFLICT (workspace, rule, engine) DO UPDATE SET at = excluded.at`, w.engine, workspaces, names, ats)
}

func (w writeBatch) writeCounts(b *pgx.Batch) {
	type columns struct {
		hours, ns                       []int64
		workspaces, names, what, detail texts
	}
	var all, byRule columns
	for k, n := range w.Tally.Counts() {
		all.hours, all.ns = append(all.hours, k.Hour), append(all.ns, int64(n))
		all.workspaces.add(k.Workspace)
		all.what.add(string(k.What))
		all.detail.add(k.Detail)
	}
	if len(all.ns) == 0 {
		return
	}
	for k, n := range w.Tally.RuleCounts() {
		byRule.hours, byRule.ns = append(byRule.hours, k.Hour), append(byRule.ns, int64(n))
		byRule.workspaces.add(k.Workspace)
		byRule.names.add(k.Rule)
		byRule.what.add(string(k.What))
		byRule.detail.add(k.Detail)
	}
	b.Queue(`INSERT INTO quando.counts AS c (hour, workspace, what, detail, engine, n) SELECT k.h, k.w, k.what, k.d, $1, k.n
		FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[]) k (h, w, what, d, n)
		ON CONFLICT (hour, workspace, what, detail, engine) DO UPDATE SET n = c.n + excluded.n`, w.engine, all.hours, all.workspaces, all.what, all.detail, all.ns)
	b.Queue(`INSERT INTO quando.rule_counts AS c (hour, workspace, rule, what, detail, engine, n) SELECT k.h, k.w, k.r, k.what, k.d, $1, k.n
		FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[]) k (h, w, r, what, d, n)
		ON CONFLICT (hour, workspace, rule, what, detail, engine) DO UPDATE SET n = c.n + excluded.n`, w.engine, byRule.hours, byRule.workspaces, byRule.names, byRule.what, byRule.detail, byRule.ns)
}

func (w writeBatch) writeReasons(b *pgx.Batch) {
	if len(w.Tally.Reasons) == 0 {
		return
	}
	var workspaces, names, outcomes, clauses texts
	var days, ns, events, ats []int64
	for k, r := range w.Tally.Reasons {
		workspaces.add(k.Workspace)
		names.add(k.Rule)
		outcomes.add(string(k.Outcome))
		clauses.add(k.Clause)
		days, ns, events, ats = append(days, k.Day), append(ns, int64(r.N)), append(events, r.Event), append(ats, r.At)
	}
	b.Queue(`INSERT INTO quando.reasons AS r (workspace, rule, day, outcome, clause, engine, n, event, at) SELECT k.w, k.r, k.day, k.o, k.c, $1, k.n, k.e, k.at
		FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[]) k (w, r, day, o, c, n, e, at)
		ON CONFLICT (workspace, rule, day, outcome, md5(clause), engine) DO UPDATE SET n = r.n + excluded.n,
			at = CASE WHEN excluded.event >= r.event THEN excluded.at ELSE r.at END, event = greatest(r.event, excluded.event)`,
		w.engine, workspaces, names, days, outcomes, clauses, ns, events, ats)
}

// ofGoneEngines selects rows of engines that are gone.
const ofGoneEngines = ` WHERE engine <> 0 AND NOT EXISTS (SELECT 1 FROM quando.engines e WHERE e.id = engine) RETURNING *) `

// mergeQueries merge the counts of engines that are gone into one row each.
var mergeQueries = []string{
	`WITH gone AS (DELETE FROM quando.counts` + ofGoneEngines + `INSERT INTO quando.counts AS c (hour, workspace, what, detail, engine, n)
		SELECT hour, workspace, what, detail, 0, sum(n) FROM gone GROUP BY 1, 2, 3, 4
		ON CONFLICT (hour, workspace, what, detail, engine) DO UPDATE SET n = c.n + excluded.n`,
	`WITH gone AS (DELETE FROM quando.rule_counts` + ofGoneEngines + `INSERT INTO quando.rule_counts AS c (hour, workspace, rule, what, detail, engine, n)
		SELECT hour, workspace, rule, what, detail, 0, sum(n) FROM gone GROUP BY 1, 2, 3, 4, 5
		ON CONFLICT (hour, workspace, rule, what, detail, engine) DO UPDATE SET n = c.n + excluded.n`,
	`WITH gone AS (DELETE FROM quando.reasons` + ofGoneEngines + `INSERT INTO quando.reasons AS r (workspace, rule, day, outcome, clause, engine, n, event, at)
		SELECT workspace, rule, day, outcome, clause, 0, sum(n), max(event), (array_agg(at ORDER BY event DESC))[1] FROM gone GROUP BY 1, 2, 3, 4, 5
		ON CONFLICT (workspace, rule, day, outcome, md5(clause), engine) DO UPDATE SET n = r.n + excluded.n,
			at = CASE WHEN excluded.event >= r.event THEN excluded.at ELSE r.at END, event = greatest(r.event, excluded.event)`,
	`WITH gone AS (DELETE FROM quando.fired` + ofGoneEngines + `INSERT INTO quando.fired AS f (workspace, rule, engine, at) SELECT workspace, rule, 0, max(at) FROM gone GROUP BY 1, 2
		ON CONFLICT (workspace, rule, engine) DO UPDATE SET at = greatest(f.at, excluded.at)`,
}

// mergeCounts keeps the number of rows from growing with the number of engines that there ever
// were. It runs once an hour.
func (j *Journal) mergeCounts(ctx context.Context, t pgx.Tx, now time.Time) error {
	hour := stored.Micros(now) / ledger.AnHour
	if hour == j.prune.mergedHour {
		return nil
	}
	for _, query := range mergeQueries {
		if _, err := t.Exec(ctx, query); err != nil {
			return err
		}
	}
	j.prune.mergedHour = hour
	return nil
}
