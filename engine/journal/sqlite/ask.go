package sqlite

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
		err = j.writer.write(ctx, &operation{do: func(t *tx) error {
			found, err := t.ask(stored.Micros(now), run, what)
			if err == nil && !found {
				return journal.ErrNoRun
			}
			return err
		}})
	}
	if err != nil {
		return fmt.Errorf("ask run %d: %w", run, err)
	}
	return nil
}

// ask asks something of a run, and for the attention of the lane that it is in. It reports whether there is such a run.
func (t *tx) ask(now, run int64, what string) (bool, error) {
	var workspace, lane string
	found, err := t.get(`SELECT workspace, lane FROM runs WHERE id = ?`, []any{run}, &workspace, &lane)
	if err != nil || !found {
		return false, err
	}
	if _, err := t.exec(`UPDATE runs SET asked = ? WHERE id = ?`, what, run); err != nil {
		return false, err
	}
	return true, t.due(workspace, lane, now)
}
