package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// pageSize is the limit of a listing that has none.
const pageSize = 100

// maxSorted is how many rows a listing reads by an index and sorts; for more it scans in the order
// of the listing.
const maxSorted = 5000

// A filter builds the query of a listing.
type filter struct {
	index   string // the index to use; empty is to scan in the order of the listing up to the limit
	forward bool   // the oldest first
	clauses []string
	args    []any
}

func (f *filter) where(clause string, args ...any) {
	f.clauses = append(f.clauses, clause)
	f.args = append(f.args, args...)
}

// useIndex sets the index, unless a better one is set already.
func (f *filter) useIndex(index string) {
	if f.index == "" {
		f.index = " INDEXED BY " + index
	}
}

// whereKeyIn selects rows by a list of keys. They are read in the order of the keys, and only up to
// the limit, however long the list is.
func (f *filter) whereKeyIn(key, list string, args ...any) {
	if f.index == "" {
		f.index = " NOT INDEXED"
	}
	f.where(key+` IN (`+list+`)`, args...)
}

// query returns the text of a listing and its arguments.
func (f *filter) query(columns, table, key string, limit int) (string, []any) {
	if limit <= 0 {
		limit = pageSize
	}
	index := f.index
	if index == "" {
		index = " NOT INDEXED"
	}
	q := `SELECT ` + columns + ` FROM ` + table + index
	if len(f.clauses) > 0 {
		q += ` WHERE ` + strings.Join(f.clauses, ` AND `)
	}
	order := ` DESC`
	if f.forward {
		order = ``
	}
	return q + ` ORDER BY ` + key + order + ` LIMIT ?`, append(f.args, limit)
}

// isFew reports whether so few rows are newer than a time that the index by time is best.
func (j *Journal) isFew(ctx context.Context, count string, since time.Time) (bool, error) {
	var n int
	err := j.reads.QueryRowContext(ctx, count, stored.Micros(since), maxSorted).Scan(&n)
	return n < maxSorted, err
}

// ListEvents returns events.
func (j *Journal) ListEvents(ctx context.Context, f journal.EventFilter) ([]*journal.Event, error) {
	q := filter{forward: f.Forward}
	q.where(`e.data IS NOT NULL`)
	if f.Lane != "" {
		q.whereKeyIn(`e.seq`, `SELECT seq FROM events INDEXED BY events_lane WHERE lane = ?`, f.Lane)
	}
	if !f.Since.IsZero() {
		q.where(`e.received_at >= ?`, stored.Micros(f.Since))
		q.where(`e.seq >= COALESCE((SELECT seq FROM events INDEXED BY events_full WHERE data IS NOT NULL AND received_at < ? ORDER BY received_at DESC LIMIT 1), 0)`, stored.Micros(f.Since.Add(-journal.MaxSkew)))
		few, err := j.isFew(ctx, `SELECT count(*) FROM (SELECT 1 FROM events INDEXED BY events_full WHERE data IS NOT NULL AND received_at >= ? LIMIT ?)`, f.Since)
		if err != nil {
			return nil, fmt.Errorf("events: %w", err)
		}
		if few {
			q.useIndex(`events_full`)
		}
	}
	if !f.Until.IsZero() {
		q.where(`e.received_at < ?`, stored.Micros(f.Until))
		q.where(`e.seq <= COALESCE((SELECT seq FROM events INDEXED BY events_full WHERE data IS NOT NULL AND received_at >= ? ORDER BY received_at LIMIT 1), 9223372036854775807)`, stored.Micros(f.Until.Add(journal.MaxSkew)))
	}
	if f.Workspace != "" {
		q.where(`e.workspace = ?`, f.Workspace)
	}
	if f.Type != "" {
		q.where(`e.type = ?`, f.Type)
	}
	if f.Rule != "" {
		q.where(`EXISTS (SELECT 1 FROM json_each(e.verdicts) v WHERE v.value ->> 'rule' = ?)`, f.Rule)
	}
	if f.Before != 0 {
		q.where(`e.seq < ?`, f.Before)
	}
	if f.After != 0 {
		q.where(`e.seq > ?`, f.After)
	}
	text, args := q.query(eventColumns, `events e`, `e.seq`, f.Limit)
	return j.events(ctx, text, args...)
}

// FindEvent returns an event by its id.
func (j *Journal) FindEvent(ctx context.Context, workspace, id string) (*journal.Event, error) {
	found, err := j.events(ctx, `SELECT `+eventColumns+` FROM events e WHERE e.workspace = ? AND e.id = ? AND e.data IS NOT NULL`, workspace, id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, journal.ErrNoEvent
	}
	return found[0], nil
}

// rareStates is the condition of the partial indexes of runs by state, which SQLite uses only if a
// query repeats it.
const rareStates = `r.state <> 'running' AND r.state <> 'done'`

// ListRuns returns runs with their steps, the newest first.
func (j *Journal) ListRuns(ctx context.Context, f journal.RunFilter) ([]*journal.Run, error) {
	var q filter
	if f.Event != 0 {
		q.useIndex(`runs_event`)
		q.where(`r.event = ?`, f.Event)
	}
	if len(f.Events) > 0 {
		seqs, err := stored.Text(f.Events)
		if err != nil {
			return nil, fmt.Errorf("runs: %w", err)
		}
		q.useIndex(`runs_event`)
		q.where(`r.event IN (SELECT value FROM json_each(?))`, seqs)
	}
	if f.Lane != "" { // a run's home is the lane of its event
		if q.index == "" {
			q.whereKeyIn(`r.id`, `SELECT c.id FROM events e INDEXED BY events_lane CROSS JOIN runs c INDEXED BY runs_event WHERE e.lane = ? AND c.event = e.seq`, f.Lane)
		}
		q.where(`r.home = ?`, f.Lane)
	}
	rare := f.State != "" && f.State != journal.Running && f.State != journal.Done
	if rare {
		q.where(rareStates)
	}
	if f.Rule != "" {
		if rare {
			q.useIndex(`runs_rule_apart`)
		}
		q.useIndex(`runs_rule`)
		q.where(`r.rule = ?`, f.Rule)
	}
	if f.State != "" {
		// Most runs are done: a scan from the newest on finds them sooner.
		switch {
		case rare:
			q.useIndex(`runs_apart`)
		case f.State != journal.Done:
			q.useIndex(`runs_open`)
			q.where(`r.finished = 0`)
		}
		q.where(`r.state = ?`, string(f.State))
	}
	if f.Workspace != "" {
		q.useIndex(`runs_workspace`)
		q.where(`r.workspace = ?`, f.Workspace)
	}
	if !f.Since.IsZero() {
		q.where(`r.started_at >= ?`, stored.Micros(f.Since))
		q.where(`r.id >= COALESCE((SELECT id FROM runs INDEXED BY runs_started WHERE started_at < ? ORDER BY started_at DESC LIMIT 1), 0)`, stored.Micros(f.Since.Add(-journal.MaxSkew)))
		few, err := j.isFew(ctx, `SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_started WHERE started_at >= ? LIMIT ?)`, f.Since)
		if err != nil {
			return nil, fmt.Errorf("runs: %w", err)
		}
		if few {
			q.useIndex(`runs_started`)
		}
	}
	if !f.Until.IsZero() {
		q.where(`r.started_at < ?`, stored.Micros(f.Until))
		q.where(`r.id <= COALESCE((SELECT id FROM runs INDEXED BY runs_started WHERE started_at >= ? ORDER BY started_at LIMIT 1), 9223372036854775807)`, stored.Micros(f.Until.Add(journal.MaxSkew)))
	}
	if f.Before != 0 {
		q.where(`r.id < ?`, f.Before)
	}
	text, args := q.query(runColumns, `runs r`, `r.id`, f.Limit)
	return j.runs(ctx, text, args...)
}

// FindRun returns a run with its steps.
func (j *Journal) FindRun(ctx context.Context, id int64) (*journal.Run, error) {
	found, err := j.runs(ctx, `SELECT `+runColumns+` FROM runs r WHERE r.id = ?`, id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, journal.ErrNoRun
	}
	return found[0], nil
}

// runs reads runs with their steps in one read transaction.
func (j *Journal) runs(ctx context.Context, query string, args ...any) (runs []*journal.Run, err error) {
	t, err := j.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	defer t.Rollback() //nolint:errcheck // nothing was written
	byID := map[int64]*journal.Run{}
	var ids []int64
	rows, err := t.QueryContext(ctx, query, args...)
	if err == nil {
		err = scanAll(rows, func(rows *sql.Rows) error {
			r, err := scanRun(rows)
			if err == nil {
				runs, ids, byID[r.ID] = append(runs, r), append(ids, r.ID), r
			}
			return err
		})
	}
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	keys, err := stored.Text(ids)
	if err == nil {
		rows, err = t.QueryContext(ctx, selectSteps, keys)
	}
	if err == nil {
		err = scanAll(rows, func(rows *sql.Rows) error {
			id, s, err := scanStep(rows)
			if err == nil {
				byID[id].Steps = append(byID[id].Steps, s)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	return runs, nil
}

// CountRuns returns how many unfinished runs there are in each state.
func (j *Journal) CountRuns(ctx context.Context) (map[journal.State]int, error) {
	counts := map[journal.State]int{}
	err := j.each(ctx, `SELECT state, count(*) FROM runs INDEXED BY runs_open
		WHERE finished = 0 AND state IN ('queued', 'running', 'waiting', 'held', 'uncertain') GROUP BY state`, nil, func(rows *sql.Rows) error {
		var state journal.State
		var n int
		err := rows.Scan(&state, &n)
		counts[state] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count runs: %w", err)
	}
	return counts, nil
}
