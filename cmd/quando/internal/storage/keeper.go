package storage

import (
	"context"

	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
)

// OpenKeeper opens a journal for maintenance, beside an engine that may be using it. With readOnly
// it may be a backup.
func OpenKeeper(ctx context.Context, where string, readOnly bool) (stored.Keeper, error) {
	if IsDatabase(where) {
		k, err := postgres.OpenKeeper(ctx, where)
		if err != nil {
			return nil, err // not a nil *postgres.Keeper, which would not be nil as a Keeper
		}
		return k, nil
	}
	if err := checkFile(where); err != nil {
		return nil, err
	}
	k, err := sqlite.OpenKeeper(ctx, where, readOnly)
	if err != nil {
		return nil, err // not a nil *sqlite.Keeper, which would not be nil as a Keeper
	}
	return k, nil
}
