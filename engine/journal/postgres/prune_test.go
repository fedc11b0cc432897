package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// TestPruneByIndex has many runs and nothing to delete, in a database that prefers a full scan, as
// one does whose statistics count runs without an end as very old: Prune must not scan all runs to
// find that out, as it runs every minute.
func TestPruneByIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	server := postgrestest.Shared(t)
	address := server.Database(t)
	if err := postgrestest.Do(t.Context(), address, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET random_page_cost = 100000', current_database()); END $$`); err != nil {
		t.Fatal(err)
	}
	j := open(t, address, Options{})
	const runs = 20_000
	if _, err := j.pool.Exec(t.Context(), `INSERT INTO quando.runs (id, key, workspace, rule, version, event, home, lane, by, state, finished, stage, about, started_at, wake_at, finished_at, reason)
		SELECT i, i, 'default', 'r', 'v', i, i, i, i, CASE WHEN i % 10 = 0 THEN 'waiting' ELSE 'done' END, i % 10 > 0, 'live', '{}', 1, 0, CASE WHEN i % 10 = 0 THEN 0 ELSE $2::bigint END, ''
		FROM generate_series(1, $1::bigint) i`, runs, time.Now().UnixMicro()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.pool.Exec(t.Context(), `ANALYZE quando.runs`); err != nil {
		t.Fatal(err)
	}
	read := func() int { // rows read by sequential scans
		if _, err := j.pool.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
			t.Fatal(err)
		}
		return postgrestest.Count(t, address, `SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = 'quando' AND relname = 'runs'`)
	}
	if _, err := j.Prune(t.Context(), time.Now(), 24*time.Hour); err != nil { // the hourly work runs now
		t.Fatal(err)
	}
	settled := func() int {
		last := -1
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
			now := read()
			if now == last {
				return now
			}
			last = now
			time.Sleep(1500 * time.Millisecond) // sessions report their statistics about once a second
		}
		return last
	}
	before := settled()
	for range 3 {
		if _, err := j.Prune(t.Context(), time.Now(), 24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if more := settled() - before; more >= runs {
		t.Errorf("prune read %d rows of %d runs, of which none is to go", more, runs)
	}
}

// TestStatementsOfPrune checks that the statements have a plan by an index, whatever the planner's
// statistics.
func TestStatementsOfPrune(t *testing.T) {
	t.Parallel()
	j := open(t, postgrestest.Shared(t).Database(t), Options{})
	for name, query := range map[string]string{"runs": deleteRuns, "events": deleteEvents, "caused": deleteCaused, "found": deleteFound, "seen": deleteSeen, "slots": deleteSlots, "counts": deleteCounts,
		"rule_counts": deleteRuleCounts, "reasons": deleteReasons} {
		tx, err := j.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `SELECT `+forceIndexes); err != nil {
			t.Fatal(err)
		}
		query = strings.NewReplacer("$1", "5", "$2", "500").Replace(query)
		rows, err := tx.Query(t.Context(), `EXPLAIN `+query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, "Seq Scan") {
				t.Error(fmt.Sprint(name, ": ", line))
			}
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
