package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

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

// findLanes adds the lanes that fit what is looked for.
func (j *Journal) findLanes(ctx context.Context, s engine.LaneSearch, found map[laneKey]engine.Who) error {
	prefix, err := j.rarest(ctx, s)
	if err != nil {
		return err
	}
	return j.each(ctx, `SELECT k.workspace, k.lane, k.mentions FROM (SELECT known FROM mentions WHERE kind = ? AND key >= ? AND key < ? ORDER BY key DESC, known DESC LIMIT ?) AS found
		CROSS JOIN known k ON k.id = found.known`, append(span(s.Kind, prefix), mostCandidates), func(rows *sql.Rows) error {
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
		err := j.reads.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM mentions WHERE kind = ? AND key >= ? AND key < ? LIMIT ?)`, append(span(s.Kind, prefix), fewest)...).Scan(&n)
		if err != nil {
			return "", err
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

// scanKnown reads a lane that is known.
func scanKnown(rows *sql.Rows) (engine.Who, engine.Known, error) {
	var workspace, lane string
	var mentions *string
	if err := rows.Scan(&workspace, &lane, &mentions); err != nil {
		return engine.Who{}, nil, err
	}
	var known engine.Known
	err := stored.Decode(mentions, &known)
	return known.Who(workspace, lane), known, err
}
