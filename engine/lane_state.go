package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// A laneState is what a visit knows of its lane.
type laneState struct {
	engine    *Engine
	workspace *workspace
	lane      *journal.Lane
	clock     func() time.Time
	fresh     *freshEvent // the lane's event that is not recorded yet; nil if all are
	newest    int64       // the number of the newest event of all lanes when the visit began

	// The maps are made on first use: most visits need few of them.
	events  map[int64]*journal.Event // events that are not among lane.Events and had to be read
	records map[*journal.Step]*record
}

// now has the precision of the journal, so that a recorded time is due when it is read back.
func (l *laneState) now() time.Time { return l.clock().Truncate(time.Microsecond) }

// due reports whether a run has something to do in this lane, and had at the time by.
func (l *laneState) due(r *journal.Run, by time.Time) bool {
	if r.Lane != l.lane.Name || l.isHeld(r) {
		return false
	}
	switch r.State {
	case journal.Running, journal.Waiting:
		return !r.WakeAt.IsZero() && !r.WakeAt.After(by)
	case journal.Held:
		return !r.WakeAt.After(by)
	}
	return false
}

// isHeld reports whether a run waits until a hold is lifted.
func (l *laneState) isHeld(r *journal.Run) bool {
	return r.State == journal.Held && l.engine.holdOn(r.Workspace, r.Rule, r.Lane) != nil
}

// newestDecided returns a number such that the lane's events up to it are decided and all others
// are not. They are decided in the order of their numbers.
func (l *laneState) newestDecided() int64 {
	newest := l.newest
	for _, e := range l.lane.Events {
		if !e.Decided {
			return e.Seq - 1
		}
		newest = max(newest, e.Seq)
	}
	if l.lane.More {
		return l.lane.Events[len(l.lane.Events)-1].Seq
	}
	return newest
}

// event returns an event by its number.
func (l *laneState) event(ctx context.Context, seq int64) (*journal.Event, error) {
	list, err := l.eventsOf(ctx, seq)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, journal.ErrNoEvent
	}
	return list[0], nil
}

// loadedEvent returns an event that is in memory; nil if it has to be read.
func (l *laneState) loadedEvent(seq int64) *journal.Event {
	if i, ok := slices.BinarySearchFunc(l.lane.Events, seq, func(e *journal.Event, seq int64) int { return cmp.Compare(e.Seq, seq) }); ok {
		return l.lane.Events[i]
	}
	return l.events[seq]
}

// eventsOf returns events by their numbers, without those that have been pruned.
func (l *laneState) eventsOf(ctx context.Context, seqs ...int64) ([]*journal.Event, error) {
	var missing []int64
	for _, seq := range seqs {
		if l.loadedEvent(seq) == nil {
			missing = append(missing, seq)
		}
	}
	if len(missing) > 0 {
		found, err := l.engine.journal.Events(ctx, missing...)
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		for _, e := range found {
			put(&l.events, e.Seq, e)
		}
	}
	var out []*journal.Event
	for _, seq := range seqs {
		if e := l.loadedEvent(seq); e != nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// record returns the record of a step.
func (l *laneState) record(s *journal.Step) (*record, error) {
	if r := l.records[s]; r != nil {
		return r, nil
	}
	r, err := recordOf(s)
	if err == nil {
		put(&l.records, s, r)
	}
	return r, err
}

// recoverPanic turns a panic into an error, so that a fault in one lane does not end all others.
func (l *laneState) recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("a fault in quando: %v; please report it with what the log has of it", p)
		l.engine.log.Error("a fault in quando ended the work on a lane", "workspace", l.lane.Workspace, "lane", WithoutPhones(l.lane.Name), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}
