// Package storage opens the journal that a configuration names, for whatever is to be done with it.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
)

// A Journal is a journal for the engine and for commands.
type Journal interface {
	journal.Journal
	journal.Reader
	journal.Statistics
	journal.Auditor
	journal.Finder
	Close() error
}

// Open opens the journal that a configuration or --journal names: a file, or the address of a
// database. With beside it opens it for everything but the engine: while an engine may be running,
// and without creating it.
func Open(ctx context.Context, where string, beside bool) (Journal, error) {
	if IsDatabase(where) {
		j, err := postgres.Open(ctx, where, postgres.Options{Beside: beside})
		if err != nil {
			return nil, err // not a nil *postgres.Journal, which would not be nil as a journal
		}
		return j, nil
	}
	if beside {
		if err := checkFile(where); err != nil {
			return nil, err
		}
	}
	j, err := sqlite.Open(ctx, where, sqlite.Options{Beside: beside})
	if err != nil {
		return nil, err // not a nil *sqlite.Journal, which would not be nil as a journal
	}
	return j, nil
}

// checkFile says why there is no journal in a file; nil is that there may be one.
func checkFile(where string) error {
	switch info, err := os.Stat(where); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no journal %s; quando run makes it, and --journal names another", where)
	case err != nil:
		return cli.FileError(err)
	case info.IsDir():
		return fmt.Errorf("%s is a folder, not a journal", where)
	}
	return nil
}

// IsDatabase reports whether a journal is a database, and not a file.
func IsDatabase(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}
