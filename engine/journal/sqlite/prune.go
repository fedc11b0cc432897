package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

const pruneSize = 500 // rows that one transaction reads

// pruneProgress is how far Prune has scanned: it passes rows that must stay only once. Only the
// writer's goroutine uses it.
type pruneProgress struct {
	runs, events position
	slots        slotPosition
}

// A position is the last scanned row in the order of a time.
type position struct{ at, id int64 }

// A slotPosition is the last scanned slot; each day scans all slots once.
type slotPosition struct {
	day, n         int64
	workspace, key string
	done           bool
}

// Prune deletes what is older than keep; nothing if keep is 0. It returns after the first kind of
// rows of which there may be more.
func (j *Journal) Prune(ctx context.Context, now time.Time, keep time.Duration) (bool, error) {
	if j.attached {
		return false, errAttached
	}
	if keep <= 0 {
		return false, nil
	}
	old, older := stored.Micros(now.Add(-keep)), stored.Micros(now.Add(-keep-stored.IDRetention))
	for _, step := range []func(context.Context) (bool, error){
		func(ctx context.Context) (bool, error) { return j.pruneRuns(ctx, old) },
		func(ctx context.Context) (bool, error) { return j.pruneContents(ctx, old) },
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM events WHERE seq IN (SELECT seq FROM events INDEXED BY events_gone WHERE data IS NULL AND received_at < ? LIMIT ?)`, older)
		},
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM caused WHERE at < ? AND id IN (SELECT id FROM caused ORDER BY id LIMIT ?)`, older)
		},
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM found WHERE seq IN (SELECT seq FROM found INDEXED BY found_at WHERE at < ? LIMIT ?)`, older)
		},
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM seen WHERE (workspace, kind, id) IN (SELECT workspace, kind, id FROM seen INDEXED BY seen_at WHERE at < ? LIMIT ?)`, older)
		},
		func(ctx context.Context) (bool, error) { return j.pruneSlots(ctx, now) },
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM mutes WHERE (workspace, lane) IN (SELECT workspace, lane FROM mutes INDEXED BY mutes_until WHERE until > 0 AND until < ? LIMIT ?)`, old)
		},
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM counts WHERE (hour, workspace, what, detail) IN (SELECT hour, workspace, what, detail FROM counts WHERE hour < ? LIMIT ?)`, old/ledger.AnHour)
		},
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM rule_counts WHERE (hour, workspace, rule, what, detail) IN (SELECT hour, workspace, rule, what, detail FROM rule_counts WHERE hour < ? LIMIT ?)`, old/ledger.AnHour)
		},
		func(ctx context.Context) (bool, error) {
			return j.pruneRows(ctx, `DELETE FROM reasons WHERE (workspace, rule, day, outcome, clause) IN (SELECT workspace, rule, day, outcome, clause FROM reasons INDEXED BY reasons_day WHERE day < ? LIMIT ?)`, old/ledger.ADay)
		},
		func(ctx context.Context) (bool, error) { return j.pruneKnown(ctx, old/ledger.ADay) },
		j.pruneVersions,
	} {
		more, err := step(ctx)
		if err != nil {
			return false, fmt.Errorf("prune: %w", err)
		}
		if more {
			return true, nil
		}
	}
	return false, nil
}

// pruneRows runs a statement that deletes up to pruneSize rows older than a time.
func (j *Journal) pruneRows(ctx context.Context, query string, old int64) (bool, error) {
	n := 0
	err := j.writer.write(ctx, directOperation(pruneSize, func(t *tx) (err error) {
		n, err = t.execCount(query, old, pruneSize)
		return err
	}, nil))
	return n == pruneSize, err
}

// pruneRuns deletes finished runs with their steps. A run with a request stays until the request is
// answered. No run ends before it starts, so runs that started later need not be read.
func (j *Journal) pruneRuns(ctx context.Context, old int64) (more bool, err error) {
	var next position
	err = j.writer.write(ctx, directOperation(pruneSize, func(t *tx) error {
		var ids []int64
		n := 0
		next = j.prune.runs
		err := t.each(`SELECT started_at, id, finished = 1 AND finished_at < ?1 AND asked IS NULL FROM runs INDEXED BY runs_started
			WHERE started_at < ?1 AND started_at >= ?2 AND (started_at > ?2 OR id > ?3) ORDER BY started_at, id LIMIT ?4`,
			[]any{old, next.at, next.id, pruneSize}, func(rows *sql.Rows) error {
				var over bool
				err := rows.Scan(&next.at, &next.id, &over)
				if n++; over {
					ids = append(ids, next.id)
				}
				return err
			})
		if more = n == pruneSize; err != nil || len(ids) == 0 {
			return err
		}
		keys, err := stored.Text(ids)
		if err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM steps WHERE run IN (SELECT value FROM json_each(?))`, keys); err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?))`, keys)
		return err
	}, func() {
		if j.prune.runs = next; !more {
			j.prune.runs = position{}
		}
	}))
	return more, err
}

// pruneContents deletes the data and the verdicts of events, except of those that are undecided,
// being gathered, or needed by an unfinished run.
func (j *Journal) pruneContents(ctx context.Context, old int64) (more bool, err error) {
	var next position
	err = j.writer.write(ctx, directOperation(pruneSize, func(t *tx) error {
		var seqs []int64
		next = j.prune.events
		err := t.each(`SELECT received_at, seq FROM events INDEXED BY events_full WHERE data IS NOT NULL AND received_at < ?1 AND received_at >= ?2 AND (received_at > ?2 OR seq > ?3)
			ORDER BY received_at, seq LIMIT ?4`, []any{old, next.at, next.id, pruneSize}, func(rows *sql.Rows) error {
			err := rows.Scan(&next.at, &next.id)
			seqs = append(seqs, next.id)
			return err
		})
		if more = len(seqs) == pruneSize; err != nil || len(seqs) == 0 {
			return err
		}
		keys, err := stored.Text(seqs)
		if err != nil {
			return err
		}
		return t.clearContents(keys)
	}, func() {
		if j.prune.events = next; !more {
			j.prune.events = position{}
		}
	}))
	return more, err
}

// clearContents removes everything but the ids of those events that need no content. It deletes the
// rows and inserts them again: the new rows are small and share pages, so that the pages of the old
// contents become free.
func (t *tx) clearContents(keys string) error {
	var seqs []int64
	var rows [][]any
	err := t.each(`SELECT seq, workspace, id, type, rule, tenant, lane, created_at, received_at FROM events WHERE seq IN (SELECT value FROM json_each(?)) AND decided = 1
		AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_event WHERE event = events.seq AND finished = 0)
		AND seq NOT IN (SELECT g.value FROM runs r INDEXED BY runs_gathered, json_each(r.gathered) g WHERE r.finished = 0 AND r.gathered IS NOT NULL)
		AND seq NOT IN (SELECT e.value FROM gathers g, json_each(g.events) e)`, []any{keys}, func(found *sql.Rows) error {
		var seq, created, received int64
		var texts [6]string
		err := found.Scan(&seq, &texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5], &created, &received)
		seqs = append(seqs, seq)
		rows = append(rows, []any{seq, texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], created, received})
		return err
	})
	if err != nil || len(seqs) == 0 {
		return err
	}
	if keys, err = stored.Text(seqs); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM events WHERE seq IN (SELECT value FROM json_each(?))`, keys); err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := t.exec(`INSERT INTO events (seq, workspace, id, type, rule, tenant, lane, created_at, received_at, decided) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`, row...); err != nil {
			return err
		}
	}
	return nil
}

// pruneSlots deletes slots whose windows have been over for long. It scans all slots once a day, so
// no index by time is needed.
func (j *Journal) pruneSlots(ctx context.Context, now time.Time) (more bool, err error) {
	over, day := stored.Micros(now.Add(-stored.SlotRetention)), stored.Micros(now)/ledger.ADay
	var next slotPosition
	err = j.writer.write(ctx, directOperation(pruneSize, func(t *tx) error {
		if next = j.prune.slots; next.day != day {
			next = slotPosition{day: day}
		}
		if next.done {
			return nil
		}
		var old []slotPosition
		n := 0
		err := t.each(`SELECT workspace, key, n, over < ? FROM slots WHERE (workspace, key, n) > (?, ?, ?) ORDER BY workspace, key, n LIMIT ?`,
			[]any{over, next.workspace, next.key, next.n, pruneSize}, func(rows *sql.Rows) error {
				var over bool
				err := rows.Scan(&next.workspace, &next.key, &next.n, &over)
				if n++; over {
					old = append(old, next)
				}
				return err
			})
		more, next.done = n == pruneSize, n < pruneSize
		for _, s := range old {
			if err != nil {
				break
			}
			_, err = t.exec(`DELETE FROM slots WHERE workspace = ? AND key = ? AND n = ?`, s.workspace, s.key, s.n)
		}
		return err
	}, func() { j.prune.slots = next }))
	return more, err
}

// pruneKnown deletes mentions that are older than a day. It scans all lanes once a day, so no index
// by day is needed.
func (j *Journal) pruneKnown(ctx context.Context, day int64) (more bool, err error) {
	release, err := j.follower.mu.Take(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	p := &j.follower.pruned
	if p.day != day {
		p.day, p.id = day, 0
	}
	if p.id < 0 {
		return false, nil
	}
	n, last := 0, int64(0)
	var old []outdatedLane
	err = j.each(ctx, `SELECT id, mentions FROM known WHERE id > ? ORDER BY id LIMIT ?`, []any{p.id, pruneSize}, func(rows *sql.Rows) error {
		var o outdatedLane
		var mentions *string
		err := rows.Scan(&o.id, &mentions)
		if err == nil {
			err = stored.Decode(mentions, &o.known)
		}
		n, last = n+1, o.id
		if o.left = o.known.Since(day); !o.left.Equal(o.known) {
			old = append(old, o)
		}
		return err
	})
	if err == nil && len(old) > 0 {
		err = j.writer.write(ctx, directOperation(len(old), func(t *tx) error { return t.forgetMentions(old) }, nil))
	}
	if err != nil {
		return false, err
	}
	if p.id = last; n < pruneSize {
		p.id = -1
	}
	return n == pruneSize, nil
}

// An outdatedLane is a lane with old mentions.
type outdatedLane struct {
	id          int64
	known, left journal.Known
}

// forgetMentions removes the old mentions of lanes.
func (t *tx) forgetMentions(lanes []outdatedLane) error {
	for _, o := range lanes {
		if err := t.replaceMentions(o.id, o.known, o.left); err != nil {
			return err
		}
	}
	return nil
}

// pruneVersions deletes the sources of rules that no run has. Versions that have started runs since
// the journal was opened stay, because another run may be about to start. The query is outside of
// the transaction: it can miss only a run that is starting.
func (j *Journal) pruneVersions(ctx context.Context) (bool, error) {
	unused := []string{}
	err := j.each(ctx, `SELECT hash FROM rule_versions v WHERE NOT EXISTS (SELECT 1 FROM runs r INDEXED BY runs_rule WHERE r.rule = v.rule AND r.version = v.hash)`, nil, func(rows *sql.Rows) error {
		var hash string
		err := rows.Scan(&hash)
		unused = append(unused, hash)
		return err
	})
	if err != nil || len(unused) == 0 {
		return false, err
	}
	return false, j.writer.write(ctx, directOperation(1, func(t *tx) error {
		for _, hash := range unused {
			if t.w.versions[hash] {
				continue
			}
			if _, err := t.exec(`DELETE FROM rule_versions WHERE hash = ?`, hash); err != nil {
				return err
			}
		}
		return nil
	}, nil))
}
