package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// each calls scan for each row of a query.
func (j *Journal) each(ctx context.Context, query string, args []any, scan func(pgx.Rows) error) error {
	rows, err := j.pool.Query(ctx, query, args...)
	return explain(scanAll(rows, err, scan))
}

// events reads events.
func (j *Journal) events(ctx context.Context, query string, args ...any) ([]*journal.Event, error) {
	var events []*journal.Event
	err := j.each(ctx, query, args, func(rows pgx.Rows) error {
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
	err := j.pool.QueryRow(ctx, `SELECT value FROM quando.cursors WHERE name = $1`, encodeText(name)).Scan(text{&value})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("cursor %s: %w", name, explain(err))
	}
	return value, nil
}

// SetCursor stores a position.
func (j *Journal) SetCursor(ctx context.Context, name, value string) error {
	err := j.changes.write(ctx, &operation{Operation: &ledger.Operation{}, extra: func(b *pgx.Batch) {
		b.Queue(`INSERT INTO quando.cursors (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, encodeText(name), encodeText(value))
	}})
	if err != nil {
		return fmt.Errorf("cursor %s: %w", name, err)
	}
	return nil
}

// SwapCursor stores a position if the stored one is still old.
func (j *Journal) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	swapped := false // a caller that stops waiting does not read it
	query := `UPDATE quando.cursors SET value = $2 WHERE name = $1 AND value = $3`
	if old == "" {
		query = `INSERT INTO quando.cursors AS c (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE c.value = $3`
	}
	err := j.changes.write(ctx, &operation{Operation: &ledger.Operation{}, extra: func(b *pgx.Batch) {
		b.Queue(query, encodeText(name), encodeText(value), encodeText(old)).Exec(func(done pgconn.CommandTag) error {
			swapped = done.RowsAffected() == 1
			return nil
		})
	}})
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
	return j.events(ctx, `SELECT `+eventColumns+` FROM unnest($1::bigint[]) WITH ORDINALITY k (seq, place) JOIN quando.events e ON e.seq = k.seq WHERE e.data IS NOT NULL ORDER BY k.place`, seqs)
}

// Happened returns events of a lane since a time.
func (j *Journal) Happened(ctx context.Context, workspace, lane string, types []string, since time.Time, max int) ([]*journal.Event, error) {
	if len(types) == 0 {
		return nil, nil
	}
	return j.events(ctx, `SELECT `+eventColumns+` FROM quando.events e
		WHERE e.lane = $1 AND e.workspace = $2 AND e.created_at >= $3 AND e.type = ANY($4::text[]) AND e.data IS NOT NULL ORDER BY e.created_at, e.seq LIMIT $5`,
		encodeText(lane), encodeText(workspace), stored.Micros(since), encodeTexts(types), max)
}

// Count returns how many events of a type a lane has had since a time.
func (j *Journal) Count(ctx context.Context, workspace, lane, typ string, since time.Time) (int, error) {
	var n int
	err := j.pool.QueryRow(ctx, `SELECT count(*) FROM quando.events WHERE lane = $1 AND workspace = $2 AND created_at >= $3 AND type = $4`,
		encodeText(lane), encodeText(workspace), stored.Micros(since), encodeText(typ)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count events: %w", explain(err))
	}
	return n, nil
}

// Newest returns the number of the newest event that this engine has recorded, or has loaded with a
// claimed lane, or that existed when it started.
func (j *Journal) Newest() int64 { return j.newest.Load() }

// sawEvent records the number of an event. Numbers come from a sequence, so that one that was
// assigned is lower than all that follow, whether its transaction commits or not.
func (j *Journal) sawEvent(event int64) {
	for {
		newest := j.newest.Load()
		if event <= newest || j.newest.CompareAndSwap(newest, event) {
			return
		}
	}
}

// Caused returns expected events of own calls.
func (j *Journal) Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	query := `SELECT id, workspace, lane, event, object, stage, fields, run, rule, ancestry, after_event, from_at, to_at, used FROM quando.caused WHERE workspace = $1 AND object = ANY($2::text[])`
	args := []any{encodeText(workspace), encodeTexts(objects)}
	if typ != "" {
		args = append(args, encodeText(typ))
		query += fmt.Sprintf(` AND event = $%d`, len(args))
	}
	if !since.IsZero() {
		args = append(args, stored.Micros(since))
		query += fmt.Sprintf(` AND to_at >= $%d`, len(args))
	}
	var caused []journal.Caused
	err := j.each(ctx, query+` ORDER BY id`, args, func(rows pgx.Rows) error {
		var c journal.Caused
		var from, to int64
		var fields, ancestry *string
		if err := rows.Scan(&c.ID, text{&c.Workspace}, text{&c.Lane}, text{&c.Event}, text{&c.Object}, text{&c.Stage}, &fields, &c.Run, text{&c.Rule}, &ancestry, &c.After, &from, &to, &c.Used); err != nil {
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
	err := j.pool.QueryRow(ctx, `SELECT source FROM quando.rule_versions WHERE hash = $1`, encodeText(hash)).Scan(text{&source})
	if errors.Is(err, pgx.ErrNoRows) {
		err = journal.ErrNoVersion
	}
	if err != nil {
		return "", fmt.Errorf("version %s: %w", hash, explain(err))
	}
	return source, nil
}
