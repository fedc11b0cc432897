package process

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/service"
)

// namesEvery is how often the service's names are stored.
const namesEvery = time.Hour

// keepNames stores the service's names in the journal whenever they have changed, until ctx ends:
// recorded events can then be shown without the service. There are no secrets among them.
func (u *Unit) keepNames(ctx context.Context, j storage.Journal, log *slog.Logger) {
	for ctx.Err() == nil {
		if err := u.KeepNamesOnce(ctx, j); err != nil && ctx.Err() == nil {
			log.Debug("the names that the service knows could not all be written down", "workspace", u.Name, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(namesEvery):
		}
	}
}

// ForgetNames lets the service's names be asked for again.
func (u *Unit) ForgetNames() { u.names.Forget() }

// KeepNamesOnce stores the service's names, if they have changed.
func (u *Unit) KeepNamesOnce(ctx context.Context, j storage.Journal) error {
	loading := u.names.Load(ctx) // what could be loaded is kept
	kept, err := j.Cursor(ctx, storage.DirectoryCursor(u.Name))
	if err != nil {
		return err
	}
	before, err := service.ParseSnapshot(kept)
	if err != nil {
		before = service.Snapshot{} // it is written again
	}
	text, err := json.Marshal(before.With(u.names.Snapshot()))
	if err == nil && string(text) != kept {
		err = j.SetCursor(ctx, storage.DirectoryCursor(u.Name), string(text))
	}
	return errors.Join(loading, err)
}
