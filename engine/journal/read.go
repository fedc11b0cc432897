package journal

import (
	"context"
	"time"
)

// A Reader is the part of a journal that lists and finds, for people.
type Reader interface {
	// ListEvents returns events, the newest first unless the filter says otherwise.
	ListEvents(ctx context.Context, f EventFilter) ([]*Event, error)
	// ListRuns returns runs with their steps, the newest first.
	ListRuns(ctx context.Context, f RunFilter) ([]*Run, error)
	// FindEvent returns an event by its id, or ErrNoEvent.
	FindEvent(ctx context.Context, workspace, id string) (*Event, error)
	// FindRun returns a run with its steps, or ErrNoRun.
	FindRun(ctx context.Context, id int64) (*Run, error)
	// Holds returns all holds.
	Holds(ctx context.Context) ([]Hold, error)
	// CountRuns returns how many unfinished runs there are in each state.
	CountRuns(ctx context.Context) (map[State]int, error)
}

// MaxSkew is how far the clocks of engines may disagree: an event or a run that was recorded after
// one whose time is so much later than a bound is not searched for below the bound, and none that
// was recorded before one whose time is so much earlier is searched for above it.
const MaxSkew = time.Hour

// An EventFilter selects events. Zero values select all.
type EventFilter struct {
	Workspace string
	Type      string
	Rule      string // a rule that has a verdict on the event
	Lane      string
	Since     time.Time // received at or after
	Until     time.Time // received before; zero is no bound
	Before    int64     // below this sequence number, for the next page
	Forward   bool      // the oldest first
	After     int64     // above this sequence number: for the next page with Forward, and to bound how many rows are scanned
	Limit     int       // 0 is 100
}

// A RunFilter selects runs. Zero values select all.
type RunFilter struct {
	Workspace string
	Rule      string
	State     State
	Lane      string    // the run's Home
	Event     int64     // the event that started it
	Events    []int64   // one of them started it
	Since     time.Time // started at or after
	Until     time.Time // started before; zero is no bound
	Before    int64     // below this id, for the next page
	Limit     int       // 0 is 100
}
