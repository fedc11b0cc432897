package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

const (
	followSize     = 128         // events that are taken up at a time
	followShare    = 30          // while others record, following waits so many times as long as it takes
	followPatience = time.Second // that it waits at most
	followLook     = 8           // times that somebody who looks follows
	followCursor   = "mentions"  // the number of the last event that was taken up
)

// followLock is the key under which one engine at a time follows, so that mentions come in the
// order of the events.
const followLock = migrationLock + 3

// A following is what an engine knows of the mentions of events. How far they are taken up is in
// the database: another engine may be next.
type following struct {
	cost   atomic.Int64 // how long it took the last time, in nanoseconds
	turn   stored.Turn  // whoever has it may look at the rest
	gap    gap
	pruned struct{ day, id int64 } // how far it is looked through for what is older; less than 0 is to the end
}

// A gap is that numbers of events were missing below one that is there. Whoever was given such a
// number may not have committed yet.
type gap struct {
	seq         int64 // up to which it was seen that numbers are missing
	transaction int64 // that began after it was seen: whoever has one of the numbers has an older one
	since       time.Time
}

// longest is more than any transaction that records events lasts.
const longest = 3 * patience

// over reports whether nobody can fill a gap below an event any more.
func (g *gap) over(seq, oldest int64) bool {
	return seq <= g.seq && (oldest > g.transaction || time.Since(g.since) > longest)
}

func newFollowing() *following { return &following{turn: make(stored.Turn, 1)} }

// Follow takes up whom events mention. While others record events it waits for long enough to take
// a small part of the time only. Where another engine is at it, there is nothing to do.
func (j *Journal) Follow(ctx context.Context) (more bool, err error) {
	j.accepts.AwaitIdle(ctx, min(followShare*time.Duration(j.following.cost.Load()), followPatience))
	if more, err = j.follow(ctx); err != nil {
		return false, fmt.Errorf("follow: %w", explain(err))
	}
	return more, nil
}

// catchUp follows the events for somebody who looks, a little.
func (j *Journal) catchUp(ctx context.Context) { stored.CatchUp(ctx, followLook, j.follow) }

const (
	// followSettings let what was taken up be lost with the database's machine: the cursor is lost
	// with it.
	followSettings = `SELECT set_config('synchronous_commit', 'off', true), set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '10s', true), ` + byIndex

	// selectFollowed finds the next events, with the oldest transaction that is not over as these
	// events are seen.
	selectFollowed = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, seq, workspace, lane, received_at, data FROM quando.events WHERE seq > $1 ORDER BY seq LIMIT $2`
)

// follow takes up the next events. The cursor moves in the transaction of what they add.
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
	began := time.Now()
	err = j.alone(ctx, followLock, func(t pgx.Tx) error {
		found, err := j.followed(ctx, t)
		if err != nil {
			return err
		}
		if more = found.gap || found.n == followSize; found.n == 0 {
			return nil
		}
		if err := know(ctx, t, found.list); err != nil {
			return err
		}
		_, err = t.Exec(ctx, `INSERT INTO quando.cursors (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, followCursor, strconv.FormatInt(found.last, 10))
		return err
	})
	f.cost.Store(int64(time.Since(began)))
	return more && err == nil, err
}

// A mentioning is what an event tells of its lane.
type mentioning struct {
	ledger.LaneKey
	day  int64
	list []journal.Mention
}

// A part is what is taken up at once: how many events, the last of them, and whom they mention.
type part struct {
	n    int
	last int64
	list []mentioning
	gap  bool // there are others, which must wait
}

// followed reads the next events, up to the first gap that may still be filled.
func (j *Journal) followed(ctx context.Context, t pgx.Tx) (p part, err error) {
	f := j.following
	var value string
	if err := t.QueryRow(ctx, `SELECT coalesce((SELECT value FROM quando.cursors WHERE name = $1), '')`, followCursor).Scan(&value); err != nil {
		return p, err
	}
	p.last, _ = strconv.ParseInt(value, 10, 64) // none is the beginning
	newest := int64(0)
	rows, err := t.Query(ctx, selectFollowed, p.last, followSize)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		var m mentioning
		var oldest, received int64
		var data *string
		if err := rows.Scan(&oldest, &newest, text{&m.Workspace}, text{&m.Lane}, &received, &data); err != nil {
			return err
		}
		if p.gap = p.gap || newest != p.last+1 && !f.gap.over(newest, oldest); p.gap {
			return nil
		}
		p.n, p.last = p.n+1, newest
		var content map[string]any
		if err := stored.Decode(data, &content); err != nil {
			return nil // one that nobody can read must not keep those after it from being found
		}
		if m.list = journal.Mentions(content); len(m.list) > 0 {
			m.day = received / ledger.ADay
			p.list = append(p.list, m)
		}
		return nil
	})
	if err == nil && p.gap && f.gap.seq <= p.last {
		f.gap.seq, f.gap.since = newest, time.Now()
		err = t.QueryRow(ctx, `SELECT pg_current_xact_id()::text::bigint`).Scan(&f.gap.transaction)
	}
	return p, err
}

// alone does something in a transaction while no other engine does it; where one does, nothing.
func (j *Journal) alone(ctx context.Context, key int64, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
		var mine bool
		if _, err := t.Exec(ctx, followSettings); err != nil {
			return err
		}
		if err := t.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&mine); err != nil || !mine {
			return err
		}
		return do(t)
	})
}
