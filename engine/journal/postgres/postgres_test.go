package postgres

import (
	"testing"

	"github.com/quandohq/quando/engine/journal/journaltest"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// open opens a journal for a test.
func open(t testing.TB, address string, o Options) *Journal {
	t.Helper()
	j, err := Open(t.Context(), address, o)
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

// die stops the heartbeats of an engine and expires its leases, as if it had been killed some time
// ago.
func die(t testing.TB, j *Journal) {
	t.Helper()
	j.stop()
	j.working.Wait()
	if _, err := j.pool.Exec(t.Context(), `UPDATE quando.engines SET alive_until = '-infinity' WHERE id = $1`, j.engine); err != nil {
		t.Fatal(err)
	}
}

// TestJournal runs the conformance tests.
func TestJournal(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	suite(t, server.Database(t))
}

// suite runs the conformance tests in one database, which is emptied before each.
func suite(t *testing.T, address string) {
	journaltest.Run(t, journaltest.Setup{
		Open: func(t *testing.T) journaltest.Journal {
			j := open(t, address, Options{})
			for _, query := range []string{
				`ALTER TABLE quando.audit DISABLE TRIGGER USER`,
				`TRUNCATE quando.events, quando.runs, quando.steps, quando.lanes, quando.leases, quando.slots, quando.gathers, quando.caused, quando.rule_versions, quando.holds, quando.mutes, quando.cursors,
					quando.counts, quando.rule_counts, quando.reasons, quando.fired, quando.known, quando.mentions, quando.audit, quando.found, quando.seen`,
				`ALTER TABLE quando.audit ENABLE TRIGGER USER`,
				`SELECT setval('quando.audit_id', 1, false)`,
			} {
				if _, err := j.pool.Exec(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			return j
		},
		Crash: func(t *testing.T, j journaltest.Journal) journaltest.Journal {
			die(t, j.(*Journal))
			return open(t, address, Options{})
		},
		Second: func(t *testing.T, _ journaltest.Journal) journaltest.Journal { return open(t, address, Options{}) },
		Expire: func(t *testing.T, j journaltest.Journal) { die(t, j.(*Journal)) },
		Beside: func(t *testing.T, _ journaltest.Journal) journaltest.Journal {
			return open(t, address, Options{Beside: true})
		},
	})
}
