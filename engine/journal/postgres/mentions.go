package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// mostCandidates bounds how many lanes are looked at that are found by a part of what is looked
// for.
const mostCandidates = 2000

// FindLanes returns the lanes whose events mention what a text may mean.
func (j *Journal) FindLanes(ctx context.Context, text string, limit int) ([]journal.Who, error) {
	j.catchUp(ctx)
	list, err := stored.LaneFinder{Count: j.countKeys, Lanes: j.lanesBy}.Find(ctx, text, limit)
	if err != nil {
		return nil, fmt.Errorf("find lanes: %w", err)
	}
	return list, nil
}

// countKeys returns how many keys there are, up to so many.
func (j *Journal) countKeys(ctx context.Context, k stored.Keys, most int) (n int, err error) {
	err = j.pool.QueryRow(ctx, `SELECT count(*) FROM (SELECT 1 FROM quando.mentions WHERE kind = $1 AND key >= $2 AND key < $3 LIMIT $4) AS found`, k.Kind, k.From, k.To, min(most, mostCandidates)).Scan(&n)
	return n, explain(err)
}

// lanesBy finds lanes by their keys. Those come first that have what is looked for as a whole word,
// the newest first.
func (j *Journal) lanesBy(ctx context.Context, k stored.Keys, found func(journal.Who, journal.Known)) error {
	return j.each(ctx, `SELECT k.Workspace, k.Lane, k.mentions FROM (
			(SELECT known FROM quando.mentions WHERE kind = $1 AND key = $2 ORDER BY known DESC LIMIT $4)
			UNION ALL (SELECT known FROM quando.mentions WHERE kind = $1 AND key > $2 AND key < $3 LIMIT $4) LIMIT $4) AS found
		JOIN quando.known k ON k.id = found.known`, []any{k.Kind, k.From, k.To, mostCandidates}, func(rows pgx.Rows) error {
		w, known, err := scanKnown(rows)
		found(w, known)
		return err
	})
}

// Who returns who lanes are about.
func (j *Journal) Who(ctx context.Context, workspace string, lanes []string) (map[string]journal.Who, error) {
	out := make(map[string]journal.Who, len(lanes))
	if len(lanes) == 0 {
		return out, nil
	}
	j.catchUp(ctx)
	err := j.each(ctx, `SELECT workspace, lane, mentions FROM quando.known WHERE workspace = $1 AND lane = ANY($2::text[])`, []any{keep(workspace), keepAll(lanes)}, func(rows pgx.Rows) error {
		w, _, err := scanKnown(rows)
		out[w.Lane] = w
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("who: %w", err)
	}
	return out, nil
}

// scanKnown reads a lane that is known, after others.
func scanKnown(rows pgx.Rows, before ...any) (journal.Who, journal.Known, error) {
	var workspace, lane string
	var mentions *string
	if err := rows.Scan(append(before, text{&workspace}, text{&lane}, &mentions)...); err != nil {
		return journal.Who{}, nil, err
	}
	var known journal.Known
	err := stored.Decode(mentions, &known)
	return known.Who(workspace, lane), known, err
}
