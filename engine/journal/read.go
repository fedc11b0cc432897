package journal

import (
	"context"
	"time"
)

// A Reader is the side of a journal that people look at.
type Reader interface {
	// ListEvents returns events, the newest first unless the filter says otherwise.
	ListEvents(ctx context.Context, f EventFilter) ([]*Event, error)
	// ListRuns returns runs with their steps, the newest first.
	ListRuns(ctx context.Context, f RunFilter) ([]*Run, error)
	// FindEvent returns an event by its id, or ErrNoEvent.
	FindEvent(ctx context.Context, workspace, id string) (*Event, error)
	// FindRun returns a run with its steps, or ErrNoRun.
	FindRun(ctx context.Context, id int64) (*Run, error)
	// Holds returns what is stopped.
	Holds(ctx context.Context) ([]Hold, error)
	// CountRuns returns how many unfinished runs there are in each state.
	CountRuns(ctx context.Context) (map[State]int, error)
}

// An EventFilter chooses events. Zero values choose all.
type EventFilter struct {
	Workspace string
	Type      string
	Rule      string // that has a verdict on it
	Lane      string
	Since     time.Time // received at or after
	Before    int64     // older than this sequence number, for the next page
	Forward   bool      // the oldest first
	After     int64     // newer than this sequence number: for the next page of those, and to bound how much is looked through
	Limit     int       // 0 is 100
}

// A RunFilter chooses runs. Zero values choose all.
type RunFilter struct {
	Workspace string
	Rule      string
	State     State
	Lane      string    // that it belongs to
	Event     int64     // that it came of
	Events    []int64   // of which it came of one
	Since     time.Time // started at or after
	Before    int64     // started before the run with this id, for the next page
	Limit     int       // 0 is 100
}
