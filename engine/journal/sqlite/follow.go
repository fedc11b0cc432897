package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules/plain"
)

const (
	followSize       = 16          // events of one transaction: other writers wait as long, up to 0.1 ms per event
	followShare      = 30          // while others write, Follow waits so many times as long as it works
	maxFollowWait    = time.Second // the maximum of that wait
	followSaveEvery  = 1000        // events after which the cursor is saved even if nothing else is
	followsPerSearch = 64          // batches that a search follows before it looks
	maxCachedLanes   = 50_000      // lanes whose mentions are cached
	followCursor     = "mentions"  // its value is the number of the last indexed event
)

// A follower is the progress of indexing the mentions of events.
type follower struct {
	lastDuration atomic.Int64 // how long the last batch took, in nanoseconds

	mu          stored.Turn // guards the fields below
	cursor      int64       // the last indexed event; less than 0 if it is to be read
	savedCursor int64       // the cursor on disk
	seed        maphash.Seed
	lanes       map[ledger.LaneKey]mentionHashes
	pruned      struct{ day, id int64 } // how far Prune has looked for old mentions; an id less than 0 is to the end
}

// mentionHashes are hashes of the recorded mentions of a lane, by kind, so that the same mentions
// are written once a day and not with every event. The hash of a kind that an event does not
// mention is 0.
type mentionHashes struct{ name, phone, protocol uint64 }

// hashInput is a mention on a day, after others of its kind.
type hashInput struct {
	before uint64
	day    int64
	text   string
}

// eventMentions are the mentions of an event.
type eventMentions struct {
	ledger.LaneKey
	day  int64
	list []journal.Mention
}

func newFollower() *follower {
	return &follower{mu: make(stored.Turn, 1), cursor: -1, seed: maphash.MakeSeed(), lanes: map[ledger.LaneKey]mentionHashes{}}
}

// Follow indexes the mentions of events. While others write it first waits, so that it takes only a
// small share of the writer's time.
func (j *Journal) Follow(ctx context.Context) (more bool, err error) {
	j.writer.AwaitIdle(ctx, min(followShare*time.Duration(j.follower.lastDuration.Load()), maxFollowWait))
	if more, err = j.follow(ctx); err != nil {
		return false, fmt.Errorf("follow: %w", err)
	}
	return more, nil
}

// catchUp follows a few batches before a search.
func (j *Journal) catchUp(ctx context.Context) { stored.CatchUp(ctx, followsPerSearch, j.follow) }

// follow indexes the mentions of the next events. The cursor moves in the same transaction. If the
// events add nothing the cursor may stay behind on disk: to index them again adds nothing either.
func (j *Journal) follow(ctx context.Context) (more bool, err error) {
	if j.attached {
		return false, errAttached
	}
	f := j.follower
	release, err := f.mu.Take(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	if err := j.loadCursor(ctx); err != nil {
		return false, err
	}
	began := time.Now()
	last, n, added, err := j.readMentions(ctx)
	if err != nil || n == 0 {
		return false, err
	}
	f.lastDuration.Store(int64(time.Since(began)))
	if len(added) > 0 || last-f.savedCursor >= followSaveEvery {
		err := j.writer.write(ctx, directOperation(len(added), func(t *tx) error {
			began := time.Now()
			defer func() { f.lastDuration.Add(int64(time.Since(began))) }()
			return t.recordMentions(added, last)
		}, func() { f.savedCursor = last }))
		if err != nil {
			return false, err
		}
	}
	f.cursor = last
	for _, m := range added {
		f.cache(m)
	}
	return n == followSize, nil
}

// loadCursor reads the cursor if it is not known.
func (j *Journal) loadCursor(ctx context.Context) error {
	f := j.follower
	if f.cursor >= 0 {
		return nil
	}
	value, err := j.Cursor(ctx, followCursor)
	if err != nil {
		return err
	}
	f.savedCursor, _ = strconv.ParseInt(value, 10, 64) // no cursor is the beginning
	f.cursor = f.savedCursor
	return nil
}

// readMentions reads the next events: the number of the last one, how many there are, and the
// mentions that are not recorded yet.
func (j *Journal) readMentions(ctx context.Context) (last int64, n int, added []eventMentions, err error) {
	f := j.follower
	ahead := map[ledger.LaneKey]mentionHashes{} // the hashes after the events before
	err = j.each(ctx, `SELECT seq, workspace, lane, received_at, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?`, []any{f.cursor, followSize}, func(rows *sql.Rows) error {
		var m eventMentions
		var received int64
		var data *string
		if err := rows.Scan(&last, &m.Workspace, &m.Lane, &received, &data); err != nil {
			return err
		}
		n++
		if data == nil {
			return nil
		}
		content, err := plain.DecodeObject(*data)
		if err != nil {
			return nil // an event that cannot be decoded must not block those after it
		}
		if m.list = journal.Mentions(content); len(m.list) == 0 {
			return nil
		}
		m.day = received / ledger.ADay
		known, ok := ahead[m.LaneKey]
		if !ok {
			known = f.lanes[m.LaneKey]
		}
		if next := known.with(f.hashesOf(m)); next != known {
			ahead[m.LaneKey] = next
			added = append(added, m)
		}
		return nil
	})
	return last, n, added, err
}

// hashesOf returns the hashes of an event's mentions.
func (f *follower) hashesOf(m eventMentions) (s mentionHashes) {
	for _, one := range m.list {
		sum := &s.name
		switch one.Kind {
		case journal.MentionPhone:
			sum = &s.phone
		case journal.MentionProtocol:
			sum = &s.protocol
		}
		*sum = maphash.Comparable(f.seed, hashInput{*sum, m.day, one.Text}) | 1
	}
	return s
}

// with returns the hashes of a lane after another event.
func (s mentionHashes) with(next mentionHashes) mentionHashes {
	if next.name == 0 {
		next.name = s.name
	}
	if next.phone == 0 {
		next.phone = s.phone
	}
	if next.protocol == 0 {
		next.protocol = s.protocol
	}
	return next
}

// cache caches the hashes of mentions that are recorded.
func (f *follower) cache(m eventMentions) {
	if len(f.lanes) >= maxCachedLanes {
		clear(f.lanes)
	}
	f.lanes[m.LaneKey] = f.lanes[m.LaneKey].with(f.hashesOf(m))
}

// recordMentions records mentions and moves the cursor.
func (t *tx) recordMentions(news []eventMentions, last int64) error {
	for _, m := range news {
		if err := t.addMentions(m); err != nil {
			return err
		}
	}
	_, err := t.exec(`INSERT OR REPLACE INTO cursors (name, value) VALUES (?, ?)`, followCursor, strconv.FormatInt(last, 10))
	return err
}

// addMentions adds the mentions of an event to those of its lane.
func (t *tx) addMentions(m eventMentions) error {
	var id int64
	var before *string
	var known journal.Known
	found, err := t.get(`SELECT id, mentions FROM known WHERE workspace = ? AND lane = ?`, []any{m.Workspace, m.Lane}, &id, &before)
	if err == nil {
		err = stored.Decode(before, &known)
	}
	if err != nil {
		return err
	}
	next := known.With(m.list, m.day)
	if found {
		return t.replaceMentions(id, known, next)
	}
	after, err := stored.Text(next)
	if err != nil {
		return err
	}
	result, err := t.exec(`INSERT INTO known (workspace, lane, mentions) VALUES (?, ?, ?)`, m.Workspace, m.Lane, after)
	if err == nil {
		id, err = result.LastInsertId()
	}
	if err != nil {
		return err
	}
	return t.updateKeys(id, nil, next.Keys())
}

// replaceMentions replaces the mentions of a lane, and deletes the lane if there are none.
func (t *tx) replaceMentions(id int64, before, after journal.Known) error {
	if before.Equal(after) {
		return nil
	}
	var err error
	if len(after) == 0 {
		_, err = t.exec(`DELETE FROM known WHERE id = ?`, id)
	} else {
		var mentions string
		if mentions, err = stored.Text(after); err == nil {
			_, err = t.exec(`UPDATE known SET mentions = ? WHERE id = ?`, mentions, id)
		}
	}
	if err != nil {
		return err
	}
	return t.updateKeys(id, before.Keys(), after.Keys())
}

// updateKeys updates the index keys of a lane.
func (t *tx) updateKeys(id int64, before, after map[journal.MentionKey]bool) error {
	for key := range before {
		if after[key] {
			continue
		}
		if _, err := t.exec(`DELETE FROM mentions WHERE kind = ? AND key = ? AND known = ?`, string(key.Kind), key.Key, id); err != nil {
			return err
		}
	}
	for key := range after {
		if before[key] {
			continue
		}
		if _, err := t.exec(`INSERT INTO mentions (kind, key, known) VALUES (?, ?, ?)`, string(key.Kind), key.Key, id); err != nil {
			return err
		}
	}
	return nil
}
