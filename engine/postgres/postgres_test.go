package postgres

import (
	"testing"

	"github.com/quandohq/quando/engine/journaltest"
	"github.com/quandohq/quando/engine/postgres/postgrestest"
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

// die ends the heart of an engine and lets its leases run out, as if it had been killed some time ago.
func die(t testing.TB, j *Journal) {
	t.Helper()
	j.stop()
	j.working.Wait()
	if _, err := j.pool.Exec(t.Context(), `UPDATE quando.engines SET alive_until = '-infinity' WHERE id = $1`, j.engine); err != nil {
		t.Fatal(err)
	}
}

// TestJournal holds the journal to what every journal promises.
func TestJournal(t *testing.T) {
	server := postgrestest.Shared(t)
	addresses := map[journaltest.Journal]string{}
	opened := func(t *testing.T, address string, o Options) journaltest.Journal {
		j := open(t, address, o)
		addresses[j] = address
		return j
	}
	journaltest.Run(t, journaltest.Setup{
		Open: func(t *testing.T) journaltest.Journal { return opened(t, server.Database(t), Options{}) },
		Crash: func(t *testing.T, j journaltest.Journal) journaltest.Journal {
			die(t, j.(*Journal))
			return opened(t, addresses[j], Options{})
		},
		Beside: func(t *testing.T, j journaltest.Journal) journaltest.Journal {
			return opened(t, addresses[j], Options{Beside: true})
		},
	})
}
