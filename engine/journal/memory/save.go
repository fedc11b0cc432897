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
	kept := op.Kept
	op.Kept = func(l *ledger.Ledger) {
		kept(l)
		j.keep(j.lanes[ledger.KeyOf(lane)], change, s)
	}
	err := j.transact(ctx, op)
	if bound, full := errors.AsType[*journal.BoundError](err); full {
		bound.Own = j.takenBy(lane.Workspace, bound.Slot, moment(change.At))
	}
	if err != nil {
		return fmt.Errorf("save lane %s: %w", lane.Name, err)
	}
	return nil
}

// keep notes what a recorded change means for the claim of its lane.
func (j *Journal) keep(l *lane, change *journal.Change, s *ledger.Save) {
	if change.Release && l.opened {
		j.free(l)
	}
	if s.Listed {
		l.opened = false
		l.claimed++
	}
}

// takenBy reports whether a slot's rule has taken some of those that fill its window.
func (j *Journal) takenBy(workspace string, slot journal.Slot, now time.Time) bool {
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

// Ask asks something of a run.
func (j *Journal) Ask(ctx context.Context, now time.Time, run int64, ask journal.Ask) error {
	return j.transact(ctx, ledger.Ask(now, run, ask))
}

// Accept records events and makes their lanes due.
func (j *Journal) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	for _, e := range events {
		if err := keepable(e.Data, 0); err != nil {
			return nil, fmt.Errorf("accept event %s: its data: %w", e.ID, err)
		}
	}
	fresh := make([]bool, len(events))
	if err := j.transact(ctx, ledger.Accept(events, nil, fresh)); err != nil {
		return nil, err
	}
	return fresh, nil
}

// transact carries out an operation.
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
