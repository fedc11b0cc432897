package sqlite

import (
	"context"
	"errors"

	"github.com/quandohq/quando/engine"
)

// Save records a change of a claimed lane.
func (j *Journal) Save(ctx context.Context, lane *engine.Lane, change *engine.Change) error {
	if j.beside {
		return errBeside
	}
	return errors.ErrUnsupported
}
