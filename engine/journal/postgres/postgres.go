// Package postgres stores the engine's journal in a PostgreSQL database, which many engines may
// share.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quandohq/quando/engine/journal"
)

// A Journal is a journal.Journal and a journal.Reader in a database.
//
// There is one writer for events and one for everything else; each runs all pending operations in
// one transaction. If a context ends while its call is in the queue, the call is withdrawn: nothing
// is recorded, and the context's error is returned. Once its transaction has begun the call waits
// for the result, so that the caller knows: if the answer to a commit is lost, the writer looks for
// the commit in the database.
type Journal struct {
	where    string // the address without its password
	attached bool
	lease    time.Duration
	engine   int64 // its id in the table engines; 0 if attached

	pool    *pgxpool.Pool
	accepts *writer
	changes *writer
	claims  *claims
	prune   pruneProgress
	notices *notices

	follower *follower

	newest atomic.Int64 // the highest event number that it has seen

	fail func(Point) error

	stop    context.CancelFunc
	working sync.WaitGroup
	closing sync.Once
}

var (
	_ journal.Journal    = (*Journal)(nil)
	_ journal.Reader     = (*Journal)(nil)
	_ journal.Notifier   = (*Journal)(nil)
	_ journal.Statistics = (*Journal)(nil)
	_ journal.Auditor    = (*Journal)(nil)
	_ journal.Finder     = (*Journal)(nil)
)

// Options configure a Journal. Every zero value works.
type Options struct {
	// Beside opens a journal that engines may be using: to read, and to accept, ask, hold and lift.
	// The journal must exist. Claim, Save, Follow and Prune return an error.
	Beside bool

	// Lease is how long an engine without heartbeats keeps its lanes. The zero value is 10 seconds.
	Lease time.Duration

	// Fail lets tests make a transaction fail: before the commit, so that nothing is recorded, or
	// after it, so that everything is recorded but the callers get an error.
	Fail func(Point) error
}

// A Point is where a transaction can be made to fail.
type Point int

// The points of a transaction.
const (
	BeforeCommit Point = iota
	AfterCommit
)

var errAttached = errors.New("the journal was opened beside an engine: only the engine itself claims, saves, follows and prunes")

// Open opens the journal at an address, postgres://user:password@host/database, and creates it if
// it does not exist: its tables are in the schema quando of that database.
func Open(ctx context.Context, address string, o Options) (*Journal, error) {
	a, err := parse(address)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if o.Lease == 0 {
		o.Lease = 10 * time.Second
	}
	if o.Fail == nil {
		o.Fail = func(Point) error { return nil }
	}
	j := &Journal{where: a.shown, attached: o.Beside, lease: o.Lease, fail: o.Fail, follower: newFollower()}
	if err := j.open(ctx, a, o); err != nil {
		j.Close()
		return nil, fmt.Errorf("journal %s: %w", a.shown, explain(err))
	}
	return j, nil
}

func (j *Journal) open(ctx context.Context, a *address, o Options) (err error) {
	if j.pool, err = pgxpool.NewWithConfig(ctx, a.pool); err != nil {
		return err
	}
	if err := migrate(ctx, j.pool, o.Beside); err != nil {
		return err
	}
	var newest int64
	if err := j.pool.QueryRow(ctx, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM quando.events_seq`).Scan(&newest); err != nil {
		return err
	}
	j.sawEvent(newest)
	if o.Beside {
		if err := refuseUnfinishedCopy(ctx, j.pool); err != nil {
			return err
		}
	} else {
		if err := j.register(ctx); err != nil {
			return err
		}
		j.claims = newClaims(j.engine)
	}
	name := writerName(j.engine)
	j.notices = newNotices(j.pool, name)
	j.accepts, j.changes = newWriter(j, name+" accepts"), newWriter(j, name+" changes")
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	j.stop = stop
	j.working.Go(func() { j.notices.send(background) })
	if !o.Beside {
		j.working.Go(func() { j.notices.listen(background, a.listen) })
		j.working.Go(func() { j.sendHeartbeats(background) })
	}
	return nil
}

// writerName returns a prefix for the names of a journal's writers, which is unique among open
// journals.
func writerName(engine int64) string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s %d %d %d", host, os.Getpid(), engine, time.Now().UnixNano())
}

// News receives a value when another process has made a lane due. It receives none for what is due
// later, nor for what was recorded while the connection was broken.
func (j *Journal) News() <-chan struct{} { return j.notices.news }

// Close waits for pending operations, and releases what was claimed. It may be called twice.
func (j *Journal) Close() error {
	j.closing.Do(func() {
		if j.accepts != nil {
			j.accepts.Close()
			j.changes.Close()
		}
		if j.stop != nil {
			j.stop()
		}
		j.working.Wait()
		if j.notices != nil {
			j.unregister()
		}
		if j.pool != nil {
			j.pool.Close()
		}
	})
	return nil
}
