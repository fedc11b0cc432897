package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Save records a change of a claimed lane.
func (j *Journal) Save(ctx context.Context, lane *journal.Lane, change *journal.Change) error {
	if j.attached {
		return errAttached
	}
	s := ledger.NewSave(lane, change)
	err := s.Encode()
	if err == nil {
		w := j.changes
		if change.Fresh != nil {
			w = j.accepts
		}
		if err = w.write(ctx, &operation{Operation: s.Operation()}); s.Lost || err == nil && change.Release {
			j.claims.release(lane, s.Lost || s.Left)
		}
	}
	if bound, full := errors.AsType[*journal.BoundError](err); full {
		var unknown error
		if bound.Own, unknown = j.hasOwnSlot(ctx, lane.Workspace, bound.Slot, stored.Micros(change.At)); unknown != nil {
			err = unknown
		}
	}
	if err != nil {
		return fmt.Errorf("save lane %s: %w", lane.Name, err)
	}
	return nil
}

// hasOwnSlot reports whether a slot's own rule took some of the slots that fill its window.
func (j *Journal) hasOwnSlot(ctx context.Context, workspace string, slot journal.Slot, now int64) (own bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM quando.slots WHERE workspace = $1 AND key = $2 AND rule = $3 AND at > $4)`
	err = j.each(ctx, query, []any{encodeText(workspace), encodeText(slot.Key), encodeText(slot.Rule), now - slot.Per.Microseconds()}, func(rows pgx.Rows) error {
		return rows.Scan(&own)
	})
	return own, err
}
