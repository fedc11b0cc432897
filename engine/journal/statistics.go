package journal

import (
	"context"
	"time"
)

// Statistics is the side of a journal that sums up, for people who watch. What a method costs does
// not grow with the journal: the sums are kept while things are recorded, and what lanes are found
// by is kept by Follow.
type Statistics interface {
	// Counts returns what was counted, the oldest first.
	Counts(ctx context.Context, f CountFilter) ([]Count, error)

	// LastFired returns when each rule last fired.
	LastFired(ctx context.Context) (map[RuleName]time.Time, error)

	// Reasons returns why a rule did not fire since a time, by days, the most frequent first.
	Reasons(ctx context.Context, workspace, rule string, since time.Time) ([]Reason, error)

	// Follow takes up whom events mention, in the order of recording, a bounded part at a time, and
	// reports whether there is more. Accept leaves that for later: Follow is called again and again
	// beside everything else, and lets those go first who have something to record.
	Follow(ctx context.Context) (more bool, err error)

	// FindLanes returns the lanes whose events mention a name, a phone or a protocol number, the
	// newest first, at most limit. Before it looks, it follows the events for a bounded part, and so
	// does Who.
	FindLanes(ctx context.Context, text string, limit int) ([]Who, error)

	// Who returns who lanes of a workspace are about, by lane, as far as their events tell.
	Who(ctx context.Context, workspace string, lanes []string) (map[string]Who, error)

	// Extent returns how much the journal holds.
	Extent(ctx context.Context) (Extent, error)
}

// A RuleName names a rule of a workspace.
type RuleName struct{ Workspace, Rule string }

// A CountKind is what is counted.
type CountKind string

// What is counted. Only runs have a detail: their last state, and "shadow" where a run of a shadow
// rule is done. What rules did not fire for is counted by its reason.
const (
	CountFired   CountKind = "fired"
	CountRuns    CountKind = "run"    // that ended
	CountEffects CountKind = "effect" // calls that had their effect
)

// CountShadow is the detail of shadow runs that are done.
const CountShadow = "shadow"

// RuleCounts is the shortest stretch of time for which the counts of a single rule are kept.
// Stretches begin at whole multiples of it in UTC.
const RuleCounts = 6 * time.Hour

// A CountFilter says how counts are summed up.
type CountFilter struct {
	Since time.Time     // from the hour on that it lies in
	Every time.Duration // in whole hours; 0 is one
	Rules bool          // each rule for itself, in stretches of RuleCounts; else all of a workspace together
}

// A Count is how often something happened in a stretch of time.
type Count struct {
	From     time.Time
	RuleName // without a rule it is all of them
	What     CountKind
	Detail   string
	N        int
}

// A Reason is why a rule did not fire, how often, and the newest event for which it did not.
type Reason struct {
	Outcome Outcome
	Clause  string
	N       int
	Event   int64
	At      time.Time
}

// A Who is who a lane is about.
type Who struct {
	Workspace, Lane       string
	Name, Phone, Protocol string
	Seen                  time.Time // to the day
}

// An Extent is how much a journal holds.
type Extent struct {
	Events, Runs int64     // recorded since the oldest that is kept
	Oldest       time.Time // when the oldest event was received; zero when there is none
	Bytes        int64
}

// An Auditor keeps what people changed. Nothing that is kept can be changed or taken away.
type Auditor interface {
	Audit(ctx context.Context, e AuditEntry) error
	// Audits returns entries, the newest first, older than the one with the number before; 0 is all.
	Audits(ctx context.Context, before int64, limit int) ([]AuditEntry, error)
}

// An AuditEntry is one change that a person made.
type AuditEntry struct {
	ID      int64 // given by the journal
	At      time.Time
	Who     string // the user's name
	From    string // the address that the request came from
	What    string // pause, resume, cancel, retry, …
	Subject string // of what: a rule, a run, everything
	Detail  string // the reason given, or what went wrong
}
