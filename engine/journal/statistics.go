package journal

import (
	"context"
	"time"
)

// Statistics is the part of a journal that aggregates, for people. The cost of a method does not
// grow with the journal: transactions maintain the sums as they record, and Follow maintains the
// index of lanes.
type Statistics interface {
	// Counts returns counts, the oldest first.
	Counts(ctx context.Context, f CountFilter) ([]Count, error)

	// LastFired returns when each rule last fired.
	LastFired(ctx context.Context) (map[RuleName]time.Time, error)

	// Reasons returns why a rule did not fire since a time, by days, the most frequent first.
	Reasons(ctx context.Context, workspace, rule string, since time.Time) ([]Reason, error)

	// Follow indexes the mentions in events, in the order of recording, a bounded number of events at
	// a time, and reports whether there is more. Accept leaves this work to it: call Follow
	// periodically in the background. It lets transactions that record something go first.
	Follow(ctx context.Context) (more bool, err error)

	// FindLanes returns the lanes whose events mention a name, a phone or a protocol number, the
	// newest first, at most limit. Before it searches, it follows a bounded number of events, and so
	// does Who.
	FindLanes(ctx context.Context, text string, limit int) ([]Who, error)

	// Who returns the customers of lanes of a workspace, by lane, as far as events mention them.
	Who(ctx context.Context, workspace string, lanes []string) (map[string]Who, error)

	// Extent returns how much the journal holds.
	Extent(ctx context.Context) (Extent, error)
}

// A RuleName names a rule of a workspace.
type RuleName struct{ Workspace, Rule string }

// A CountKind is the kind of what is counted.
type CountKind string

// The kinds of counts. Only runs have a detail: their final state, and "shadow" for a run of a
// shadow rule that is done. Verdicts other than fired are counted by Reason.
const (
	CountFired   CountKind = "fired"
	CountRuns    CountKind = "run"    // that finished
	CountEffects CountKind = "effect" // calls that had their effect
)

// CountShadow is the detail of shadow runs that are done.
const CountShadow = "shadow"

// RuleCounts is the smallest period for which the counts of a single rule are stored. Periods begin
// at whole multiples of it in UTC.
const RuleCounts = 6 * time.Hour

// A CountFilter says how to sum up counts.
type CountFilter struct {
	Since time.Time     // rounded down to the hour
	Every time.Duration // the length of a period in whole hours; 0 is one hour
	Rules bool          // sums for each rule, in periods of RuleCounts; else for each workspace
	Rule  RuleName      // with Rules: only this one; the zero value is all of them
}

// A Count is how often something happened in a period.
type Count struct {
	From     time.Time
	RuleName // an empty Rule stands for all rules
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

// A Who is the customer of a lane.
type Who struct {
	Workspace, Lane       string
	Name, Phone, Protocol string
	Seen                  time.Time // the day of the last mention
}

// An Extent is how much a journal holds.
type Extent struct {
	Events, Runs int64     // recorded since the oldest one that is stored
	Oldest       time.Time // when the oldest event was received; zero when there is none
	Bytes        int64
}

// An Auditor stores an audit log of what people changed. Entries can be neither changed nor
// deleted.
type Auditor interface {
	Audit(ctx context.Context, e AuditEntry) error
	// Audits returns entries, the newest first, older than the one with the number before; 0 is all.
	Audits(ctx context.Context, before int64, limit int) ([]AuditEntry, error)
}

// An AuditEntry is one change that a person made.
type AuditEntry struct {
	ID      int64 // assigned by the journal
	At      time.Time
	Who     string // the user's name
	From    string // the address that the request came from
	What    string // pause, resume, cancel, retry, …
	Subject string // the changed object: a rule, a run, everything
	Detail  string // the reason given, or what went wrong
}
