package sqlite

import (
	"context"
	"errors"
	"fmt"

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
		op := s.Operation()
		setResults := op.Kept
		op.Kept = func(l *ledger.Ledger) {
			setResults(l)
			j.claims.afterSave(lane, change, s)
		}
		err = j.writer.write(ctx, &operation{Operation: op})
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
	const query = `SELECT EXISTS (SELECT 1 FROM slots WHERE workspace = ? AND key = ? AND rule = ? AND at > ?)`
	err = j.reads.QueryRowContext(ctx, query, workspace, slot.Key, slot.Rule, now-slot.Per.Microseconds()).Scan(&own)
	return own, err
}
