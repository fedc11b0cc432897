package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
)

// A Store is the source or target of a copy.
type Store interface {
	stored.Store
	Close() error
}

// OpenStore opens a journal to copy from it, or to copy into it.
func OpenStore(ctx context.Context, where string, from bool) (Store, error) {
	if IsDatabase(where) {
		c, err := postgres.OpenCopy(ctx, where, from)
		if err != nil {
			return nil, err // not a nil *postgres.Copy, which would not be nil as a Store
		}
		return c, nil
	}
	if _, err := os.Stat(where); from && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no journal %s", where)
	}
	c, err := sqlite.OpenCopy(ctx, where, from)
	if err != nil {
		return nil, err // not a nil *sqlite.Copy, which would not be nil as a Store
	}
	return c, nil
}
