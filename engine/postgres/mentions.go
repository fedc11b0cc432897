package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/stored"
)

// mostCandidates bounds how many lanes are looked at that are found by a part of what is looked for.
const mostCandidates = 2000

// FindLanes returns the lanes whose events mention what a text may mean.
func (j *Journal) FindLanes(ctx context.Context, text string, limit int) ([]engine.Who, error) {
	j.catchUp(ctx)
	found := map[laneKey]engine.Who{}
	for _, s := range engine.LaneSearches(text) {
		if err := j.findLanes(ctx, s, found); err != nil {
			return nil, fmt.Errorf("find lanes: %w", err)
		}
	}
	list := make([]engine.Who, 0, len(found))
	for _, w := range found {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b engine.Who) int {
		if c := b.Seen.Compare(a.Seen); c != 0 {
			return c
		}
		return strings.Compare(a.Lane+a.Workspace, b.Lane+b.Workspace)
	})
	return list[:min(len(list), limit)], nil
}

// findLanes adds the lanes that fit what is looked for. Those come first that have it as a whole word, the newest first.
func (j *Journal) findLanes(ctx context.Context, s engine.LaneSearch, found map[laneKey]engine.Who) error {
	prefix, err := j.rarest(ctx, s)
	if err != nil {
		return err
	}
	return j.each(ctx, `SELECT k.workspace, k.lane, k.mentions FROM (
			(SELECT known FROM quando.mentions WHERE kind = $1 AND key = $2 ORDER BY known DESC LIMIT $4)
			UNION ALL (SELECT known FROM quando.mentions WHERE kind = $1 AND key > $2 AND key < $3 LIMIT $4) LIMIT $4) AS found
		JOIN quando.known k ON k.id = found.known`, append(span(s.Kind, prefix), mostCandidates), func(rows pgx.Rows) error {
		w, known, err := scanKnown(rows)
		if err == nil && s.Fits(known) {
			found[laneKey{w.Workspace, w.Lane}] = w
		}
		return err
	})
}

// rarest returns the beginning that the fewest keys have.
func (j *Journal) rarest(ctx context.Context, s engine.LaneSearch) (string, error) {
	best, fewest := s.Prefixes[0], mostCandidates
	if len(s.Prefixes) == 1 {
		return best, nil
	}
	for _, prefix := range s.Prefixes {
		var n int
		err := j.pool.QueryRow(ctx, `SELECT count(*) FROM (SELECT 1 FROM quando.mentions WHERE kind = $1 AND key >= $2 AND key < $3 LIMIT $4) AS found`, append(span(s.Kind, prefix), fewest)...).Scan(&n)
		if err != nil {
			return "", explain(err)
		}
		if n < fewest {
			best, fewest = prefix, n
		}
	}
	return best, nil
}

// span is the arguments of a query for the keys of a kind that begin with a text.
func span(kind engine.MentionKind, prefix string) []any {
	return []any{string(kind), prefix, prefix + "\U0010ffff"}
}

// Who returns who lanes are about.
func (j *Journal) Who(ctx context.Context, workspace string, lanes []string) (map[string]engine.Who, error) {
	out := make(map[string]engine.Who, len(lanes))
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
func scanKnown(rows pgx.Rows, before ...any) (engine.Who, engine.Known, error) {
	var workspace, lane string
	var mentions *string
	if err := rows.Scan(append(before, text{&workspace}, text{&lane}, &mentions)...); err != nil {
		return engine.Who{}, nil, err
	}
	var known engine.Known
	err := stored.Decode(mentions, &known)
	return known.Who(workspace, lane), known, err
}
