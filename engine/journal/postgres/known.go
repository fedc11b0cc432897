package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// laneMentions are the mentions of a lane before and after a change.
type laneMentions struct {
	id            int64 // 0 if the lane has no mentions yet
	before, after journal.Known
}

// addMentions adds the mentions of events to those of their lanes.
func addMentions(ctx context.Context, t pgx.Tx, list []eventMentions) error {
	if len(list) == 0 {
		return nil
	}
	lanes := map[ledger.LaneKey]*laneMentions{}
	for _, m := range list {
		lanes[m.LaneKey] = &laneMentions{}
	}
	workspaces, names := laneColumns(lanes)
	rows, err := t.Query(ctx, `SELECT n.id, n.workspace, n.lane, n.mentions FROM unnest($1::text[], $2::text[]) k (w, l) JOIN quando.known n ON n.workspace = k.w AND n.lane = k.l`, workspaces, names)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		var id int64
		who, known, err := scanKnown(rows, &id)
		lanes[ledger.LaneKey{Workspace: who.Workspace, Lane: who.Lane}] = &laneMentions{id, known, known}
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range list {
		k := lanes[m.LaneKey]
		k.after = k.after.With(m.list, m.day)
	}
	if err := insertLanes(ctx, t, lanes); err != nil {
		return err
	}
	changes := make([]*laneMentions, 0, len(lanes))
	for _, k := range lanes {
		changes = append(changes, k)
	}
	return replaceMentions(ctx, t, changes)
}

// insertLanes inserts lanes that have no mentions yet, so that they have an id.
func insertLanes(ctx context.Context, t pgx.Tx, lanes map[ledger.LaneKey]*laneMentions) error {
	fresh := map[ledger.LaneKey]bool{}
	for key, k := range lanes {
		if k.id == 0 {
			fresh[key] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	workspaces, names := laneColumns(fresh)
	rows, err := t.Query(ctx, `INSERT INTO quando.known (id, workspace, lane, mentions) SELECT nextval('quando.known_id'), k.w, k.l, '{}' FROM unnest($1::text[], $2::text[]) k (w, l) RETURNING id, workspace, lane`, workspaces, names)
	return scanAll(rows, err, func(rows pgx.Rows) error {
		var id int64
		var key ledger.LaneKey
		err := rows.Scan(&id, text{&key.Workspace}, text{&key.Lane})
		lanes[key].id = id
		return err
	})
}

// keyRows are rows of index keys.
type keyRows struct {
	kinds, keys texts
	known       []int64
}

// add adds the keys that are in one set and not in the other.
func (r *keyRows) add(id int64, in, notIn map[journal.MentionKey]bool) {
	for key := range in {
		if !notIn[key] {
			r.kinds.add(string(key.Kind))
			r.keys.add(key.Key)
			r.known = append(r.known, id)
		}
	}
}

// replaceMentions replaces the mentions of lanes, and deletes lanes without mentions.
func replaceMentions(ctx context.Context, t pgx.Tx, changes []*laneMentions) error {
	var ids, forgotten []int64
	var mentions []string
	var lost, found keyRows
	for _, k := range changes {
		if k.before.Equal(k.after) {
			continue
		}
		if len(k.after) == 0 {
			forgotten = append(forgotten, k.id)
		} else {
			after, err := stored.Text(k.after)
			if err != nil {
				return err
			}
			ids, mentions = append(ids, k.id), append(mentions, after)
		}
		before, after := k.before.Keys(), k.after.Keys()
		lost.add(k.id, before, after)
		found.add(k.id, after, before)
	}
	b := &pgx.Batch{}
	if len(ids) > 0 {
		b.Queue(`UPDATE quando.known n SET mentions = k.m FROM unnest($1::bigint[], $2::text[]) k (id, m) WHERE n.id = k.id`, ids, mentions)
	}
	if len(forgotten) > 0 {
		b.Queue(`DELETE FROM quando.known WHERE id = ANY($1::bigint[])`, forgotten)
	}
	if len(lost.known) > 0 {
		b.Queue(`DELETE FROM quando.mentions m USING unnest($1::text[], $2::text[], $3::bigint[]) k (kind, key, known) WHERE m.kind = k.kind AND m.key = k.key AND m.known = k.known`, lost.kinds, lost.keys, lost.known)
	}
	if len(found.known) > 0 {
		b.Queue(`INSERT INTO quando.mentions (kind, key, known) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])`, found.kinds, found.keys, found.known)
	}
	if b.Len() == 0 {
		return nil
	}
	return t.SendBatch(ctx, b).Close()
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
	n, last := -1, p.id // less than 0 while another engine has the lock
	err = j.withTryLock(ctx, followLock, func(t pgx.Tx) error {
		n = 0
		var old []*laneMentions
		rows, err := t.Query(ctx, `SELECT id, workspace, lane, mentions FROM quando.known WHERE id > $1 ORDER BY id LIMIT $2`, p.id, pruneSize)
		err = scanAll(rows, err, func(rows pgx.Rows) error {
			n++
			_, known, err := scanKnown(rows, &last)
			if left := known.Since(day); !left.Equal(known) {
				old = append(old, &laneMentions{last, known, left})
			}
			return err
		})
		if err != nil {
			return err
		}
		return replaceMentions(ctx, t, old)
	})
	if err != nil || n < 0 {
		return false, err
	}
	if p.id = last; n < pruneSize {
		p.id = -1
	}
	return n == pruneSize, nil
}
