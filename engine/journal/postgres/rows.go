package postgres

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

const eventColumns = `e.seq, e.workspace, e.id, e.type, e.rule, e.tenant, e.lane, e.created_at, e.received_at, e.data, e.decided, e.verdicts, e.answers`

// scanEvent scans the columns of an event, after others.
func scanEvent(rows pgx.Rows, before ...any) (*journal.Event, error) {
	e := &journal.Event{}
	var created, received int64
	var data, verdicts, answers *string
	err := rows.Scan(append(before, &e.Seq, text{&e.Workspace}, text{&e.ID}, text{&e.Type}, text{&e.Rule}, text{&e.Tenant}, text{&e.Lane}, &created, &received, &data, &e.Decided, &verdicts, &answers)...)
	if err != nil {
		return nil, err
	}
	return e, stored.ReadEvent(e, created, received, data, verdicts, answers)
}

const runColumns = `r.id, r.key, r.workspace, r.rule, r.version, r.event, r.gathered, r.home, r.lane, r.by, r.state, r.stage, r.ancestry, r.about,
	r.started_at, r.wake_at, r.finished_at, r.reason, r.asked`

// scanRun scans the columns of a run, after others.
func scanRun(rows pgx.Rows, before ...any) (*journal.Run, error) {
	r := &journal.Run{}
	var started, wake, finished int64
	var gathered, ancestry, about, asked *string
	err := rows.Scan(append(before, &r.ID, text{&r.Key}, text{&r.Workspace}, text{&r.Rule}, text{&r.Version}, &r.Event, &gathered, text{&r.Home}, text{&r.Lane}, text{&r.By}, &r.State, &r.Stage,
		&ancestry, &about, &started, &wake, &finished, text{&r.Reason}, &asked)...)
	if err != nil {
		return nil, err
	}
	return r, stored.ReadRun(r, started, wake, finished, gathered, ancestry, about, asked)
}

const (
	stepColumns = `s.run, s.n, s.path, s.verb, s.key, s.state, s.attempts, s.error, s.record`
	selectSteps = `SELECT ` + stepColumns + ` FROM quando.steps s WHERE s.run = ANY($1::bigint[]) ORDER BY s.run, s.n`
)

// scanStep scans the columns of a step.
func scanStep(rows pgx.Rows) (run int64, s *journal.Step, err error) {
	s = &journal.Step{}
	var record *string
	err = rows.Scan(&run, &s.N, text{&s.Path}, text{&s.Verb}, text{&s.Key}, &s.State, &s.Attempts, text{&s.Error}, &record)
	if record != nil {
		s.Record = json.RawMessage(decodeText(*record))
	}
	return run, s, err
}

const gatherColumns = `g.workspace, g.rule, g.by, g.lane, g.events, g.since, g.until, g.quiet, g.at_most`

// scanGather scans the columns of a gather, after others.
func scanGather(rows pgx.Rows, before ...any) (*journal.Gather, error) {
	g := &journal.Gather{}
	var since, until int64
	var events *string
	if err := rows.Scan(append(before, text{&g.Workspace}, text{&g.Rule}, text{&g.By}, text{&g.Lane}, &events, &since, &until, &g.Quiet, &g.AtMost)...); err != nil {
		return nil, err
	}
	return g, stored.ReadGather(g, since, until, events)
}

// each calls scan for each row of a queued statement.
func each(q *pgx.QueuedQuery, scan func(pgx.Rows) error) {
	q.Query(func(rows pgx.Rows) error { return scanAll(rows, nil, scan) })
}

// scanAll calls scan for each row.
func scanAll(rows pgx.Rows, err error, scan func(pgx.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
