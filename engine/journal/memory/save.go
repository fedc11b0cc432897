package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/rules"
)

// Save records a change of a claimed lane.
func (j *Journal) Save(ctx context.Context, lane *journal.Lane, change *journal.Change) error {
	s := ledger.NewSave(lane, change)
	op := s.Operation()
	setResults := op.Kept
	op.Kept = func(l *ledger.Ledger) {
		setResults(l)
		j.afterSave(j.lanes[ledger.KeyOf(lane)], change, s)
	}
	err := j.transact(ctx, op)
	if bound, full := errors.AsType[*journal.BoundError](err); full {
		bound.Own = j.hasOwnSlot(lane.Workspace, bound.Slot, moment(change.At))
	}
	if err != nil {
		return fmt.Errorf("save lane %s: %w", lane.Name, err)
	}
	return nil
}

// afterSave updates the claim of a lane after a change was recorded.
func (j *Journal) afterSave(l *lane, change *journal.Change, s *ledger.Save) {
	if change.Release && l.opened {
		j.endClaim(l)
	}
	if s.Listed {
		l.opened = false
		l.claimed++
	}
}

// hasOwnSlot reports whether a slot's own rule took some of the slots that fill its window.
func (j *Journal) hasOwnSlot(workspace string, slot journal.Slot, now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.slots[ledger.SlotKey{Workspace: workspace, Key: slot.Key}]
	if s == nil {
		return false
	}
	for _, t := range s.takings {
		if t.Rule == slot.Rule && t.At > now.Add(-slot.Per).UnixMicro() {
			return true
		}
	}
	return false
}

// Ask records a request to a run.
func (j *Journal) Ask(ctx context.Context, now time.Time, run int64, ask journal.Ask) error {
	return j.transact(ctx, ledger.Ask(now, run, ask))
}

// Accept records events and makes their lanes due.
func (j *Journal) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	for _, e := range events {
		if err := checkEncodable(e.Data, 0); err != nil {
			return nil, fmt.Errorf("accept event %s: its data: %w", e.ID, err)
		}
	}
	fresh := make([]bool, len(events))
	if err := j.transact(ctx, ledger.Accept(events, nil, fresh)); err != nil {
		return nil, err
	}
	return fresh, nil
}

// transact runs an operation.
func (j *Journal) transact(ctx context.Context, op *ledger.Operation) error {
	if err := j.lock(ctx); err != nil {
		return err
	}
	defer j.mu.Unlock()
	var w ledger.Wants
	op.Want(&w)
	l := j.read(&w)
	if err := op.Decide(l); err != nil {
		return err
	}
	j.write(l)
	if op.Kept != nil {
		op.Kept(l)
	}
	return nil
}
