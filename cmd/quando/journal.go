package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
)

// An anyJournal is one that can be worked with and looked at.
type anyJournal interface {
	journal.Journal
	journal.Reader
	journal.Statistics
	journal.Auditor
	journal.Finder
	Close() error
}

// openJournal opens the journal that a configuration or --journal names: a file, or the address of a database. Beside is how everything but
// the engine opens it: while an engine may be at work, and never to make one.
func openJournal(ctx context.Context, where string, beside bool) (anyJournal, error) {
	if isAddress(where) {
		j, err := postgres.Open(ctx, where, postgres.Options{Beside: beside})
		if err != nil {
			return nil, err // not a nil *postgres.Journal, which would not be nil as a journal
		}
		return j, nil
	}
	if beside {
		if err := journalFile(where); err != nil {
			return nil, err
		}
	}
	j, err := sqlite.Open(ctx, where, sqlite.Options{Beside: beside})
	if err != nil {
		return nil, err // not a nil *sqlite.Journal, which would not be nil as a journal
	}
	return j, nil
}

// journalFile says why there is no journal in a file; nil is that there may be one.
func journalFile(where string) error {
	switch info, err := os.Stat(where); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no journal %s; quando run makes it, and --journal names another", where)
	case err != nil:
		return plainError(err)
	case info.IsDir():
		return fmt.Errorf("%s is a folder, not a journal", where)
	}
	return nil
}

// isAddress reports whether a journal is a database, and not a file.
func isAddress(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

// journalPath returns where the journal is.
func (c *config) journalPath() string {
	if strings.Contains(c.Journal, "://") {
		return c.Journal
	}
	return c.path(c.Journal)
}

// defaultWorkspaceName is the workspace that the top level of a configuration describes.
const defaultWorkspaceName = "default"
