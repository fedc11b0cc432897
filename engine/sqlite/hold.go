package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/stored"
)

// Hold stops a rule or a workspace.
func (j *Journal) Hold(ctx context.Context, h engine.Hold) error {
	err := j.writer.write(ctx, &operation{do: func(t *tx) error {
		_, err := t.exec(`INSERT OR REPLACE INTO holds (workspace, rule, kind, reason, since, until) VALUES (?, ?, ?, ?, ?, ?)`,
			h.Workspace, h.Rule, string(h.Kind), h.Reason, stored.Micros(h.Since), stored.Micros(h.Until))
		return err
	}})
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	return nil
}

// Lift ends a hold, and makes the lanes due whose runs were held by it.
func (j *Journal) Lift(ctx context.Context, now time.Time, workspace, rule string, kind engine.HoldKind) (bool, error) {
	lifted := false
	err := j.writer.write(ctx, &operation{do: func(t *tx) error {
		n, err := t.changed(`DELETE FROM holds WHERE workspace = ? AND rule = ? AND kind = ?`, workspace, rule, string(kind))
		if lifted = n > 0; err != nil || !lifted {
			return err
		}
		_, err = t.exec(`INSERT INTO lanes (workspace, lane, due_at, news)
			SELECT DISTINCT workspace, lane, ?1, 1 FROM runs INDEXED BY runs_open WHERE finished = 0 AND state = 'held' AND ?2 IN ('', workspace) AND ?3 IN ('', rule)
			ON CONFLICT (workspace, lane) DO UPDATE SET due_at = min(due_at, excluded.due_at), news = news + 1`, max(stored.Micros(now), 1), workspace, rule)
		return err
	}})
	if err != nil {
		return false, fmt.Errorf("lift: %w", err)
	}
	return lifted, nil
}

// Holds returns what is stopped.
func (j *Journal) Holds(ctx context.Context) ([]engine.Hold, error) {
	var holds []engine.Hold
	err := j.each(ctx, `SELECT workspace, rule, kind, reason, since, until FROM holds ORDER BY workspace, rule, kind`, nil, func(rows *sql.Rows) error {
		var h engine.Hold
		var since, until int64
		err := rows.Scan(&h.Workspace, &h.Rule, &h.Kind, &h.Reason, &since, &until)
		h.Since, h.Until = stored.Moment(since), stored.Moment(until)
		holds = append(holds, h)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("holds: %w", err)
	}
	return holds, nil
}
