package postgres

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// register adds the journal to the engines that share the database, and deletes those that have
// been gone for a day.
func (j *Journal) register(ctx context.Context) error {
	host, _ := os.Hostname()
	if _, err := j.pool.Exec(ctx, `DELETE FROM quando.engines e WHERE e.alive_until < clock_timestamp() - interval '1 day' AND NOT EXISTS (SELECT 1 FROM quando.leases d WHERE d.engine = e.id)`); err != nil {
		return err
	}
	if _, err := j.pool.Exec(ctx, `DELETE FROM quando.commits WHERE at < clock_timestamp() - interval '7 days'`); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, j.pool, func(t pgx.Tx) error {
		if err := checkNoCopy(ctx, t); err != nil {
			return err
		}
		return t.QueryRow(ctx, `INSERT INTO quando.engines (name, alive_until) VALUES ($1, clock_timestamp() + make_interval(secs => $2)) RETURNING id`,
			fmt.Sprintf("%s %d", host, os.Getpid()), j.lease.Seconds()).Scan(&j.engine)
	})
}

// sendHeartbeats sends three heartbeats in the length of a lease.
func (j *Journal) sendHeartbeats(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(j.lease / 3):
		}
		for ctx.Err() == nil && j.heartbeat(ctx) != nil {
			select { // the database is down: retry soon, so that the lease does not expire
			case <-ctx.Done():
			case <-time.After(min(j.lease/20, time.Second)):
			}
		}
	}
}

// heartbeat renews the engine's lease. The answer to a claim may have been lost with its
// connection: heartbeat also deletes the leases of such claims.
func (j *Journal) heartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, j.lease/3)
	defer cancel()
	_, err := j.pool.Exec(ctx, `INSERT INTO quando.engines (id, name, alive_until) OVERRIDING SYSTEM VALUE VALUES ($1, 'back', clock_timestamp() + make_interval(secs => $2))
		ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`, j.engine, j.lease.Seconds())
	if err != nil {
		return err
	}
	resolved, held := j.claims.epochs()
	_, err = j.pool.Exec(ctx, `DELETE FROM quando.leases WHERE engine = $1 AND epoch <= $2 AND epoch <> ALL($3::bigint[])`, j.engine, resolved, held)
	return err
}

// unregister releases what the engine has claimed. If the database is down, the leases expire.
func (j *Journal) unregister() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, w := range []*writer{j.accepts, j.changes} {
		if w == nil {
			continue
		}
		if _, err := j.pool.Exec(ctx, `DELETE FROM quando.commits WHERE writer = $1`, w.name); err != nil {
			return
		}
	}
	if j.engine == 0 {
		return
	}
	if _, err := j.pool.Exec(ctx, `DELETE FROM quando.leases WHERE engine = $1`, j.engine); err != nil {
		return
	}
	_, _ = j.pool.Exec(ctx, `DELETE FROM quando.engines WHERE id = $1`, j.engine)
}
