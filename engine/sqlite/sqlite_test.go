package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quandohq/quando/engine/journaltest"
	"github.com/quandohq/quando/engine/sqlite"
)

// open opens a journal for a test.
func open(t testing.TB, file string, o sqlite.Options) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.Open(t.Context(), file, o)
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

func TestJournal(t *testing.T) {
	t.Parallel()
	files := map[journaltest.Journal]string{}
	opened := func(t *testing.T, file string, o sqlite.Options) journaltest.Journal {
		j := open(t, file, o)
		files[j] = file
		return j
	}
	journaltest.Run(t, journaltest.Setup{
		Open: func(t *testing.T) journaltest.Journal {
			return opened(t, filepath.Join(t.TempDir(), "quando.db"), sqlite.Options{})
		},
		// What is on disk while the journal is open is what a crash leaves.
		Crash: func(t *testing.T, j journaltest.Journal) journaltest.Journal {
			file := filepath.Join(t.TempDir(), "quando.db")
			for _, part := range []string{"", "-wal"} {
				b, err := os.ReadFile(files[j] + part)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file+part, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return opened(t, file, sqlite.Options{})
		},
		Beside: func(t *testing.T, j journaltest.Journal) journaltest.Journal {
			return opened(t, files[j], sqlite.Options{Beside: true})
		},
	})
}
