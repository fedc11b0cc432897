package sqlite

import (
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// A tally sums up what a transaction does, and is written at its end: many runs and verdicts of one transaction are few rows.
type tally struct {
	counts  map[count]int
	reasons map[reason]*lastReason
	fired   map[engine.RuleName]int64
}

type count struct {
	hour int64
	engine.RuleName
	what   engine.CountKind
	detail string
}

type reason struct {
	engine.RuleName
	day     int64
	outcome engine.Outcome
	clause  string
}

type lastReason struct {
	n         int
	event, at int64
}

const (
	anHour    = int64(time.Hour / time.Microsecond)
	aDay      = 24 * anHour
	ruleHours = int64(engine.RuleCounts / time.Hour) // that the counts of a rule are summed up for
)

func (t *tally) count(at int64, rule engine.RuleName, what engine.CountKind, detail string, n int) {
	if t.counts == nil {
		t.counts = map[count]int{}
	}
	t.counts[count{at / anHour, rule, what, detail}] += n
}

// verdict counts a verdict on an event, and why it was not that the rule fired. How an evaluation failed may be told in as many ways as there are
// events: it counts by its clause.
func (t *tally) verdict(at int64, e *engine.Event, v engine.Verdict) {
	rule := engine.RuleName{Workspace: e.Workspace, Rule: v.Rule}
	if v.Outcome == engine.Fired {
		t.count(at, rule, engine.CountFired, "", 1)
		if t.fired == nil {
			t.fired = map[engine.RuleName]int64{}
		}
		t.fired[rule] = at
		return
	}
	if t.reasons == nil {
		t.reasons = map[reason]*lastReason{}
	}
	key := reason{rule, at / aDay, v.Outcome, v.Clause}
	last := t.reasons[key]
	if last == nil {
		last = &lastReason{}
		t.reasons[key] = last
	}
	last.n++
	if e.Seq >= last.event {
		last.event, last.at = e.Seq, at
	}
}

// ended counts a run that has come to its end.
func (t *tally) ended(at int64, rule engine.RuleName, stage rules.Stage, state engine.State) {
	detail := string(state)
	if stage == rules.Shadow && state == engine.Done {
		detail = engine.CountShadow
	}
	t.count(at, rule, engine.CountRuns, detail, 1)
}

// tallied writes the sums of the transaction.
func (t *tx) tallied() error {
	all := map[count]int{} // whatever the rule
	for k, n := range t.tally.counts {
		_, err := t.exec(`INSERT INTO rule_counts (hour, workspace, rule, what, detail, n) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (hour, workspace, rule, what, detail) DO UPDATE SET n = n + excluded.n`, k.hour/ruleHours*ruleHours, k.Workspace, k.Rule, string(k.what), k.detail, n)
		if err != nil {
			return err
		}
		k.Rule = ""
		all[k] += n
	}
	for k, n := range all {
		_, err := t.exec(`INSERT INTO counts (hour, workspace, what, detail, n) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (hour, workspace, what, detail) DO UPDATE SET n = n + excluded.n`, k.hour, k.Workspace, string(k.what), k.detail, n)
		if err != nil {
			return err
		}
	}
	for k, r := range t.tally.reasons {
		_, err := t.exec(`INSERT INTO reasons (workspace, rule, day, outcome, clause, n, event, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace, rule, day, outcome, clause) DO UPDATE SET n = n + excluded.n,
				at = CASE WHEN excluded.event >= event THEN excluded.at ELSE at END, event = max(event, excluded.event)`,
			k.Workspace, k.Rule, k.day, string(k.outcome), k.clause, r.n, r.event, r.at)
		if err != nil {
			return err
		}
	}
	for k, at := range t.tally.fired {
		_, err := t.exec(`INSERT INTO fired (workspace, rule, at) VALUES (?, ?, ?) ON CONFLICT (workspace, rule) DO UPDATE SET at = excluded.at`, k.Workspace, k.Rule, at)
		if err != nil {
			return err
		}
	}
	return nil
}
