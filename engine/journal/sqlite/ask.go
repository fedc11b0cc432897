package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
)

// Ask records a request to a run.
func (j *Journal) Ask(ctx context.Context, now time.Time, run int64, ask journal.Ask) error {
	if err := j.writer.write(ctx, &operation{Operation: ledger.Ask(now, run, ask)}); err != nil {
		return fmt.Errorf("ask run %d: %w", run, err)
	}
	return nil
}
