package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// pageSize is the limit of a listing that has none.
const pageSize = 100

// A filter builds the query of a listing.
type filter struct {
	forward bool // the oldest first
	clauses []string
	args    []any
}

// where adds a clause, in which $ stands for the placeholder of its argument.
func (f *filter) where(clause string, arg any) {
	f.args = append(f.args, arg)
	f.clauses = append(f.clauses, strings.ReplaceAll(clause, "$", "$"+strconv.Itoa(len(f.args))))
}

// query returns the text of a listing and its arguments.
func (f *filter) query(columns, table, key string, limit int) (string, []any) {
	if limit <= 0 {
		limit = pageSize
	}
	q := `SELECT ` + columns + ` FROM ` + table
	if len(f.clauses) > 0 {
		q += ` WHERE ` + strings.Join(f.clauses, ` AND `)
	}
	order := ` DESC`
	if f.forward {
		order = ``
	}
	return q + ` ORDER BY ` + key + order + ` LIMIT $` + strconv.Itoa(len(f.args)+1), append(f.args, limit)
}

// firstSince makes a forward listing begin with the first event since a time, and not with the
// first of all. Events that two engines record at once may have numbers in a different order than
// their times.
const firstSince = `e.seq >= (SELECT min(s.seq) FROM (SELECT seq FROM quando.events WHERE data IS NOT NULL AND received_at >= $ OFFSET 0) s)`

// ListEvents returns events.
func (j *Journal) ListEvents(ctx context.Context, f journal.EventFilter) ([]*journal.Event, error) {
	q := filter{forward: f.Forward, clauses: []string{`e.data IS NOT NULL`}}
	if f.Lane != "" {
		q.where(`e.lane = $`, encodeText(f.Lane))
	}
	if !f.Since.IsZero() {
		q.where(`e.received_at >= $`, stored.Micros(f.Since))
		q.where(`e.seq >= COALESCE((SELECT seq FROM quando.events WHERE data IS NOT NULL AND received_at < $ ORDER BY received_at DESC LIMIT 1), 0)`, stored.Micros(f.Since.Add(-journal.MaxSkew)))
	}
	if !f.Until.IsZero() {
		q.where(`e.received_at < $`, stored.Micros(f.Until))
		q.where(`e.seq <= COALESCE((SELECT seq FROM quando.events WHERE data IS NOT NULL AND received_at >= $ ORDER BY received_at LIMIT 1), 9223372036854775807)`, stored.Micros(f.Until.Add(journal.MaxSkew)))
	}
	if f.Workspace != "" {
		q.where(`e.workspace = $`, encodeText(f.Workspace))
	}
	if f.Type != "" {
		q.where(`e.type = $`, encodeText(f.Type))
	}
	if f.Rule != "" {
		q.where(`$ = ANY(e.judges)`, encodeText(f.Rule))
	}
	if f.Before != 0 {
		q.where(`e.seq < $`, f.Before)
	}
	if f.After != 0 {
		q.where(`e.seq > $`, f.After)
	} else if f.Forward && !f.Since.IsZero() {
		q.where(firstSince, stored.Micros(f.Since))
	}
	text, args := q.query(eventColumns, `quando.events e`, `e.seq`, f.Limit)
	return j.events(ctx, text, args...)
}

// FindEvent returns an event by its id.
func (j *Journal) FindEvent(ctx context.Context, workspace, id string) (*journal.Event, error) {
	found, err := j.events(ctx, `SELECT `+eventColumns+` FROM quando.events e WHERE e.workspace = $1 AND e.id = $2 AND e.data IS NOT NULL`, encodeText(workspace), encodeText(id))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, journal.ErrNoEvent
	}
	return found[0], nil
}

// rareStates is the condition of the partial indexes of runs by state, which the database uses only
// if a query repeats it.
const rareStates = `r.state <> 'running' AND r.state <> 'done'`

// ListRuns returns runs with their steps, the newest first.
func (j *Journal) ListRuns(ctx context.Context, f journal.RunFilter) ([]*journal.Run, error) {
	var q filter
	if f.Event != 0 {
		q.where(`r.event = $`, f.Event)
	}
	if len(f.Events) > 0 {
		q.where(`r.event = ANY($::bigint[])`, f.Events)
	}
	if f.Lane != "" {
		q.where(`r.home = $`, encodeText(f.Lane))
	}
	if f.Rule != "" {
		q.where(`r.rule = $`, encodeText(f.Rule))
	}
	if f.State != "" {
		q.where(`r.state = $`, string(f.State))
		if f.State != journal.Running && f.State != journal.Done {
			q.clauses = append(q.clauses, rareStates)
		}
	}
	if f.Workspace != "" {
		q.where(`r.workspace = $`, encodeText(f.Workspace))
	}
	if !f.Since.IsZero() {
		q.where(`r.started_at >= $`, stored.Micros(f.Since))
		q.where(`r.id >= COALESCE((SELECT id FROM quando.runs WHERE started_at < $ ORDER BY started_at DESC LIMIT 1), 0)`, stored.Micros(f.Since.Add(-journal.MaxSkew)))
	}
	if !f.Until.IsZero() {
		q.where(`r.started_at < $`, stored.Micros(f.Until))
		q.where(`r.id <= COALESCE((SELECT id FROM quando.runs WHERE started_at >= $ ORDER BY started_at LIMIT 1), 9223372036854775807)`, stored.Micros(f.Until.Add(journal.MaxSkew)))
	}
	if f.Before != 0 {
		q.where(`r.id < $`, f.Before)
	}
	text, args := q.query(runColumns, `quando.runs r`, `r.id`, f.Limit)
	return j.runs(ctx, text, args...)
}

// FindRun returns a run with its steps.
func (j *Journal) FindRun(ctx context.Context, id int64) (*journal.Run, error) {
	found, err := j.runs(ctx, `SELECT `+runColumns+` FROM quando.runs r WHERE r.id = $1`, id)
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
	byID := map[int64]*journal.Run{}
	var ids []int64
	err = pgx.BeginTxFunc(ctx, j.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(t pgx.Tx) error {
		rows, err := t.Query(ctx, query, args...)
		err = scanAll(rows, err, func(rows pgx.Rows) error {
			r, err := scanRun(rows)
			if err == nil {
				runs, ids, byID[r.ID] = append(runs, r), append(ids, r.ID), r
			}
			return err
		})
		if err != nil || len(runs) == 0 {
			return err
		}
		rows, err = t.Query(ctx, selectSteps, ids)
		return scanAll(rows, err, func(rows pgx.Rows) error {
			id, s, err := scanStep(rows)
			if err == nil {
				byID[id].Steps = append(byID[id].Steps, s)
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("runs: %w", explain(err))
	}
	return runs, nil
}

// CountRuns returns how many unfinished runs there are in each state.
func (j *Journal) CountRuns(ctx context.Context) (map[journal.State]int, error) {
	counts := map[journal.State]int{}
	err := j.each(ctx, `SELECT state, count(*) FROM quando.runs WHERE state IN ('queued', 'running', 'waiting', 'held', 'uncertain') GROUP BY state`, nil, func(rows pgx.Rows) error {
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
