package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"

	"github.com/pressly/goose/v3"
)

// withoutDrafts is the migration that moves drafts into the table of runs. In schemas 5 to 8 a
// claimed run was in a row of a binary form; a process that crashed has left some.
var withoutDrafts = goose.NewGoMigration(9, &goose.GoFunc{RunTx: moveDrafts}, nil)

func moveDrafts(ctx context.Context, t *sql.Tx) error {
	left, err := readDrafts(ctx, t)
	if err != nil {
		return err
	}
	for _, d := range left {
		if err := d.move(ctx, t); err != nil {
			return err
		}
	}
	_, err = t.ExecContext(ctx, `DROP TABLE drafts`)
	return err
}

// readDrafts returns the drafts by the ids of their runs. If a run is in several rows the last one
// counts.
func readDrafts(ctx context.Context, t *sql.Tx) (map[int64]*draft, error) {
	rows, err := t.QueryContext(ctx, `SELECT runs FROM drafts ORDER BY id`)
	if err != nil {
		return nil, err
	}
	left := map[int64]*draft{}
	err = scanAll(rows, func(rows *sql.Rows) error {
		var r draftReader
		if err := rows.Scan(&r.bytes); err != nil {
			return err
		}
		for len(r.bytes) > 0 {
			d := r.draft()
			left[d.id] = d
		}
		if r.broken {
			return errors.New("runs that were under way cannot be read: put back a backup (quando journal restore)")
		}
		return nil
	})
	return left, err
}

// A draft is a run with its open steps. Finished steps are in the table of steps already.
type draft struct {
	id, event, started, wake                      int64
	key, workspace, rule, version, home, lane, by string
	reason, about, state, stage                   string
	gathered, ancestry                            *string
	steps                                         []draftStep
}

type draftStep struct {
	n, attempts                     int64
	path, verb, key, problem, state string
	record                          *string
}

// move inserts a draft into the table of runs and makes its lane due. A run that is in the table
// already stays as it is.
func (d *draft) move(ctx context.Context, t *sql.Tx) error {
	done, err := t.ExecContext(ctx, `INSERT INTO runs (id, key, workspace, rule, version, event, gathered, home, lane, by, state, finished, stage, ancestry, about, started_at, wake_at, finished_at, reason)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT (id) DO NOTHING`,
		d.id, d.key, d.workspace, d.rule, d.version, d.event, d.gathered, d.home, d.lane, d.by, d.state, d.stage, d.ancestry, d.about, d.started, d.wake, d.reason)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	for _, s := range d.steps {
		_, err := t.ExecContext(ctx, `INSERT OR REPLACE INTO steps (run, n, path, verb, key, state, attempts, error, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			d.id, s.n, s.path, s.verb, s.key, s.state, s.attempts, s.problem, s.record)
		if err != nil {
			return err
		}
	}
	_, err = t.ExecContext(ctx, `INSERT INTO lanes (workspace, lane, due_at, news) VALUES (?, ?, 1, 1)
		ON CONFLICT (workspace, lane) DO UPDATE SET due_at = 1, news = news + 1`, d.workspace, d.lane)
	return err
}

// draftFormat is the first number of a draft.
const draftFormat = 1

// A draftReader reads drafts from the bytes of a row.
type draftReader struct {
	bytes  []byte
	broken bool
}

func (r *draftReader) draft() *draft {
	d := &draft{}
	if r.number() != draftFormat {
		r.fail()
		return d
	}
	d.id, d.event = r.number(), r.number()
	for _, s := range []*string{&d.key, &d.workspace, &d.rule, &d.version, &d.home, &d.lane, &d.by, &d.reason, &d.about, &d.state, &d.stage} {
		*s = r.text()
	}
	d.gathered, d.ancestry = r.optional(), r.optional()
	d.started, d.wake = r.number(), r.number()
	for n := r.count(); n > 0 && !r.broken; n-- {
		s := draftStep{n: r.number(), attempts: r.number()}
		for _, part := range []*string{&s.path, &s.verb, &s.key, &s.problem, &s.state} {
			*part = r.text()
		}
		s.record = r.optional()
		d.steps = append(d.steps, s)
	}
	return d
}

func (r *draftReader) number() int64 {
	n, size := binary.Varint(r.bytes)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.bytes = r.bytes[size:]
	return n
}

func (r *draftReader) fail() { r.bytes, r.broken = nil, true }

// count reads the number of bytes or items that follow, each of which takes at least a byte.
func (r *draftReader) count() int64 {
	n := r.number()
	if n < 0 || n > int64(len(r.bytes)) {
		r.fail()
		return 0
	}
	return n
}

func (r *draftReader) text() string {
	n := r.count()
	s := string(r.bytes[:n])
	r.bytes = r.bytes[n:]
	return s
}

// optional reads a text that may be missing.
func (r *draftReader) optional() *string {
	if r.number() == 0 {
		return nil
	}
	s := r.text()
	return &s
}
