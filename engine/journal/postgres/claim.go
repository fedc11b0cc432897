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

// claims are the lanes that this engine holds, as far as it knows.
type claims struct {
	claiming sync.Mutex // one claim at a time

	mu       sync.Mutex
	epoch    int64 // of the newest claim
	resolved int64 // of the newest claim whose result is known
	held     map[ledger.LaneKey]int64

	occupied *ledger.Occupied
}

func newClaims(engine int64) *claims {
	return &claims{epoch: engine << 32, held: map[ledger.LaneKey]int64{}, occupied: ledger.NewOccupied()}
}

// nextEpoch numbers a claim. No two claims of any engine have the same number.
func (c *claims) nextEpoch() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	return c.epoch
}

// finishClaim records the result of the newest claim.
func (c *claims) finishClaim(lanes []*journal.Lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lanes {
		c.held[ledger.KeyOf(l)] = l.Epoch
	}
	c.resolved = c.epoch
}

// release records that a lane is no longer held, and whether something is pending in it.
func (c *claims) release(l *journal.Lane, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := ledger.KeyOf(l); c.held[k] == l.Epoch {
		delete(c.held, k)
		c.occupied.Note(k, left)
	}
}

// epochs returns the newest claim whose result is known, and the epochs of the held lanes.
func (c *claims) epochs() (resolved int64, held []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held = []int64{}
	for _, epoch := range c.held {
		held = append(held, epoch)
	}
	return c.resolved, held
}

// claimLock is the advisory lock for claims: each engine sees what the one before it has claimed,
// and claims something else.
const claimLock = migrationLock + 1

const (
	// claimSettings allow a claim to be lost when the database's machine crashes: then the lease is
	// gone, and changes of its holder are refused.
	claimSettings = `SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '10s', true), ` + forceIndexes

	// deleteExpired deletes the leases of engines whose heartbeat has expired by the database's clock,
	// except those that are locked by a change that is being recorded.
	deleteExpired = `DELETE FROM quando.leases WHERE (workspace, lane) IN (SELECT d.workspace, d.lane FROM quando.leases d LEFT JOIN quando.engines e ON e.id = d.engine
		WHERE e.alive_until IS NULL OR e.alive_until < clock_timestamp() FOR UPDATE OF d SKIP LOCKED)`

	// spaces are the workspaces that have lanes, found by a loose index scan.
	spaces = `WITH RECURSIVE spaces (workspace) AS (
			(SELECT workspace FROM quando.lanes ORDER BY workspace LIMIT 1)
			UNION ALL
			SELECT (SELECT d.workspace FROM quando.lanes d WHERE d.workspace > s.workspace ORDER BY d.workspace LIMIT 1) FROM spaces s WHERE s.workspace IS NOT NULL)`

	// insertLeases claims lanes that are due, ordered by time and then by name, as in all journals.
	// Workspaces take turns, where each leased lane of a workspace counts as a turn. A conflict is a
	// lane that another transaction is opening, which keeps it.
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

	// selectDue finds when the next lane is due that no live engine has claimed.
	selectDue = spaces + `SELECT coalesce(min(f.due_at), 0) FROM spaces s CROSS JOIN LATERAL (
			SELECT d.due_at FROM quando.lanes d
			WHERE d.workspace = s.workspace AND NOT EXISTS (SELECT 1 FROM quando.leases h JOIN quando.engines e ON e.id = h.engine
				WHERE h.workspace = d.workspace AND h.lane = d.lane AND e.alive_until >= clock_timestamp())
			ORDER BY d.due_at LIMIT 1) f
		WHERE s.workspace <> ALL($1::text[])`
)

// Claim claims lanes that are due.
func (j *Journal) Claim(ctx context.Context, now time.Time, max int, except []string) ([]*journal.Lane, error) {
	if j.attached {
		return nil, errAttached
	}
	if max <= 0 {
		return nil, ctx.Err()
	}
	j.claims.claiming.Lock()
	defer j.claims.claiming.Unlock()
	lanes, err := j.acquireLeases(ctx, j.claims.nextEpoch(), now, max, except)
	if err == nil && len(lanes) > 0 {
		err = j.fill(ctx, lanes)
	}
	if err != nil {
		j.claims.finishClaim(nil) // heartbeat deletes leases that the claim may have
		return nil, fmt.Errorf("claim: %w", explain(err))
	}
	j.claims.finishClaim(lanes)
	return lanes, nil
}

// acquireLeases leases lanes.
func (j *Journal) acquireLeases(ctx context.Context, epoch int64, now time.Time, max int, except []string) (lanes []*journal.Lane, err error) {
	b := &pgx.Batch{}
	b.Queue(`BEGIN`)
	b.Queue(claimSettings)
	b.Queue(`SELECT pg_advisory_xact_lock($1)`, int64(claimLock))
	b.Queue(deleteExpired)
	each(b.Queue(insertLeases, j.engine, epoch, stored.Micros(now), max, encodeTexts(except)), func(rows pgx.Rows) error {
		l := &journal.Lane{Epoch: epoch}
		lanes = append(lanes, l)
		return rows.Scan(text{&l.Workspace}, text{&l.Name}, &l.News)
	})
	b.Queue(`COMMIT`)
	return lanes, j.send(ctx, b)
}

// send runs a batch.
func (j *Journal) send(ctx context.Context, b *pgx.Batch) error {
	conn, err := j.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // closes the connection if a transaction is still open
	return conn.SendBatch(ctx, b).Close()
}

// Due returns when the next lane is due.
func (j *Journal) Due(ctx context.Context, except []string) (time.Time, error) {
	var at int64
	if err := j.pool.QueryRow(ctx, selectDue, encodeTexts(except)).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("due: %w", explain(err))
	}
	return stored.Moment(at), nil
}
