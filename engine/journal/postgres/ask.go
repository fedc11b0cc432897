package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Ask asks something of a run.
func (j *Journal) Ask(ctx context.Context, now time.Time, run int64, ask journal.Ask) error {
	what, err := stored.Ask(ask)
	if err == nil {
		err = j.changes.write(ctx, &operation{
			want: func(r *reading) { r.runs[run] = true },
			decide: func(l *ledger) error {
				if !l.ask(stored.Micros(now), run, what) {
					return journal.ErrNoRun
				}
				return nil
			},
		})
	}
	if err != nil {
		return fmt.Errorf("ask run %d: %w", run, err)
	}
	return nil
}
