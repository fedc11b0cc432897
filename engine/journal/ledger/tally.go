package ledger

import (
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A Tally sums up what a transaction does, and is written at its end: many runs and verdicts of one
// transaction are few rows.
type Tally struct {
	counts  map[CountKey]int
	Reasons map[ReasonKey]*LastReason
	Fired   map[journal.RuleName]int64 // when a rule fired last
}

// A CountKey is what is counted, and in which hour since 1970.
type CountKey struct {
	Hour int64
	journal.RuleName
	What   journal.CountKind
	Detail string
}

// A ReasonKey is why a rule did not fire on a day since 1970.
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

// Stretches of time, in microseconds and in hours.
const (
	AnHour    = int64(time.Hour / time.Microsecond)
	ADay      = 24 * AnHour
	RuleHours = int64(journal.RuleCounts / time.Hour) // that the counts of a rule are summed up for
)

// Count counts something that happened at a time.
func (t *Tally) Count(at int64, rule journal.RuleName, what journal.CountKind, detail string, n int) {
	if t.counts == nil {
		t.counts = map[CountKey]int{}
	}
	t.counts[CountKey{at / AnHour, rule, what, detail}] += n
}

// Verdict counts a verdict on an event with this number, and why it was not that the rule fired.
// How an evaluation failed may be told in as many ways as there are events: it counts by its
// clause.
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

// Ended counts a run that has come to its end.
func (t *Tally) Ended(at int64, rule journal.RuleName, stage rules.Stage, state journal.State) {
	detail := string(state)
	if stage == rules.Shadow && state == journal.Done {
		detail = journal.CountShadow
	}
	t.Count(at, rule, journal.CountRuns, detail, 1)
}

// Counts are what all rules of a workspace did, by the hour, without a rule.
func (t *Tally) Counts() map[CountKey]int {
	all := map[CountKey]int{}
	for k, n := range t.counts {
		k.Rule = ""
		all[k] += n
	}
	return all
}

// RuleCounts are what each rule did, by journal.RuleCounts.
func (t *Tally) RuleCounts() map[CountKey]int {
	all := map[CountKey]int{}
	for k, n := range t.counts {
		k.Hour = k.Hour / RuleHours * RuleHours
		all[k] += n
	}
	return all
}

// newVerdicts returns the verdicts that are not what they were, where an event is decided again, as
// when a rule decides on the last of those that it has gathered.
func newVerdicts(before, given []journal.Verdict) (changed []journal.Verdict) {
	type told struct {
		rule, clause string
		outcome      journal.Outcome
	}
	were := map[told]bool{}
	for _, v := range before {
		were[told{v.Rule, v.Clause, v.Outcome}] = true
	}
	for _, v := range given {
		if !were[told{v.Rule, v.Clause, v.Outcome}] {
			changed = append(changed, v)
		}
	}
	return changed
}
