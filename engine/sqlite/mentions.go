package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// mentionsKept bounds for how many lanes it is remembered that their mentions are recorded.
const mentionsKept = 50_000

// mentioned remembers which mentions of a lane are recorded, so that the same ones are not written with every event.
type mentioned struct {
	mu    sync.Mutex
	seed  maphash.Seed
	lanes map[string]uint64
}

// A mentioning is what an event's mentions are as rows.
type mentioning struct {
	lane string // with the workspace
	sum  uint64
	day  int64
	rows []mentionRow
}

type mentionRow struct{ kind, key, shown string }

// of returns the mentions of an event that are not recorded yet; none where all are.
func (m *mentioned) of(e rules.Event) (out mentioning) {
	list := engine.Mentions(e.Data)
	if len(list) == 0 {
		return out
	}
	out.lane, out.day = e.Workspace+"\x00"+e.Lane, micros(e.ReceivedAt)/aDay
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lanes == nil {
		m.seed, m.lanes = maphash.MakeSeed(), map[string]uint64{}
	}
	out.sum = maphash.Comparable(m.seed, out.day)
	for _, one := range list {
		out.sum = out.sum*31 + maphash.Comparable(m.seed, one)
	}
	if m.lanes[out.lane] == out.sum {
		return out
	}
	for _, one := range list {
		for _, key := range one.Keys() {
			out.rows = append(out.rows, mentionRow{string(one.Kind), key, one.Text})
		}
	}
	return out
}

// recorded notes that mentions are on disk.
func (m *mentioned) recorded(list []mentioning) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range list {
		if len(one.rows) == 0 {
			continue
		}
		if len(m.lanes) >= mentionsKept {
			clear(m.lanes)
		}
		m.lanes[one.lane] = one.sum
	}
}

func (t *tx) mention(e rules.Event, m mentioning) error {
	for _, r := range m.rows {
		_, err := t.exec(`INSERT INTO mentions (workspace, lane, kind, key, shown, day) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace, lane, kind, key) DO UPDATE SET shown = excluded.shown, day = max(day, excluded.day)`, e.Workspace, e.Lane, r.kind, r.key, r.shown, m.day)
		if err != nil {
			return err
		}
	}
	return nil
}

// mostCandidates bounds how many mentions that begin with what is looked for are looked at.
const mostCandidates = 2000

// FindLanes returns the lanes whose events mention what a text may mean.
func (j *Journal) FindLanes(ctx context.Context, text string, limit int) ([]engine.Who, error) {
	type place struct{ workspace, lane string }
	seen := map[place]int64{}
	for _, s := range engine.LaneSearches(text) {
		err := j.each(ctx, `SELECT workspace, lane, shown, day FROM mentions INDEXED BY mentions_key WHERE kind = ? AND key >= ? AND key < ? LIMIT ?`,
			[]any{string(s.Kind), s.Prefix, s.Prefix + "\U0010ffff", mostCandidates}, func(rows *sql.Rows) error {
				var p place
				var shown string
				var day int64
				if err := rows.Scan(&p.workspace, &p.lane, &shown, &day); err != nil {
					return err
				}
				if s.Fits(shown) {
					seen[p] = max(seen[p], day)
				}
				return nil
			})
		if err != nil {
			return nil, fmt.Errorf("find lanes: %w", err)
		}
	}
	found := make([]place, 0, len(seen))
	for p := range seen {
		found = append(found, p)
	}
	slices.SortFunc(found, func(a, b place) int {
		switch {
		case seen[a] != seen[b]:
			return int(seen[b] - seen[a])
		case a.lane < b.lane:
			return -1
		}
		return 1
	})
	var out []engine.Who
	for _, p := range found[:min(len(found), limit)] {
		who, err := j.Who(ctx, p.workspace, []string{p.lane})
		if err != nil {
			return nil, err
		}
		out = append(out, who[p.lane])
	}
	return out, nil
}

// Who returns who lanes are about.
func (j *Journal) Who(ctx context.Context, workspace string, lanes []string) (map[string]engine.Who, error) {
	out := make(map[string]engine.Who, len(lanes))
	keys, err := text(lanes)
	if err != nil || len(lanes) == 0 {
		return out, err
	}
	err = j.each(ctx, `SELECT m.lane, m.kind, m.shown, m.day FROM json_each(?) k CROSS JOIN mentions m ON m.workspace = ? AND m.lane = k.value ORDER BY m.day`,
		[]any{keys, workspace}, func(rows *sql.Rows) error {
			var lane, kind, shown string
			var day int64
			if err := rows.Scan(&lane, &kind, &shown, &day); err != nil {
				return err
			}
			w := out[lane]
			w.Workspace, w.Lane, w.Seen = workspace, lane, moment(day*aDay)
			switch engine.MentionKind(kind) {
			case engine.MentionName:
				w.Name = shown
			case engine.MentionPhone:
				w.Phone = shown
			case engine.MentionProtocol:
				w.Protocol = shown
			}
			out[lane] = w
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("who: %w", err)
	}
	return out, nil
}
