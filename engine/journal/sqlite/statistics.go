package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// ruleCounts are the counts of one rule. The index begins with the period, so each period is looked
// up: a range of periods would read the counts of every rule.
const ruleCounts = `(WITH RECURSIVE periods (period) AS (
		SELECT max(?1, (SELECT min(hour) FROM rule_counts)) UNION ALL SELECT period + ?5 FROM periods WHERE period < (SELECT max(hour) FROM rule_counts)
	) SELECT c.* FROM periods CROSS JOIN rule_counts c ON c.hour = period AND c.workspace = ?3 AND c.rule = ?4)`

// Counts returns counts.
func (j *Journal) Counts(ctx context.Context, f journal.CountFilter) ([]journal.Count, error) {
	first, every := stored.Micros(f.Since)/ledger.AnHour, max(int64(f.Every/time.Hour), 1)
	rule, table, args := `''`, `counts WHERE hour >= ?1`, []any{first, every}
	if f.Rules {
		first, every = first/ledger.RuleHours*ledger.RuleHours, max(every/ledger.RuleHours, 1)*ledger.RuleHours
		rule, table, args = `rule`, `rule_counts WHERE hour >= ?1`, []any{first, every}
	}
	if f.Rules && f.Rule != (journal.RuleName{}) {
		table, args = ruleCounts, append(args, f.Rule.Workspace, f.Rule.Rule, ledger.RuleHours)
	}
	var counts []journal.Count
	err := j.each(ctx, `SELECT (hour - ?1) / ?2, workspace, `+rule+`, what, detail, sum(n) FROM `+table+` GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`, args, func(rows *sql.Rows) error {
		var c journal.Count
		var period int64
		err := rows.Scan(&period, &c.Workspace, &c.Rule, &c.What, &c.Detail, &c.N)
		c.From = time.UnixMicro((first + period*every) * ledger.AnHour).UTC()
		counts = append(counts, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("counts: %w", err)
	}
	return counts, nil
}

// LastFired returns when each rule last fired.
func (j *Journal) LastFired(ctx context.Context) (map[journal.RuleName]time.Time, error) {
	fired := map[journal.RuleName]time.Time{}
	err := j.each(ctx, `SELECT workspace, rule, at FROM fired`, nil, func(rows *sql.Rows) error {
		var r journal.RuleName
		var at int64
		err := rows.Scan(&r.Workspace, &r.Rule, &at)
		fired[r] = stored.Moment(at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("last fired: %w", err)
	}
	return fired, nil
}

// Reasons returns why a rule did not fire.
func (j *Journal) Reasons(ctx context.Context, workspace, rule string, since time.Time) ([]journal.Reason, error) {
	var reasons []journal.Reason
	err := j.each(ctx, `SELECT outcome, clause, sum(n), max(event), at FROM reasons WHERE workspace = ? AND rule = ? AND day >= ? GROUP BY outcome, clause ORDER BY 3 DESC, 1, 2`,
		[]any{workspace, rule, stored.Micros(since) / ledger.ADay}, func(rows *sql.Rows) error {
			var r journal.Reason
			var at int64
			err := rows.Scan(&r.Outcome, &r.Clause, &r.N, &r.Event, &at)
			r.At = stored.Moment(at)
			reasons = append(reasons, r)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("reasons: %w", err)
	}
	return reasons, nil
}

// Extent returns how much the journal holds.
func (j *Journal) Extent(ctx context.Context) (e journal.Extent, err error) {
	var oldest int64
	err = j.reads.QueryRowContext(ctx, `SELECT (SELECT coalesce(max(seq), 0) FROM events) - (SELECT coalesce(min(seq), 1) FROM events) + 1,
		(SELECT coalesce(max(id), 0) FROM runs) - (SELECT coalesce(min(id), 1) FROM runs) + 1,
		(SELECT coalesce(min(received_at), 0) FROM events INDEXED BY events_full WHERE data IS NOT NULL)`).Scan(&e.Events, &e.Runs, &oldest)
	if err != nil {
		return e, fmt.Errorf("extent: %w", err)
	}
	e.Oldest = stored.Moment(oldest)
	for _, part := range []string{"", "-wal"} {
		if info, err := os.Stat(j.file + part); err == nil {
			e.Bytes += info.Size()
		}
	}
	return e, nil
}
