package sqlite

import (
	"database/sql"
	"encoding/json"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

const eventColumns = `e.seq, e.workspace, e.id, e.type, e.rule, e.tenant, e.lane, e.created_at, e.received_at, e.data, e.decided, e.verdicts, e.answers`

// scanEvent scans the columns of an event, after others.
func scanEvent(rows *sql.Rows, before ...any) (*journal.Event, error) {
	e := &journal.Event{}
	var created, received int64
	var data, verdicts, answers *string
	err := rows.Scan(append(before, &e.Seq, &e.Workspace, &e.ID, &e.Type, &e.Rule, &e.Tenant, &e.Lane, &created, &received, &data, &e.Decided, &verdicts, &answers)...)
	if err != nil {
		return nil, err
	}
	return e, stored.ReadEvent(e, created, received, data, verdicts, answers)
}

const runColumns = `r.id, r.key, r.workspace, r.rule, r.version, r.event, r.gathered, r.home, r.lane, r.by, r.state, r.stage, r.ancestry, r.about,
	r.started_at, r.wake_at, r.finished_at, r.reason, r.asked`

// scanRun scans the columns of a run, after others.
func scanRun(rows *sql.Rows, before ...any) (*journal.Run, error) {
	r := &journal.Run{}
	var started, wake, finished int64
	var gathered, ancestry, about, asked *string
	err := rows.Scan(append(before, &r.ID, &r.Key, &r.Workspace, &r.Rule, &r.Version, &r.Event, &gathered, &r.Home, &r.Lane, &r.By, &r.State, &r.Stage,
		&ancestry, &about, &started, &wake, &finished, &r.Reason, &asked)...)
	if err != nil {
		return nil, err
	}
	return r, stored.ReadRun(r, started, wake, finished, gathered, ancestry, about, asked)
}

const (
	stepColumns = `s.run, s.n, s.path, s.verb, s.key, s.state, s.attempts, s.error, s.record`
	selectSteps = `SELECT ` + stepColumns + ` FROM json_each(?) k CROSS JOIN steps s ON s.run = k.value ORDER BY s.run, s.n`

	// selectKept selects steps of runs by ranges of their numbers: a list of [run, first, last].
	selectKept = `SELECT ` + stepColumns + ` FROM json_each(?) k CROSS JOIN steps s ON s.run = k.value ->> 0 AND s.n BETWEEN k.value ->> 1 AND k.value ->> 2 ORDER BY s.run, s.n`
)

// scanStep scans the columns of a step.
func scanStep(rows *sql.Rows) (run int64, s *journal.Step, err error) {
	s = &journal.Step{}
	var record *string
	err = rows.Scan(&run, &s.N, &s.Path, &s.Verb, &s.Key, &s.State, &s.Attempts, &s.Error, &record)
	if record != nil {
		s.Record = json.RawMessage(*record)
	}
	return run, s, err
}

const gatherColumns = `g.workspace, g.rule, g.by, g.lane, g.events, g.since, g.until, g.quiet, g.at_most`

// scanGather scans the columns of a gather, after others.
func scanGather(scan func(...any) error, before ...any) (*journal.Gather, error) {
	g := &journal.Gather{}
	var since, until int64
	var events *string
	if err := scan(append(before, &g.Workspace, &g.Rule, &g.By, &g.Lane, &events, &since, &until, &g.Quiet, &g.AtMost)...); err != nil {
		return nil, err
	}
	return g, stored.ReadGather(g, since, until, events)
}
