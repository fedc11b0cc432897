//go:build cgo

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/quandohq/quando/engine/journal/journaltest"
)

// open opens a journal for a test.
func open(t testing.TB, file string, o Options) *Journal {
	t.Helper()
	j, err := Open(t.Context(), file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// TestJournal runs the conformance tests, and then checks that every query of them uses an index.
func TestJournal(t *testing.T) {
	t.Parallel()
	var queries queryLog
	var all []*Journal
	opened := func(t *testing.T, file string, o Options) journaltest.Journal {
		j := open(t, file, o)
		queries.watch(t, j)
		all = append(all, j)
		return j
	}
	journaltest.Run(t, journaltest.Setup{
		Open: func(t *testing.T) journaltest.Journal {
			return opened(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
		},
		// The files of an open journal are what a crash leaves.
		Crash: func(t *testing.T, j journaltest.Journal) journaltest.Journal {
			file := filepath.Join(t.TempDir(), "quando.db")
			for _, part := range []string{"", "-wal"} {
				b, err := os.ReadFile(j.(*Journal).file + part)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file+part, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return opened(t, file, Options{})
		},
		Beside: func(t *testing.T, j journaltest.Journal) journaltest.Journal {
			return opened(t, j.(*Journal).file, Options{Beside: true})
		},
	})
	for _, j := range all {
		queries.add(slices.Collect(maps.Keys(j.writer.stmts))...)
		queries.add(slices.Collect(maps.Keys(j.claims.stmts))...)
	}
	checkPlans(t, queries.texts)
}

// A queryLog collects the queries of journals.
type queryLog struct {
	mu    sync.Mutex
	texts map[string]bool
}

func (s *queryLog) add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]bool{}
	}
	for _, t := range texts {
		s.texts[t] = true
	}
}

// watch makes a journal read through connections that log its queries.
func (s *queryLog) watch(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.reads.Close(); err != nil {
		t.Fatal(err)
	}
	j.reads = sql.OpenDB(spy{s, source(j.file, "_query_only=true")})
}

type spy struct {
	queries *queryLog
	source  string
}

func (s spy) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (s spy) Connect(context.Context) (driver.Conn, error) {
	c, err := s.Driver().Open(s.source)
	if err != nil {
		return nil, err
	}
	return &spyConn{c.(*sqlite3.SQLiteConn), s.queries}, nil
}

type spyConn struct {
	*sqlite3.SQLiteConn
	queries *queryLog
}

func (c *spyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.queries.add(query)
	return c.SQLiteConn.QueryContext(ctx, query, args)
}

// allowedScans are the queries that may scan a table, by a part of their texts. Each table is
// short, or the query stops soon.
var allowedScans = []string{
	"SELECT workspace FROM lanes ORDER BY workspace LIMIT 1", // its first row
	"FROM caused ORDER BY id LIMIT ?",                        // its first rows
	" NOT INDEXED ",                                          // a page of a listing, from the newest on
	"SELECT 1 FROM holds LIMIT 1",                            // its first row
	"FROM sqlite_sequence",                                   // one row for each table with an autoincrement
	"FROM holds ORDER BY",                                    // as many as people have placed
	"FROM mutes WHERE until = 0 OR",                          // as many conversations as are muted
	"SELECT workspace, rule, at FROM fired",                  // as many as there are rules
	"FROM audit WHERE id < ?",                                // one page
	"FROM rule_versions v WHERE NOT EXISTS",                  // one for each change of a rule
	"created_at, received_at FROM events WHERE seq IN",       // the current gathers
	"WITH RECURSIVE periods (period)",                        // four a day
}

// checkPlans asks SQLite for the plans of queries: none may scan a table that grows.
func checkPlans(t *testing.T, queries map[string]bool) {
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	if len(queries) < 60 {
		t.Errorf("only %d queries were seen", len(queries))
	}
	for _, query := range slices.Sorted(maps.Keys(queries)) {
		if verb, _, _ := strings.Cut(query, " "); verb == "BEGIN" || verb == "COMMIT" || verb == "ROLLBACK" {
			continue
		}
		rows, err := j.reads.Query("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		err = scanAll(rows, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			if scanPattern.MatchString(detail) && detail != "SCAN k" && detail != "SCAN found" && !slices.ContainsFunc(allowedScans, func(part string) bool { return strings.Contains(query, part) }) {
				t.Errorf("%s\n%s", detail, query)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// scanPattern matches a plan's step that scans a table, as opposed to a result of the query itself.
var scanPattern = regexp.MustCompile(`^SCAN (\w+)( USING .*)?$`)
