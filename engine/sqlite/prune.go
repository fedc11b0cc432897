package sqlite

import (
	"context"
	"time"
)

// pruning is how far Prune has come.
type pruning struct{}

// Prune forgets what is older than keep.
func (j *Journal) Prune(ctx context.Context, now time.Time, keep time.Duration) (bool, error) {
	if j.beside {
		return false, errBeside
	}
	return false, nil
}
