package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/stored"
)

// nothing is what an operation decides that only reads and writes what it wants.
func nothing(*ledger) error { return nil }

// Hold stops a rule or a workspace.
func (j *Journal) Hold(ctx context.Context, h engine.Hold) error {
	err := j.changes.write(ctx, &operation{decide: nothing, want: func(r *reading) {
		r.also = append(r.also, func(b *pgx.Batch, _ *ledger) {
			b.Queue(`INSERT INTO quando.holds (workspace, rule, kind, reason, since, until) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (workspace, rule, kind) DO UPDATE SET reason = excluded.reason, since = excluded.since, until = excluded.until`,
				keep(h.Workspace), keep(h.Rule), string(h.Kind), keep(h.Reason), stored.Micros(h.Since), stored.Micros(h.Until))
		})
	}})
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	return nil
}

// Lift ends a hold, and makes the lanes due whose runs were held by it. Whoever records a run as held keeps the holds in place until that is done, so that
// either the run is seen here, or the hold is seen to be gone there.
func (j *Journal) Lift(ctx context.Context, now time.Time, workspace, rule string, kind engine.HoldKind) (bool, error) {
	var lifted bool
	var held []laneKey
	want := func(b *pgx.Batch, _ *ledger) {
		lifted, held = false, nil
		each(b.Queue(`DELETE FROM quando.holds WHERE workspace = $1 AND rule = $2 AND kind = $3 RETURNING true`, keep(workspace), keep(rule), string(kind)), func(rows pgx.Rows) error {
			return rows.Scan(&lifted)
		})
		each(b.Queue(`SELECT DISTINCT workspace, lane FROM quando.runs WHERE state = 'held' AND $1 IN ('', workspace) AND $2 IN ('', rule)`, keep(workspace), keep(rule)), func(rows pgx.Rows) error {
			var k laneKey
			err := rows.Scan(text{&k.workspace}, text{&k.lane})
			held = append(held, k)
			return err
		})
	}
	err := j.changes.write(ctx, &operation{
		want: func(r *reading) { r.also = append(r.also, want) },
		decide: func(l *ledger) error {
			if lifted {
				for _, k := range held {
					l.due(k.workspace, k.lane, stored.Micros(now))
				}
			}
			return nil
		},
	})
	if err != nil {
		return false, fmt.Errorf("lift: %w", err)
	}
	return lifted, nil
}

// Holds returns what is stopped.
func (j *Journal) Holds(ctx context.Context) ([]engine.Hold, error) {
	var holds []engine.Hold
	err := j.each(ctx, `SELECT workspace, rule, kind, reason, since, until FROM quando.holds ORDER BY workspace, rule, kind`, nil, func(rows pgx.Rows) error {
		var h engine.Hold
		var since, until int64
		err := rows.Scan(text{&h.Workspace}, text{&h.Rule}, &h.Kind, text{&h.Reason}, &since, &until)
		h.Since, h.Until = stored.Moment(since), stored.Moment(until)
		holds = append(holds, h)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("holds: %w", err)
	}
	return holds, nil
}
