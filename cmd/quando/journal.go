package main

import (
	"context"
	"errors"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/sqlite"
)

// A journal is one that can be worked with and looked at.
type journal interface {
	engine.Journal
	engine.Reader
	Close() error
}

// openJournal opens the journal that a configuration or --journal names: a file, or the address of a database. Beside is how everything but
// the engine opens it: while an engine may be at work, and never to make one.
func openJournal(ctx context.Context, where string, beside bool) (journal, error) {
	if strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://") {
		return nil, errors.New("a journal in PostgreSQL is not supported by this build yet; name a file")
	}
	return sqlite.Open(ctx, where, sqlite.Options{Beside: beside})
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
