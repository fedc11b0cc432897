package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Audit adds an entry to the audit log.
func (j *Journal) Audit(ctx context.Context, e journal.AuditEntry) error {
	err := j.changes.write(ctx, &operation{Operation: &ledger.Operation{}, extra: func(b *pgx.Batch) {
		b.Queue(`INSERT INTO quando.audit (id, at, who, origin, what, subject, detail) VALUES (nextval('quando.audit_id'), $1, $2, $3, $4, $5, $6)`,
			stored.Micros(e.At), encodeText(e.Who), encodeText(e.From), encodeText(e.What), encodeText(e.Subject), encodeText(e.Detail))
	}})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Audits returns entries of the audit log, the newest first.
func (j *Journal) Audits(ctx context.Context, before int64, limit int) ([]journal.AuditEntry, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	var list []journal.AuditEntry
	err := j.each(ctx, `SELECT id, at, who, origin, what, subject, detail FROM quando.audit WHERE id < $1 ORDER BY id DESC LIMIT $2`, []any{before, limit}, func(rows pgx.Rows) error {
		var e journal.AuditEntry
		var at int64
		err := rows.Scan(&e.ID, &at, text{&e.Who}, text{&e.From}, text{&e.What}, text{&e.Subject}, text{&e.Detail})
		e.At = stored.Moment(at)
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("audits: %w", err)
	}
	return list, nil
}
