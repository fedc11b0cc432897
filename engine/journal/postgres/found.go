package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// foundLock is the advisory lock that accepting delivered events shares, and that accepting found
// events has exclusively: each sees what the other has recorded.
const foundLock = migrationLock + 5

const (
	// limitsAndFoundLock is limits for a transaction that records delivered events.
	limitsAndFoundLock = limits + `, pg_advisory_xact_lock_shared($1)`

	selectSimilar = `SELECT e.id, e.lane, e.created_at, e.data FROM quando.events e WHERE e.lane = ANY($1::text[]) AND e.workspace = $2 AND e.created_at >= $3 AND e.type = $4`

	insertFound = `WITH e AS (INSERT INTO quando.events (seq, workspace, id, type, rule, tenant, lane, created_at, received_at, data)
			VALUES (nextval('quando.events_seq'), $1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (workspace, id) DO NOTHING RETURNING seq)
		INSERT INTO quando.found (seq, workspace, type, identity, since, until, told, at) SELECT e.seq, $1, $3, $10, $11, $12, '', $8 FROM e RETURNING seq`
)

// AcceptFound records found events, except those that describe the same as a recorded event. It may
// be retried if it is not known whether it was committed: what it has recorded is recognised then.
func (j *Journal) AcceptFound(ctx context.Context, found []rules.Finding) (fresh []bool, err error) {
	data, err := stored.DataOfFindings(found)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	for try := 1; ; try++ {
		fresh, err = j.acceptFound(ctx, found, data)
		if err == nil {
			j.notices.announce()
			return fresh, nil
		}
		if try == maxTries || !isTransient(markTransient(err)) || ctx.Err() != nil {
			return nil, fmt.Errorf("accept what was found: %w", explain(err))
		}
	}
}

func (j *Journal) acceptFound(ctx context.Context, found []rules.Finding, data []string) ([]bool, error) {
	fresh := make([]bool, len(found))
	err := pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
		b, known := &pgx.Batch{}, make([]bool, len(found))
		b.Queue(limits)
		b.Queue(`SELECT pg_advisory_xact_lock($1)`, int64(foundLock))
		for i := range found {
			queueMatch(b, &found[i], &known[i])
		}
		if err := t.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		b = &pgx.Batch{}
		for i := range found {
			if f := &found[i]; !known[i] {
				each(b.Queue(insertFound, encodeText(f.Workspace), encodeText(f.ID), encodeText(f.Type), encodeText(f.Rule), encodeText(f.Tenant), encodeText(f.Lane), stored.Micros(f.CreatedAt), stored.Micros(f.ReceivedAt), data[i],
					encodeText(f.Identity), stored.Micros(f.Since), stored.Until(f.Until)), func(rows pgx.Rows) error {
					fresh[i] = true
					var seq int64
					err := rows.Scan(&seq)
					j.sawEvent(seq)
					return err
				})
			}
		}
		if err := t.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		l := &ledger.Ledger{}
		for i := range found {
			if fresh[i] {
				l.Due(ledger.LaneKey{Workspace: found[i].Workspace, Lane: found[i].Lane}, stored.Micros(found[i].ReceivedAt))
			}
		}
		b = &pgx.Batch{}
		writeBatch{l, j.engine}.writeLanes(b)
		return t.SendBatch(ctx, b).Close()
	})
	return fresh, err
}

// queueMatch queues a query for recorded events that describe the same as a found one.
func queueMatch(b *pgx.Batch, f *rules.Finding, known *bool) {
	each(b.Queue(selectSimilar, encodeTexts(f.Lanes), encodeText(f.Workspace), stored.Micros(f.Since), encodeText(f.Type)), func(rows pgx.Rows) error {
		e := rules.Event{Workspace: f.Workspace, Type: f.Type}
		var created int64
		var content *string
		if err := rows.Scan(text{&e.ID}, text{&e.Lane}, &created, &content); err != nil {
			return err
		}
		e.CreatedAt = stored.Moment(created)
		err := stored.Decode(content, &e.Data)
		*known = *known || f.Tells(e)
		return err
	})
}

// CountFound returns how many events were found since a time.
func (j *Journal) CountFound(ctx context.Context, workspace string, since time.Time) (map[string]int, error) {
	counts := map[string]int{}
	err := j.each(ctx, `SELECT type, count(*) FROM quando.found WHERE at >= $1 AND workspace = $2 GROUP BY type`, []any{stored.Micros(since), encodeText(workspace)}, func(rows pgx.Rows) error {
		var typ string
		var n int
		err := rows.Scan(text{&typ}, &n)
		counts[typ] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what was found: %w", err)
	}
	return counts, nil
}

// Seen returns the last seen values of a kind.
func (j *Journal) Seen(ctx context.Context, workspace, kind string) (map[string]string, error) {
	seen := map[string]string{}
	err := j.each(ctx, `SELECT id, value FROM quando.seen WHERE workspace = $1 AND kind = $2`, []any{encodeText(workspace), encodeText(kind)}, func(rows pgx.Rows) error {
		var id, value string
		err := rows.Scan(text{&id}, text{&value})
		seen[id] = value
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what was seen: %w", err)
	}
	return seen, nil
}

// SetSeen stores seen values of a kind.
func (j *Journal) SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error {
	var ids, kept, gone texts
	for id, value := range values {
		if value == "" {
			gone.add(id)
			continue
		}
		ids.add(id)
		kept.add(value)
	}
	err := pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, `DELETE FROM quando.seen WHERE workspace = $1 AND kind = $2 AND id = ANY($3::text[])`, encodeText(workspace), encodeText(kind), gone); err != nil {
			return err
		}
		_, err := t.Exec(ctx, `INSERT INTO quando.seen (workspace, kind, id, value, at) SELECT $1, $2, k.id, k.value, $5 FROM unnest($3::text[], $4::text[]) k (id, value)
			ON CONFLICT (workspace, kind, id) DO UPDATE SET value = excluded.value, at = excluded.at`, encodeText(workspace), encodeText(kind), ids, kept, stored.Micros(now))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep what was seen: %w", explain(err))
	}
	return nil
}
