package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Hold stops a rule or a workspace.
func (j *Journal) Hold(ctx context.Context, h journal.Hold) ([]journal.UnderWay, error) {
	var calls []journal.UnderWay
	err := j.writer.write(ctx, directOperation(1, func(t *tx) (err error) {
		_, err = t.exec(`INSERT OR REPLACE INTO holds (workspace, rule, lane, kind, reason, since, until, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			h.Workspace, h.Rule, h.Lane, string(h.Kind), h.Reason, stored.Micros(h.Since), stored.Micros(h.Until), stored.Why(h.Why))
		if err == nil {
			calls, err = t.underWay(&h)
		}
		return err
	}, nil))
	if err != nil {
		return nil, fmt.Errorf("hold: %w", err)
	}
	return calls, nil
}

// underWay returns the calls under way that a hold covers.
func (t *tx) underWay(h *journal.Hold) (calls []journal.UnderWay, err error) {
	err = t.each(`SELECT r.id, r.key, r.workspace, r.rule, r.lane, s.path, s.verb, s.record FROM runs r INDEXED BY runs_open JOIN steps s ON s.run = r.id
		WHERE r.finished = 0 AND r.state = 'running' AND ?1 IN ('', r.workspace) AND ?2 IN ('', r.rule) AND ?3 IN ('', r.lane) AND s.state = 'open'`, []any{h.Workspace, h.Rule, h.Lane}, func(rows *sql.Rows) error {
		r, s := &journal.Run{}, &journal.Step{State: journal.StepOpen}
		var record []byte
		err := rows.Scan(&r.ID, &r.Key, &r.Workspace, &r.Rule, &r.Lane, &s.Path, &s.Verb, &record)
		s.Record = record
		if call, ok := journal.CallUnderWay(r, s); ok {
			calls = append(calls, call)
		}
		return err
	})
	slices.SortFunc(calls, journal.UnderWay.Compare)
	return calls, err
}

// Lift removes a hold, and makes the lanes due whose runs it held.
func (j *Journal) Lift(ctx context.Context, now time.Time, h journal.Hold) (bool, error) {
	lifted := false
	err := j.writer.write(ctx, directOperation(1, func(t *tx) error {
		n, err := t.execCount(`DELETE FROM holds WHERE workspace = ?1 AND rule = ?2 AND lane = ?3 AND kind = ?4 AND ?5 IN (0, until)`,
			h.Workspace, h.Rule, h.Lane, string(h.Kind), stored.Micros(h.Until))
		if lifted = n > 0; err != nil || !lifted {
			return err
		}
		_, err = t.exec(`INSERT INTO lanes (workspace, lane, due_at, news)
			SELECT DISTINCT workspace, lane, ?1, 1 FROM runs INDEXED BY runs_open WHERE finished = 0 AND state = 'held' AND ?2 IN ('', workspace) AND ?3 IN ('', rule) AND ?4 IN ('', lane)
			ON CONFLICT (workspace, lane) DO UPDATE SET due_at = min(due_at, excluded.due_at), news = news + 1`, max(stored.Micros(now), 1), h.Workspace, h.Rule, h.Lane)
		if filled := h.Slots(); filled != "" && err == nil {
			_, err = t.exec(`DELETE FROM slots WHERE workspace = ? AND key = ?`, h.Workspace, filled)
		}
		return err
	}, nil))
	if err != nil {
		return false, fmt.Errorf("lift: %w", err)
	}
	return lifted, nil
}

const selectHolds = `SELECT workspace, rule, lane, kind, reason, since, until, why FROM holds ORDER BY workspace, rule, lane, kind`

// addHold returns a function that scans a row of selectHolds.
func addHold(holds *[]journal.Hold) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var h journal.Hold
		var since, until int64
		var why *string
		err := rows.Scan(&h.Workspace, &h.Rule, &h.Lane, &h.Kind, &h.Reason, &since, &until, &why)
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
