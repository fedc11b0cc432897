package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// claims are the lanes that this engine works on, as far as it knows.
type claims struct {
	claiming sync.Mutex // one claim at a time

	mu      sync.Mutex
	epoch   int64 // of the newest claim
	settled int64 // of the newest claim that is over
	held    map[ledger.LaneKey]int64

	occupied *ledger.Occupied
}

func newClaims(engine int64) *claims {
	return &claims{epoch: engine << 32, held: map[ledger.LaneKey]int64{}, occupied: ledger.NewOccupied()}
}

// begin numbers a claim. No two claims of any engine have the same number.
func (c *claims) begin() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	return c.epoch
}

// end notes what came of the newest claim.
func (c *claims) end(lanes []*journal.Lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lanes {
		c.held[ledger.KeyOf(l)] = l.Epoch
	}
	c.settled = c.epoch
}

// release notes that a lane is not held any more, and whether something is left in it.
func (c *claims) release(l *journal.Lane, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := ledger.KeyOf(l); c.held[k] == l.Epoch {
		delete(c.held, k)
		c.occupied.Note(k, left)
	}
}

// epochs returns up to which claim it is known what came of it, and by which of these lanes are
// held.
func (c *claims) epochs() (settled int64, held []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = []int64{}
	for _, epoch := range c.held {
		held = append(held, epoch)
	}
	return c.settled, held
}

// claimLock is the key under which one engine at a time claims: each sees what the one before it
// has taken, and takes something else.
const claimLock = migrationLock + 1

const (
	// claimSettings let a claim be lost with the database's machine: then the lease is gone, and its
	// holder's changes are refused.
	claimSettings = `SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '10s', true), ` + byIndex

	// deleteExpired takes the leases of engines that were not heard of in time, by the database's
	// clock, but for those by which a change is being recorded.
	deleteExpired = `DELETE FROM quando.leases WHERE (workspace, lane) IN (SELECT d.workspace, d.lane FROM quando.leases d LEFT JOIN quando.engines e ON e.id = d.engine
		WHERE e.alive_until IS NULL OR e.alive_until < clock_timestamp() FOR UPDATE OF d SKIP LOCKED)`

	// spaces are the workspaces that have lanes, found one after another in the index.
	spaces = `WITH RECURSIVE spaces (workspace) AS (
			(SELECT workspace FROM quando.lanes ORDER BY workspace LIMIT 1)
			UNION ALL
			SELECT (SELECT d.workspace FROM quando.lanes d WHERE d.workspace > s.workspace ORDER BY d.workspace LIMIT 1) FROM spaces s WHERE s.workspace IS NOT NULL)`

	// insertLeases takes lanes that are due, those of one time by their names, as all journals do.
	// Workspaces take turns, and who has lanes that are worked on has had as many turns. A lane that
	// is being opened is left to who opens it.
	insertLeases = spaces + `, busy (workspace, n) AS (SELECT workspace, count(*) FROM quando.leases GROUP BY workspace)
		INSERT INTO quando.leases (workspace, lane, engine, epoch, news)
		SELECT d.workspace, d.lane, $1, $2, d.news FROM (
			SELECT s.workspace, f.lane, f.due_at, f.news, coalesce(b.n, 0) + row_number() OVER (PARTITION BY s.workspace ORDER BY f.due_at, f.lane) AS turn
			FROM spaces s LEFT JOIN busy b ON b.workspace = s.workspace CROSS JOIN LATERAL (
				SELECT d.lane, d.due_at, d.news FROM quando.lanes d
				WHERE d.workspace = s.workspace AND d.due_at <= $3 AND NOT EXISTS (SELECT 1 FROM quando.leases h WHERE h.workspace = d.workspace AND h.lane = d.lane)
				ORDER BY d.due_at, d.lane LIMIT $4) f
			WHERE s.workspace <> ALL($5::text[])) d
		ORDER BY d.turn, d.due_at, d.lane LIMIT $4
		ON CONFLICT (workspace, lane) DO NOTHING
		RETURNING workspace, lane, news`

	// selectDue finds when the next lane is due that no engine that is alive has claimed.
	selectDue = spaces + `SELECT coalesce(min(f.due_at), 0) FROM spaces s CROSS JOIN LATERAL (
			SELECT d.due_at FROM quando.lanes d
			WHERE d.workspace = s.workspace AND NOT EXISTS (SELECT 1 FROM quando.leases h JOIN quando.engines e ON e.id = h.engine
				WHERE h.workspace = d.workspace AND h.lane = d.lane AND e.alive_until >= clock_timestamp())
			ORDER BY d.due_at LIMIT 1) f
		WHERE s.workspace <> ALL($1::text[])`
)

// Claim takes lanes that are due.
func (j *Journal) Claim(ctx context.Context, now time.Time, max int, except []string) ([]*journal.Lane, error) {
	if j.beside {
		return nil, errBeside
	}
	if max <= 0 {
		return nil, ctx.Err()
	}
	j.claims.claiming.Lock()
	defer j.claims.claiming.Unlock()
	lanes, err := j.take(ctx, j.claims.begin(), now, max, except)
	if err == nil && len(lanes) > 0 {
		err = j.fill(ctx, lanes)
	}
	if err != nil {
		j.claims.end(nil) // what was taken is given back
		return nil, fmt.Errorf("claim: %w", explain(err))
	}
	j.claims.end(lanes)
	return lanes, nil
}

// take leases lanes.
func (j *Journal) take(ctx context.Context, epoch int64, now time.Time, max int, except []string) (lanes []*journal.Lane, err error) {
	b := &pgx.Batch{}
	b.Queue(`BEGIN`)
	b.Queue(claimSettings)
	b.Queue(`SELECT pg_advisory_xact_lock($1)`, int64(claimLock))
	b.Queue(deleteExpired)
	each(b.Queue(insertLeases, j.engine, epoch, stored.Micros(now), max, keepAll(except)), func(rows pgx.Rows) error {
		l := &journal.Lane{Epoch: epoch}
		lanes = append(lanes, l)
		return rows.Scan(text{&l.Workspace}, text{&l.Name}, &l.News)
	})
	b.Queue(`COMMIT`)
	return lanes, j.send(ctx, b)
}

// send carries out a batch.
func (j *Journal) send(ctx context.Context, b *pgx.Batch) error {
	conn, err := j.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes it when a transaction is not over
	return conn.SendBatch(ctx, b).Close()
}

// Due returns when the next lane is due.
func (j *Journal) Due(ctx context.Context, except []string) (time.Time, error) {
	var at int64
	if err := j.pool.QueryRow(ctx, selectDue, keepAll(except)).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("due: %w", explain(err))
	}
	return stored.Moment(at), nil
}
