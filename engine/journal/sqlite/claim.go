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

// claims are the lanes that somebody works on. They are kept in memory: the file has one engine,
// and when that ends, however it does, the lanes that it had claimed are due as they were.
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
	gathers bool        // some may end in the lane
	opened  bool        // for an event that is not recorded yet: the lane has no row
	woken   atomic.Bool // somebody has asked for the lane's attention
}

// lease is what a ledger has to know of a claim.
func (c *claim) lease() ledger.Lease {
	return ledger.Lease{Epoch: c.epoch, News: c.news, Opened: c.opened, Woken: c.woken.Load()}
}

func (c *claims) open(ctx context.Context, source string) (err error) {
	c.held = map[ledger.LaneKey]*claim{}
	c.stmts, c.occupied = map[string]*sql.Stmt{}, ledger.NewOccupied()
	c.epoch = time.Now().UnixMicro() // so that a lane of an earlier engine is never taken for one of this
	if c.db, err = sql.Open("sqlite3", source); err != nil {
		return err
	}
	c.conn, err = c.db.Conn(ctx)
	return err
}

// wakeRunning makes the lanes due in which runs were at work when an engine died. Who works on a
// run has its lane in memory only.
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

// snapshot returns the claims of this moment. What is released later may be missed; what is not in
// it was released before.
func (c *claims) snapshot() map[ledger.LaneKey]*claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.held)
}

// get returns the claim of a lane; nil is none.
func (c *claims) get(key ledger.LaneKey) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[key]
}

// wake notes that somebody asks for a lane's attention.
func (c *claims) wake(key ledger.LaneKey) {
	if held := c.get(key); held != nil {
		held.woken.Store(true)
	}
}

// keep notes what a recorded change means for the claim of its lane.
func (c *claims) keep(lane *journal.Lane, change *journal.Change, s *ledger.Save) {
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

// release ends a claim, and notes whether something is left in the lane.
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

// Claim takes lanes that are due.
func (j *Journal) Claim(ctx context.Context, now time.Time, max int, except []string) ([]*journal.Lane, error) {
	if j.beside {
		return nil, errBeside
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &j.claims
	c.claiming.Lock()
	defer c.claiming.Unlock()
	// In this order: a lane that is in no one's hands now was released by a commit that the reading
	// below sees.
	held := c.snapshot()
	var lanes []*journal.Lane
	err := c.read(func(r *reading) error {
		due, err := r.due(held, except, max, stored.Micros(now))
		if err != nil {
			return err
		}
		for _, d := range inTurn(due, held, max) {
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
	return c.take(lanes), nil
}

// take makes lanes the caller's. Those that were opened since it looked are left out.
func (c *claims) take(lanes []*journal.Lane) []*journal.Lane {
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
	err := c.read(func(r *reading) error {
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

// read gives one view of the journal to several queries.
func (c *claims) read(look func(*reading) error) error {
	r := &reading{c}
	if err := r.each(`BEGIN`, nil, nil); err != nil {
		return err
	}
	return errors.Join(look(r), r.each(`ROLLBACK`, nil, nil))
}

// A reading is one view of the journal.
type reading struct{ claims *claims }

func (r *reading) each(query string, args []any, scan func(*sql.Rows) error) error {
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

// inTurn returns the first n lanes when workspaces take turns, and those have had turns whose lanes
// are held. The lanes of a workspace are in their order.
func inTurn(due []dueLane, held map[ledger.LaneKey]*claim, n int) []dueLane {
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

// due returns of each workspace up to n lanes that are due until a time, or with 0 at any time, the
// longest due first. It goes from workspace to workspace in the index, so that those in except cost
// nothing however much waits in them.
func (r *reading) due(held map[ledger.LaneKey]*claim, except []string, n int, until int64) ([]dueLane, error) {
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
func (r *reading) dueIn(workspace string, held map[ledger.LaneKey]*claim, n int, until int64, found []dueLane) ([]dueLane, error) {
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

// chunkOf is a table k of the lanes of a chunk: a number, a workspace and a name. Those that are
// missing are NULL, which equals nothing.
var chunkOf = `WITH k (i, w, l) AS (VALUES (0, ?, ?)` + func() string {
	var b strings.Builder
	for i := 1; i < chunkSize; i++ {
		fmt.Fprintf(&b, ", (%d, ?, ?)", i)
	}
	return b.String()
}() + `) `
