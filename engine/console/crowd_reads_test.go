package console

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/quandohq/quando/engine/journal/sqlite"
)

// Bounds of what a page reads and weighs, however much the journal holds.
const (
	mostRows  = 6000
	mostBytes = 1 << 20
)

// TestBoundedPages requests every page of a desk with many rules, and looks at what it reads: a
// bounded number of rows, and no table that grows from one end to the other. The newest of a table
// may be listed, which ends at the limit.
func TestBoundedPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it fills a journal")
	}
	c := crowd{events: 2500, rules: 300, unfinished: 150, failed: 60}
	file := filepath.Join(t.TempDir(), "quando.db")
	reads := &readRecorder{queries: map[string][]any{}}
	sql.Register("recorded "+file, reads)
	plain := must(sql.Open("sqlite3", file))
	t.Cleanup(func() { _ = plain.Close() })
	reads.Driver = plain.Driver()
	j := must(sqlite.Open(t.Context(), file, sqlite.Options{ReadDriver: "recorded " + file}))
	t.Cleanup(func() { _ = j.Close() })
	c.fill(t, j)
	console := newCrowdConsole(t, c, j)
	for _, path := range c.paths(t, j) {
		reads.take()
		console.counted.forget()
		w := get(t, console, path[1])
		queries, rows := reads.take()
		if rows > mostRows || w.Body.Len() > mostBytes {
			t.Errorf("%s: %d rows are read for %d bytes", path[1], rows, w.Body.Len())
		}
		for query, args := range queries {
			for _, step := range planOf(t, plain, query, args) {
				if scan := fullScan.FindStringSubmatch(step); scan != nil && !strings.Contains(step, "VIRTUAL TABLE") && !newest.MatchString(query) {
					t.Errorf("%s: %s reads all of %s:\n%s", path[1], step, scan[1], query)
				}
			}
		}
	}
}

var (
	// fullScan is a step of a plan that goes through a table that grows.
	fullScan = regexp.MustCompile(`^SCAN (?:TABLE )?(events|runs|steps|known|mentions|caused|reasons|rule_counts|[ercns])(?: |$)|^SEARCH ([er]) USING INTEGER PRIMARY KEY \(rowid<\?\)$`)
	// newest is a query of the newest of a table, without a condition that could leave out many.
	newest = regexp.MustCompile(`(?s)FROM (?:events e|runs r) NOT INDEXED(?: WHERE (?:e\.data IS NOT NULL|r\.id < \?|r\.state = \?| AND |e\.seq < \?)+)? ORDER BY [er]\.\w+ DESC LIMIT \?$`)
)

// planOf returns the steps that a query is carried out in.
func planOf(t *testing.T, db *sql.DB, query string, args []any) (steps []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// A readRecorder is a driver that records the queries that it carries out, and counts the rows that
// they return.
type readRecorder struct {
	driver.Driver
	mu      sync.Mutex
	queries map[string][]any
	rows    int
}

// take returns what was recorded since it was last called.
func (r *readRecorder) take() (queries map[string][]any, rows int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queries, rows = r.queries, r.rows
	r.queries, r.rows = map[string][]any{}, 0
	return queries, rows
}

func (r *readRecorder) Open(name string) (driver.Conn, error) {
	conn, err := r.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return &recordedConn{conn, r}, nil
}

type recordedConn struct {
	driver.Conn
	to *readRecorder
}

func (c *recordedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c *recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil || !strings.HasPrefix(strings.TrimSpace(query), "SELECT") && !strings.HasPrefix(query, "WITH") {
		return rows, err
	}
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.queries[query] = values
	return &recordedRows{rows, c.to}, nil
}

type recordedRows struct {
	driver.Rows
	to *readRecorder
}

func (r *recordedRows) Next(into []driver.Value) error {
	err := r.Rows.Next(into)
	if err == nil {
		r.to.mu.Lock()
		r.to.rows++
		r.to.mu.Unlock()
	}
	return err
}
