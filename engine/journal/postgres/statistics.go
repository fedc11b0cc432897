package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// ruleCounts are the counts of one rule. The index begins with the period, so each period is looked
// up: a range of periods would read the counts of every rule.
const ruleCounts = `(SELECT c.* FROM generate_series(greatest($1::bigint, (SELECT min(hour) FROM quando.rule_counts)), (SELECT max(hour) FROM quando.rule_counts), $5::bigint) AS period,
		LATERAL (SELECT * FROM quando.rule_counts r WHERE r.hour = period AND r.workspace = $3 AND r.rule = $4) c) AS counted`

// Counts returns counts.
func (j *Journal) Counts(ctx context.Context, f journal.CountFilter) ([]journal.Count, error) {
	first, every := stored.Micros(f.Since)/ledger.AnHour, max(int64(f.Every/time.Hour), 1)
	rule, table, args := `''`, `quando.counts WHERE hour >= $1`, []any{first, every}
	if f.Rules {
		first, every = first/ledger.RuleHours*ledger.RuleHours, max(every/ledger.RuleHours, 1)*ledger.RuleHours
		rule, table, args = `rule`, `quando.rule_counts WHERE hour >= $1`, []any{first, every}
	}
	if f.Rules && f.Rule != (journal.RuleName{}) {
		table, args = ruleCounts, append(args, encodeText(f.Rule.Workspace), encodeText(f.Rule.Rule), ledger.RuleHours)
	}
	var counts []journal.Count
	err := j.each(ctx, `SELECT (hour - $1) / $2, workspace, `+rule+`, what, detail, sum(n)::bigint FROM `+table+` GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`, args, func(rows pgx.Rows) error {
		var c journal.Count
		var period int64
		err := rows.Scan(&period, text{&c.Workspace}, text{&c.Rule}, &c.What, text{&c.Detail}, &c.N)
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
	err := j.each(ctx, `SELECT workspace, rule, max(at) FROM quando.fired GROUP BY workspace, rule`, nil, func(rows pgx.Rows) error {
		var r journal.RuleName
		var at int64
		err := rows.Scan(text{&r.Workspace}, text{&r.Rule}, &at)
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
	err := j.each(ctx, `SELECT outcome, clause, sum(n)::bigint, max(event), (array_agg(at ORDER BY event DESC))[1] FROM quando.reasons WHERE workspace = $1 AND rule = $2 AND day >= $3
		GROUP BY outcome, clause ORDER BY 3 DESC, 1, 2`, []any{encodeText(workspace), encodeText(rule), stored.Micros(since) / ledger.ADay}, func(rows pgx.Rows) error {
		var r journal.Reason
		var at int64
		err := rows.Scan(&r.Outcome, text{&r.Clause}, &r.N, &r.Event, &at)
		r.At = stored.Moment(at)
		reasons = append(reasons, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reasons: %w", err)
	}
	return reasons, nil
}

// Extent returns how much the journal holds. It includes skipped numbers, such as those of
// duplicate events.
func (j *Journal) Extent(ctx context.Context) (e journal.Extent, err error) {
	var oldest int64
	err = j.pool.QueryRow(ctx, `SELECT (SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM quando.events), (SELECT coalesce(max(id) - min(id) + 1, 0) FROM quando.runs),
		(SELECT coalesce(min(received_at), 0) FROM quando.events WHERE data IS NOT NULL),
		(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relnamespace = 'quando'::regnamespace AND c.relkind = 'r')`).Scan(&e.Events, &e.Runs, &oldest, &e.Bytes)
	if err != nil {
		return e, fmt.Errorf("extent: %w", explain(err))
	}
	e.Oldest = stored.Moment(oldest)
	return e, nil
}
