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
	followSize       = 128         // events of one transaction
	followShare      = 30          // while others write, Follow waits so many times as long as it works
	maxFollowWait    = time.Second // the maximum of that wait
	followsPerSearch = 8           // batches that a search follows before it looks
	followCursor     = "mentions"  // its value is the number of the last indexed event
)

// followLock is the advisory lock for following, so that mentions are recorded in the order of the
// events.
const followLock = migrationLock + 3

// A follower is an engine's state of indexing the mentions of events. The cursor is in the
// database: another engine may index the next events.
type follower struct {
	lastDuration atomic.Int64 // how long the last batch took, in nanoseconds
	mu           stored.Turn  // guards the fields below
	gap          gap
	pruned       struct{ day, id int64 } // how far Prune has looked for old mentions; an id less than 0 is to the end
}

// A gap is missing event numbers below an existing one. The transaction that has such a number may
// not have committed yet.
type gap struct {
	seq         int64 // below it, numbers were seen to be missing
	transaction int64 // an id that was assigned after the gap was seen: every transaction with a missing number has a lower one
	since       time.Time
}

// maxTransaction is longer than any transaction that records events.
const maxTransaction = 3 * transactionTimeout

// isClosed reports whether no transaction can fill a gap below an event any more.
func (g *gap) isClosed(seq, oldest int64) bool {
	return seq <= g.seq && (oldest > g.transaction || time.Since(g.since) > maxTransaction)
}

func newFollower() *follower { return &follower{mu: make(stored.Turn, 1)} }

// Follow indexes the mentions of events. While others record events it first waits, so that it
// takes only a small share of the time. If another engine is following, it does nothing.
func (j *Journal) Follow(ctx context.Context) (more bool, err error) {
	j.accepts.AwaitIdle(ctx, min(followShare*time.Duration(j.follower.lastDuration.Load()), maxFollowWait))
	if more, err = j.follow(ctx); err != nil {
		return false, fmt.Errorf("follow: %w", explain(err))
	}
	return more, nil
}

// catchUp follows a few batches before a search.
func (j *Journal) catchUp(ctx context.Context) { stored.CatchUp(ctx, followsPerSearch, j.follow) }

const (
	// followSettings allow a commit to be lost when the database's machine crashes: the cursor is lost
	// with it.
	followSettings = `SELECT set_config('synchronous_commit', 'off', true), set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '10s', true), ` + forceIndexes

	// selectFollowed finds the next events, with the oldest transaction that was open when these
	// events were seen.
	selectFollowed = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, seq, workspace, lane, received_at, data FROM quando.events WHERE seq > $1 ORDER BY seq LIMIT $2`
)

// follow indexes the mentions of the next events. The cursor moves in the same transaction.
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
	began := time.Now()
	err = j.withTryLock(ctx, followLock, func(t pgx.Tx) error {
		batch, err := j.nextEvents(ctx, t)
		if err != nil {
			return err
		}
		if more = batch.gap || batch.n == followSize; batch.n == 0 {
			return nil
		}
		if err := addMentions(ctx, t, batch.list); err != nil {
			return err
		}
		_, err = t.Exec(ctx, `INSERT INTO quando.cursors (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, followCursor, strconv.FormatInt(batch.last, 10))
		return err
	})
	f.lastDuration.Store(int64(time.Since(began)))
	return more && err == nil, err
}

// eventMentions are the mentions of an event.
type eventMentions struct {
	ledger.LaneKey
	day  int64
	list []journal.Mention
}

// A followBatch is the events of one transaction: how many, the last of them, and their mentions.
type followBatch struct {
	n    int
	last int64
	list []eventMentions
	gap  bool // a gap was reached, and the events after it must wait
}

// nextEvents reads the next events, up to the first gap that may still be filled.
func (j *Journal) nextEvents(ctx context.Context, t pgx.Tx) (p followBatch, err error) {
	f := j.follower
	var value string
	if err := t.QueryRow(ctx, `SELECT coalesce((SELECT value FROM quando.cursors WHERE name = $1), '')`, followCursor).Scan(&value); err != nil {
		return p, err
	}
	p.last, _ = strconv.ParseInt(value, 10, 64) // no cursor is the beginning
	newest := int64(0)
	rows, err := t.Query(ctx, selectFollowed, p.last, followSize)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		var m eventMentions
		var oldest, received int64
		var data *string
		if err := rows.Scan(&oldest, &newest, text{&m.Workspace}, text{&m.Lane}, &received, &data); err != nil {
			return err
		}
		if p.gap = p.gap || newest != p.last+1 && !f.gap.isClosed(newest, oldest); p.gap {
			return nil
		}
		p.n, p.last = p.n+1, newest
		var content map[string]any
		if err := stored.Decode(data, &content); err != nil {
			return nil // an event that cannot be decoded must not block those after it
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

// withTryLock runs do in a transaction with an advisory lock; it does nothing if another engine has
// the lock.
func (j *Journal) withTryLock(ctx context.Context, key int64, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
		var acquired bool
		if _, err := t.Exec(ctx, followSettings); err != nil {
			return err
		}
		if err := t.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&acquired); err != nil || !acquired {
			return err
		}
		return do(t)
	})
}
