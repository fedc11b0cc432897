package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// claims are the claimed lanes. They are in memory: the file has one engine, and when that ends,
// even by a crash, the lanes that it had claimed are due as they were.
type claims struct {
	claiming sync.Mutex // one claim at a time, on a connection of its own
	db       *sql.DB
	conn     *sql.Conn
	stmts    map[string]*sql.Stmt

	mu       sync.Mutex
	epoch    int64
	held     map[ledger.LaneKey]*claim
	occupied *ledger.Occupied
}

// A claim is one claim of a lane.
type claim struct {
	epoch   int64
	news    int64
	gathers bool        // gathers may end in the lane
	opened  bool        // for an event that is not recorded yet: the lane has no row
	woken   atomic.Bool // the lane was made due since it was claimed
}

// lease returns the claim as a ledger needs it.
func (c *claim) lease() ledger.Lease {
	return ledger.Lease{Epoch: c.epoch, News: c.news, Opened: c.opened, Woken: c.woken.Load()}
}

func (c *claims) open(ctx context.Context, source string) (err error) {
	c.held = map[ledger.LaneKey]*claim{}
	c.stmts, c.occupied = map[string]*sql.Stmt{}, ledger.NewOccupied()
	c.epoch = time.Now().UnixMicro() // so that epochs of an earlier engine never match
	if c.db, err = sql.Open("sqlite3", source); err != nil {
		return err
	}
	c.conn, err = c.db.Conn(ctx)
	return err
}

// wakeRunning makes the lanes due that had running runs when an engine crashed: the claim of a lane
// with a running run may be in memory only.
func wakeRunning(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `INSERT INTO lanes (workspace, lane, due_at, news)
		SELECT DISTINCT workspace, lane, 1, 1 FROM runs INDEXED BY runs_open WHERE finished = 0 AND state = 'running' ON CONFLICT (workspace, lane) DO NOTHING`)
	return err
}

func (c *claims) close() error {
	c.claiming.Lock()
	defer c.claiming.Unlock()
	problems := []error{closeAll(c.stmts)}
	if c.conn != nil {
		problems = append(problems, c.conn.Close())
	}
	if c.db != nil {
		problems = append(problems, c.db.Close())
	}
	return errors.Join(problems...)
}

// snapshot returns the current claims. A lane that is released later may still be in it; a lane
// that is not in it was released before.
func (c *claims) snapshot() map[ledger.LaneKey]*claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.held)
}

// get returns the claim of a lane; nil if there is none.
func (c *claims) get(key ledger.LaneKey) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[key]
}

// markWoken records that a lane was made due, if it is claimed.
func (c *claims) markWoken(key ledger.LaneKey) {
	if held := c.get(key); held != nil {
		held.woken.Store(true)
	}
}

// afterSave updates the claim of a lane after a change was committed.
func (c *claims) afterSave(lane *journal.Lane, change *journal.Change, s *ledger.Save) {
	if change.Release {
		c.release(lane, s.Left)
		return
	}
	held := c.get(ledger.KeyOf(lane))
	held.gathers = held.gathers || len(change.Gather) > 0
	if s.Listed {
		held.opened, held.news = false, 1
	}
}

// release ends a claim, and records whether something is pending in the lane.
func (c *claims) release(l *journal.Lane, left bool) {
	key := ledger.KeyOf(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if held := c.held[key]; held == nil || held.epoch != l.Epoch {
		return
	}
	delete(c.held, key)
	c.occupied.Note(key, left)
}

// Claim claims lanes that are due.
func (j *Journal) Claim(ctx context.Context, now time.Time, max int, except []string) ([]*journal.Lane, error) {
	if j.attached {
		return nil, errAttached
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &j.claims
	c.claiming.Lock()
	defer c.claiming.Unlock()
	// Take the snapshot first: a lane that is not claimed now was released by a commit that the read
	// transaction below sees.
	held := c.snapshot()
	var lanes []*journal.Lane
	err := c.inReadTx(func(r *readTx) error {
		due, err := r.due(held, except, max, stored.Micros(now))
		if err != nil {
			return err
		}
		for _, d := range roundRobin(due, held, max) {
			lanes = append(lanes, &journal.Lane{Workspace: d.Workspace, Name: d.Lane})
		}
		for chunk := range slices.Chunk(lanes, chunkSize) {
			if err := r.fill(chunk); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return c.acquire(lanes), nil
}

// acquire claims lanes. It leaves out those that were opened since they were read.
func (c *claims) acquire(lanes []*journal.Lane) []*journal.Lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(lanes, func(l *journal.Lane) bool {
		key := ledger.KeyOf(l)
		if c.held[key] != nil {
			return true
		}
		c.epoch++
		l.Epoch = c.epoch
		c.held[key] = &claim{epoch: l.Epoch, news: l.News, gathers: len(l.Gathers) > 0}
		return false
	})
}

// Due returns when the next lane is due.
func (j *Journal) Due(ctx context.Context, except []string) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	c := &j.claims
	c.claiming.Lock()
	defer c.claiming.Unlock()
	held := c.snapshot()
	var next time.Time
	err := c.inReadTx(func(r *readTx) error {
		due, err := r.due(held, except, 1, 0)
		if err == nil && len(due) > 0 {
			next = stored.Moment(slices.MinFunc(due, func(a, b dueLane) int { return cmp.Compare(a.at, b.at) }).at)
		}
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("due: %w", err)
	}
	return next, nil
}

// inReadTx runs queries in one read transaction, so that they see the same state.
func (c *claims) inReadTx(do func(*readTx) error) error {
	r := &readTx{c}
	if err := r.each(`BEGIN`, nil, nil); err != nil {
		return err
	}
	return errors.Join(do(r), r.each(`ROLLBACK`, nil, nil))
}

// A readTx is a read transaction.
type readTx struct{ claims *claims }

func (r *readTx) each(query string, args []any, scan func(*sql.Rows) error) error {
	stmt := r.claims.stmts[query]
	if stmt == nil {
		var err error
		if stmt, err = r.claims.conn.PrepareContext(context.Background(), query); err != nil {
			return err
		}
		r.claims.stmts[query] = stmt
	}
	rows, err := stmt.Query(args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// A dueLane is a lane that is due.
type dueLane struct {
	ledger.LaneKey
	at int64
}

// roundRobin returns the first n lanes when workspaces take turns, where each held lane of a
// workspace counts as a turn. The lanes of a workspace stay in their order.
func roundRobin(due []dueLane, held map[ledger.LaneKey]*claim, n int) []dueLane {
	turns := map[string]int{}
	for k := range held {
		turns[k.Workspace]++
	}
	turn := make(map[ledger.LaneKey]int, len(due))
	for _, d := range due {
		turn[d.LaneKey] = turns[d.Workspace]
		turns[d.Workspace]++
	}
	slices.SortStableFunc(due, func(a, b dueLane) int {
		return cmp.Or(cmp.Compare(turn[a.LaneKey], turn[b.LaneKey]), cmp.Compare(a.at, b.at))
	})
	return due[:min(n, len(due))]
}

const (
	selectWorkspace = `SELECT workspace FROM lanes WHERE workspace > ? ORDER BY workspace LIMIT 1`
	selectFirst     = `SELECT workspace FROM lanes ORDER BY workspace LIMIT 1`
	selectDue       = `SELECT lane, due_at FROM lanes WHERE workspace = ? ORDER BY due_at`
	selectDueUntil  = `SELECT lane, due_at FROM lanes WHERE workspace = ? AND due_at <= ? ORDER BY due_at`
)

// due returns up to n lanes of each workspace that are due at a time, or with 0 at any time, those
// that have been due longest first. It skips from workspace to workspace in the index, so that the
// workspaces in except cost nothing, whatever their backlog.
func (r *readTx) due(held map[ledger.LaneKey]*claim, except []string, n int, until int64) ([]dueLane, error) {
	var found []dueLane
	workspace, query, args := "", selectFirst, []any(nil)
	for n > 0 {
		more := false
		err := r.each(query, args, func(rows *sql.Rows) error {
			more = true
			return rows.Scan(&workspace)
		})
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		query, args = selectWorkspace, []any{workspace}
		if slices.Contains(except, workspace) {
			continue
		}
		if found, err = r.dueIn(workspace, held, n, until, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// dueIn adds up to n lanes of one workspace.
func (r *readTx) dueIn(workspace string, held map[ledger.LaneKey]*claim, n int, until int64, found []dueLane) ([]dueLane, error) {
	query, args := selectDue, []any{workspace}
	if until != 0 {
		query, args = selectDueUntil, []any{workspace, until}
	}
	first := len(found)
	err := r.each(query, args, func(rows *sql.Rows) error {
		d := dueLane{LaneKey: ledger.LaneKey{Workspace: workspace}}
		if err := rows.Scan(&d.Lane, &d.at); err != nil {
			return err
		}
		if held[d.LaneKey] != nil {
			return nil
		}
		if found = append(found, d); len(found)-first == n {
			return errEnough
		}
		return nil
	})
	return found, err
}

// chunkSize is how many lanes one query loads.
const chunkSize = 16

// chunkOf is a common table expression k of the lanes of a chunk: a number, a workspace and a name.
// Missing lanes are NULL, which equals nothing.
var chunkOf = `WITH k (i, w, l) AS (VALUES (0, ?, ?)` + func() string {
	var b strings.Builder
	for i := 1; i < chunkSize; i++ {
		fmt.Fprintf(&b, ", (%d, ?, ?)", i)
	}
	return b.String()
}() + `) `
