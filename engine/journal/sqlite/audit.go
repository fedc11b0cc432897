package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Audit adds an entry to the audit log.
func (j *Journal) Audit(ctx context.Context, e journal.AuditEntry) error {
	err := j.writer.write(ctx, directOperation(1, func(t *tx) error {
		_, err := t.exec(`INSERT INTO audit (at, who, origin, what, subject, detail) VALUES (?, ?, ?, ?, ?, ?)`, stored.Micros(e.At), e.Who, e.From, e.What, e.Subject, e.Detail)
		return err
	}, nil))
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
	err := j.each(ctx, `SELECT id, at, who, origin, what, subject, detail FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?`, []any{before, limit}, func(rows *sql.Rows) error {
		var e journal.AuditEntry
		var at int64
		err := rows.Scan(&e.ID, &at, &e.Who, &e.From, &e.What, &e.Subject, &e.Detail)
		e.At = stored.Moment(at)
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("audits: %w", err)
	}
	return list, nil
}
