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
	followSize     = 16          // events that are taken up at a time: others who record wait as long, up to 0.1 ms for each
	followShare    = 30          // while others record, following waits so many times as long as it takes
	followPatience = time.Second // that it waits at most
	followKept     = 1000        // events after which the cursor is kept even if nothing else is
	followLook     = 64          // times that somebody who looks follows
	followLanes    = 50_000      // lanes of which it is remembered what is recorded
	followCursor   = "mentions"  // the number of the last event that was taken up
)

// A following is how far the mentions of events are taken up.
type following struct {
	cost atomic.Int64 // how long it took the last time, in nanoseconds

	turn   stored.Turn // whoever has it may look at the rest
	cursor int64       // the last event that was taken up; less than 0 when that is to be read
	kept   int64       // the cursor on disk
	seed   maphash.Seed
	lanes  map[ledger.LaneKey]mentionSums
	pruned struct{ day, id int64 } // how far it is looked through for what is older; less than 0 is to the end
}

// mentionSums stand for what is recorded of a lane, by kind, so that the same mentions are written
// once a day and not with every event. Kinds that an event does not mention are 0.
type mentionSums struct{ name, phone, protocol uint64 }

// summed is a mention of a day after others of its kind.
type summed struct {
	before uint64
	day    int64
	text   string
}

// A mentioning is what an event adds to what is known of its lane.
type mentioning struct {
	ledger.LaneKey
	day  int64
	list []journal.Mention
}

func newFollowing() *following {
	return &following{turn: make(stored.Turn, 1), cursor: -1, seed: maphash.MakeSeed(), lanes: map[ledger.LaneKey]mentionSums{}}
}

// Follow takes up whom events mention. While others have something to record it waits for long
// enough to take a small part of the time only.
func (j *Journal) Follow(ctx context.Context) (more bool, err error) {
	j.writer.AwaitIdle(ctx, min(followShare*time.Duration(j.following.cost.Load()), followPatience))
	if more, err = j.follow(ctx); err != nil {
		return false, fmt.Errorf("follow: %w", err)
	}
	return more, nil
}

// catchUp follows the events for somebody who looks, a little.
func (j *Journal) catchUp(ctx context.Context) { stored.CatchUp(ctx, followLook, j.follow) }

// follow takes up the next events. The cursor moves in the transaction of what they add. When they
// add nothing it may stay behind on disk: to take them up once more adds nothing either.
func (j *Journal) follow(ctx context.Context) (more bool, err error) {
	if j.beside {
		return false, errBeside
	}
	f := j.following
	back, err := f.turn.Take(ctx)
	if err != nil {
		return false, err
	}
	defer back()
	if err := j.findCursor(ctx); err != nil {
		return false, err
	}
	began := time.Now()
	last, n, news, err := j.mentionings(ctx)
	if err != nil || n == 0 {
		return false, err
	}
	f.cost.Store(int64(time.Since(began)))
	if len(news) > 0 || last-f.kept >= followKept {
		err := j.writer.write(ctx, directly(len(news), func(t *tx) error {
			began := time.Now()
			defer func() { f.cost.Add(int64(time.Since(began))) }()
			return t.follow(news, last)
		}, func() { f.kept = last }))
		if err != nil {
			return false, err
		}
	}
	f.cursor = last
	for _, m := range news {
		f.remember(m)
	}
	return n == followSize, nil
}

// findCursor reads the cursor when it is not known.
func (j *Journal) findCursor(ctx context.Context) error {
	f := j.following
	if f.cursor >= 0 {
		return nil
	}
	value, err := j.Cursor(ctx, followCursor)
	if err != nil {
		return err
	}
	f.kept, _ = strconv.ParseInt(value, 10, 64) // none is the beginning
	f.cursor = f.kept
	return nil
}

// mentionings reads the next events: the last of them, how many there are, and what they add to
// what is known.
func (j *Journal) mentionings(ctx context.Context) (last int64, n int, news []mentioning, err error) {
	f := j.following
	ahead := map[ledger.LaneKey]mentionSums{} // what will be known after those before
	err = j.each(ctx, `SELECT seq, workspace, lane, received_at, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?`, []any{f.cursor, followSize}, func(rows *sql.Rows) error {
		var m mentioning
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
			return nil // one that nobody can read must not keep those after it from being found
		}
		if m.list = journal.Mentions(content); len(m.list) == 0 {
			return nil
		}
		m.day = received / ledger.ADay
		known, ok := ahead[m.LaneKey]
		if !ok {
			known = f.lanes[m.LaneKey]
		}
		if next := known.with(f.sums(m)); next != known {
			ahead[m.LaneKey] = next
			news = append(news, m)
		}
		return nil
	})
	return last, n, news, err
}

// sums returns what stands for the mentions of an event.
func (f *following) sums(m mentioning) (s mentionSums) {
	for _, one := range m.list {
		sum := &s.name
		switch one.Kind {
		case journal.MentionPhone:
			sum = &s.phone
		case journal.MentionProtocol:
			sum = &s.protocol
		}
		*sum = maphash.Comparable(f.seed, summed{*sum, m.day, one.Text}) | 1
	}
	return s
}

// with returns what stands for what is known after another event.
func (s mentionSums) with(next mentionSums) mentionSums {
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

// remember notes that mentions are recorded.
func (f *following) remember(m mentioning) {
	if len(f.lanes) >= followLanes {
		clear(f.lanes)
	}
	f.lanes[m.LaneKey] = f.lanes[m.LaneKey].with(f.sums(m))
}

// follow records mentions and how far they go.
func (t *tx) follow(news []mentioning, last int64) error {
	for _, m := range news {
		if err := t.know(m); err != nil {
			return err
		}
	}
	_, err := t.exec(`INSERT OR REPLACE INTO cursors (name, value) VALUES (?, ?)`, followCursor, strconv.FormatInt(last, 10))
	return err
}

// know adds to what is known of a lane.
func (t *tx) know(m mentioning) error {
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
		return t.knowInstead(id, known, next)
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
	return t.findBy(id, nil, next.Keys())
}

// knowInstead changes what is known of a lane. Of whom nothing is known any more is forgotten.
func (t *tx) knowInstead(id int64, before, after journal.Known) error {
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
	return t.findBy(id, before.Keys(), after.Keys())
}

// findBy changes what a lane is found by.
func (t *tx) findBy(id int64, before, after map[journal.MentionKey]bool) error {
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
