package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// maxCandidates bounds how many lanes with a matching key a search checks.
const maxCandidates = 2000

// FindLanes returns the lanes that match a search text.
func (j *Journal) FindLanes(ctx context.Context, text string, limit int) ([]journal.Who, error) {
	j.catchUp(ctx)
	list, err := stored.LaneFinder{Count: j.countKeys, Lanes: j.lanesBy}.Find(ctx, text, limit)
	if err != nil {
		return nil, fmt.Errorf("find lanes: %w", err)
	}
	return list, nil
}

// countKeys counts keys, up to a maximum.
func (j *Journal) countKeys(ctx context.Context, k stored.Keys, most int) (n int, err error) {
	err = j.pool.QueryRow(ctx, `SELECT count(*) FROM (SELECT 1 FROM quando.mentions WHERE kind = $1 AND key >= $2 AND key < $3 LIMIT $4) AS found`, k.Kind, k.From, k.To, min(most, maxCandidates)).Scan(&n)
	return n, explain(err)
}

// lanesBy passes the lanes that have one of the keys to a function: first those with a key that
// equals the prefix, the newest first.
func (j *Journal) lanesBy(ctx context.Context, k stored.Keys, found func(journal.Who, journal.Known)) error {
	return j.each(ctx, `SELECT k.Workspace, k.Lane, k.mentions FROM (
			(SELECT known FROM quando.mentions WHERE kind = $1 AND key = $2 ORDER BY known DESC LIMIT $4)
			UNION ALL (SELECT known FROM quando.mentions WHERE kind = $1 AND key > $2 AND key < $3 LIMIT $4) LIMIT $4) AS found
		JOIN quando.known k ON k.id = found.known`, []any{k.Kind, k.From, k.To, maxCandidates}, func(rows pgx.Rows) error {
		w, known, err := scanKnown(rows)
		found(w, known)
		return err
	})
}

// Who returns the customers of lanes.
func (j *Journal) Who(ctx context.Context, workspace string, lanes []string) (map[string]journal.Who, error) {
	out := make(map[string]journal.Who, len(lanes))
	if len(lanes) == 0 {
		return out, nil
	}
	j.catchUp(ctx)
	err := j.each(ctx, `SELECT workspace, lane, mentions FROM quando.known WHERE workspace = $1 AND lane = ANY($2::text[])`, []any{encodeText(workspace), encodeTexts(lanes)}, func(rows pgx.Rows) error {
		w, _, err := scanKnown(rows)
		out[w.Lane] = w
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("who: %w", err)
	}
	return out, nil
}

// scanKnown scans the mentions of a lane, after others.
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
