package ledger

import (
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A Tally aggregates the counts of a transaction. They are written at its end: many runs and
// verdicts of one transaction become few rows.
type Tally struct {
	counts  map[CountKey]int
	Reasons map[ReasonKey]*LastReason
	Fired   map[journal.RuleName]int64 // when each rule fired last
}

// A CountKey is what is counted, in an hour since 1970.
type CountKey struct {
	Hour int64
	journal.RuleName
	What   journal.CountKind
	Detail string
}

// A ReasonKey is why a rule did not fire, on a day since 1970.
type ReasonKey struct {
	journal.RuleName
	Day     int64
	Outcome journal.Outcome
	Clause  string
}

// A LastReason is how often a rule did not fire for a reason, and the newest event for which it did
// not.
type LastReason struct {
	N         int
	Event, At int64
}

// Periods, in microseconds and in hours.
const (
	AnHour    = int64(time.Hour / time.Microsecond)
	ADay      = 24 * AnHour
	RuleHours = int64(journal.RuleCounts / time.Hour) // the period of a rule's counts
)

// Count adds n to a count at a time.
func (t *Tally) Count(at int64, rule journal.RuleName, what journal.CountKind, detail string, n int) {
	if t.counts == nil {
		t.counts = map[CountKey]int{}
	}
	t.counts[CountKey{at / AnHour, rule, what, detail}] += n
}

// Verdict counts a verdict on an event with this number; if the rule did not fire, by its reason. A
// failed evaluation counts by its clause, because its error text may differ for every event.
func (t *Tally) Verdict(at int64, e *journal.Event, seq int64, v journal.Verdict) {
	rule := journal.RuleName{Workspace: e.Workspace, Rule: v.Rule}
	if v.Outcome == journal.Fired {
		t.Count(at, rule, journal.CountFired, "", 1)
		if t.Fired == nil {
			t.Fired = map[journal.RuleName]int64{}
		}
		t.Fired[rule] = at
		return
	}
	if t.Reasons == nil {
		t.Reasons = map[ReasonKey]*LastReason{}
	}
	key := ReasonKey{rule, at / ADay, v.Outcome, v.Clause}
	last := t.Reasons[key]
	if last == nil {
		last = &LastReason{}
		t.Reasons[key] = last
	}
	last.N++
	if seq >= last.Event {
		last.Event, last.At = seq, at
	}
}

// Ended counts a run that has finished.
func (t *Tally) Ended(at int64, rule journal.RuleName, stage rules.Stage, state journal.State) {
	detail := string(state)
	if stage == rules.Shadow && state == journal.Done {
		detail = journal.CountShadow
	}
	t.Count(at, rule, journal.CountRuns, detail, 1)
}

// Counts are the hourly counts of workspaces, without a rule.
func (t *Tally) Counts() map[CountKey]int {
	all := map[CountKey]int{}
	for k, n := range t.counts {
		k.Rule = ""
		all[k] += n
	}
	return all
}

// RuleCounts are the counts of each rule, in periods of journal.RuleCounts.
func (t *Tally) RuleCounts() map[CountKey]int {
	all := map[CountKey]int{}
	for k, n := range t.counts {
		k.Hour = k.Hour / RuleHours * RuleHours
		all[k] += n
	}
	return all
}

// newVerdicts returns the verdicts that have changed when an event is decided again, as when a rule
// decides on the last of its gathered events.
func newVerdicts(before, given []journal.Verdict) (changed []journal.Verdict) {
	type verdictKey struct {
		rule, clause string
		outcome      journal.Outcome
	}
	known := map[verdictKey]bool{}
	for _, v := range before {
		known[verdictKey{v.Rule, v.Clause, v.Outcome}] = true
	}
	for _, v := range given {
		if !known[verdictKey{v.Rule, v.Clause, v.Outcome}] {
			changed = append(changed, v)
		}
	}
	return changed
}
