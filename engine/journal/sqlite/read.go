package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// each scans the rows of a query on a read connection.
func (j *Journal) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := j.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// events reads events.
func (j *Journal) events(ctx context.Context, query string, args ...any) ([]*journal.Event, error) {
	var events []*journal.Event
	err := j.each(ctx, query, args, func(rows *sql.Rows) error {
		e, err := scanEvent(rows)
		events = append(events, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return events, nil
}

// Cursor returns a stored position.
func (j *Journal) Cursor(ctx context.Context, name string) (string, error) {
	var value string
	err := j.reads.QueryRowContext(ctx, `SELECT value FROM cursors WHERE name = ?`, name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("cursor %s: %w", name, err)
	}
	return value, nil
}

// SetCursor stores a position.
func (j *Journal) SetCursor(ctx context.Context, name, value string) error {
	err := j.writer.write(ctx, directOperation(1, func(t *tx) error {
		_, err := t.exec(`INSERT OR REPLACE INTO cursors (name, value) VALUES (?, ?)`, name, value)
		return err
	}, nil))
	if err != nil {
		return fmt.Errorf("cursor %s: %w", name, err)
	}
	return nil
}

// SwapCursor stores a position if the stored one is still old.
func (j *Journal) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	swapped := false // a caller that stops waiting does not read it
	err := j.writer.write(ctx, directOperation(1, func(t *tx) error {
		var kept string
		_, err := t.get(`SELECT value FROM cursors WHERE name = ?`, []any{name}, &kept)
		if swapped = err == nil && kept == old; swapped {
			_, err = t.exec(`INSERT OR REPLACE INTO cursors (name, value) VALUES (?, ?)`, name, value)
		}
		return err
	}, nil))
	if err != nil {
		return false, fmt.Errorf("cursor %s: %w", name, err)
	}
	return swapped, nil
}

// Events returns events by their sequence numbers.
func (j *Journal) Events(ctx context.Context, seqs ...int64) ([]*journal.Event, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	keys, err := stored.Text(seqs)
	if err != nil {
		return nil, err
	}
	return j.events(ctx, `SELECT `+eventColumns+` FROM json_each(?) k CROSS JOIN events e ON e.seq = k.value WHERE e.data IS NOT NULL ORDER BY k.key`, keys)
}

// Happened returns events of a lane since a time.
func (j *Journal) Happened(ctx context.Context, workspace, lane string, types []string, since time.Time, max int) ([]*journal.Event, error) {
	if len(types) == 0 {
		return nil, nil
	}
	args := []any{lane, workspace, stored.Micros(since)}
	for _, t := range types {
		args = append(args, t)
	}
	return j.events(ctx, `SELECT `+eventColumns+` FROM events e INDEXED BY events_lane
		WHERE e.lane = ? AND e.workspace = ? AND e.created_at >= ? AND e.type IN (`+placeholders(len(types))+`) AND e.data IS NOT NULL
		ORDER BY e.created_at, e.seq LIMIT ?`, append(args, max)...)
}

// placeholders returns n placeholders.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// Count returns how many events of a type a lane has had since a time.
func (j *Journal) Count(ctx context.Context, workspace, lane, typ string, since time.Time) (int, error) {
	var n int
	err := j.reads.QueryRowContext(ctx, `SELECT count(*) FROM events INDEXED BY events_lane WHERE lane = ? AND workspace = ? AND created_at >= ? AND type = ?`,
		lane, workspace, stored.Micros(since), typ).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count events: %w", err)
	}
	return n, nil
}

// Newest returns the number of the newest event that this process knows of. Events that commands in
// other processes record become known with the next start.
func (j *Journal) Newest() int64 { return j.writer.event.Load() }

// Caused returns expected events of own calls.
func (j *Journal) Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	args := []any{workspace}
	for _, o := range objects {
		args = append(args, o)
	}
	query := `SELECT id, workspace, lane, event, object, stage, fields, run, rule, ancestry, after_event, from_at, to_at, used FROM caused INDEXED BY caused_object
		WHERE workspace = ? AND object IN (` + placeholders(len(objects)) + `)`
	if typ != "" {
		query, args = query+` AND event = ?`, append(args, typ)
	}
	if !since.IsZero() {
		query, args = query+` AND to_at >= ?`, append(args, stored.Micros(since))
	}
	var caused []journal.Caused
	err := j.each(ctx, query+` ORDER BY id`, args, func(rows *sql.Rows) error {
		var c journal.Caused
		var from, to int64
		var fields, ancestry *string
		if err := rows.Scan(&c.ID, &c.Workspace, &c.Lane, &c.Event, &c.Object, &c.Stage, &fields, &c.Run, &c.Rule, &ancestry, &c.After, &from, &to, &c.Used); err != nil {
			return err
		}
		err := stored.ReadCaused(&c, from, to, fields, ancestry)
		caused = append(caused, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("caused: %w", err)
	}
	return caused, nil
}

// Version returns the source of a rule by the hash of its version.
func (j *Journal) Version(ctx context.Context, hash string) (string, error) {
	var source string
	err := j.reads.QueryRowContext(ctx, `SELECT source FROM rule_versions WHERE hash = ?`, hash).Scan(&source)
	if errors.Is(err, sql.ErrNoRows) {
		err = journal.ErrNoVersion
	}
	if err != nil {
		return "", fmt.Errorf("version %s: %w", hash, err)
	}
	return source, nil
}
