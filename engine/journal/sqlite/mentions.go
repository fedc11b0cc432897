package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

const (
	maxCandidates  = 1000   // lanes with a matching key that a search checks
	maxCountedKeys = 20_000 // keys that are counted to find the rarest prefix
)

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
	err = j.reads.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM mentions WHERE kind = ? AND key >= ? AND key < ? LIMIT ?)`, k.Kind, k.From, k.To, min(most, maxCountedKeys)).Scan(&n)
	return n, err
}

// lanesBy passes the lanes that have one of the keys to a function: first those with a key that
// equals the prefix, the newest first.
func (j *Journal) lanesBy(ctx context.Context, k stored.Keys, found func(journal.Who, journal.Known)) error {
	return j.each(ctx, `SELECT k.workspace, k.lane, k.mentions FROM (
			SELECT * FROM (SELECT known FROM mentions WHERE kind = ?1 AND key = ?2 ORDER BY known DESC LIMIT ?4)
			UNION ALL SELECT * FROM (SELECT known FROM mentions WHERE kind = ?1 AND key > ?2 AND key < ?3 LIMIT ?4) LIMIT ?4) AS found
		CROSS JOIN known k ON k.id = found.known`, []any{k.Kind, k.From, k.To, maxCandidates}, func(rows *sql.Rows) error {
		w, known, err := scanKnown(rows)
		found(w, known)
		return err
	})
}

// Who returns the customers of lanes.
func (j *Journal) Who(ctx context.Context, workspace string, lanes []string) (map[string]journal.Who, error) {
	out := make(map[string]journal.Who, len(lanes))
	keys, err := stored.Text(lanes)
	if err != nil || len(lanes) == 0 {
		return out, err
	}
	j.catchUp(ctx)
	err = j.each(ctx, `SELECT n.workspace, n.lane, n.mentions FROM json_each(?) k CROSS JOIN known n ON n.workspace = ? AND n.lane = k.value`, []any{keys, workspace}, func(rows *sql.Rows) error {
		w, _, err := scanKnown(rows)
		out[w.Lane] = w
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("who: %w", err)
	}
	return out, nil
}

// scanKnown reads the mentions of a lane.
func scanKnown(rows *sql.Rows) (journal.Who, journal.Known, error) {
	var workspace, lane string
	var mentions *string
	if err := rows.Scan(&workspace, &lane, &mentions); err != nil {
		return journal.Who{}, nil, err
	}
	var known journal.Known
	err := stored.Decode(mentions, &known)
	return known.Who(workspace, lane), known, err
}
