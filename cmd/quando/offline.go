package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service"
)

// directoryCursor is where the journal keeps the names that a workspace's service knows.
func directoryCursor(workspace string) string { return "directory/" + workspace }

// namesEvery is how often the names that the service knows are written down.
const namesEvery = time.Hour

// keepNames writes down the names that the service knows whenever they have changed, until ctx ends: what was recorded can then be read without it. There
// are no secrets among them.
func (u *unit) keepNames(ctx context.Context, j anyJournal, log *slog.Logger) {
	for ctx.Err() == nil {
		if err := u.keepNamesOnce(ctx, j); err != nil && ctx.Err() == nil {
			log.Debug("the names that the service knows could not all be written down", "workspace", u.name, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(namesEvery):
		}
	}
}

func (u *unit) keepNamesOnce(ctx context.Context, j anyJournal) error {
	loading := u.names.Load(ctx) // what could be loaded is kept
	kept, err := j.Cursor(ctx, directoryCursor(u.name))
	if err != nil {
		return err
	}
	before, err := service.ParseSnapshot(kept)
	if err != nil {
		before = service.Snapshot{} // it is written anew
	}
	text, err := json.Marshal(before.With(u.names.Snapshot()))
	if err == nil && string(text) != kept {
		err = j.SetCursor(ctx, directoryCursor(u.name), string(text))
	}
	return errors.Join(loading, err)
}

// offlineDesk returns what reads recorded events of a workspace and asks nobody. Names are those that the journal has kept.
func (v *view) offlineDesk(ctx context.Context, workspaceName string) (*builtin.Offline, error) {
	w := v.config.named(workspaceName)
	if w == nil {
		w = &v.config.workspace
	}
	profile, err := v.config.profile(w)
	if err != nil {
		return nil, err
	}
	return newOfflineDesk(ctx, v, workspaceName, &profile)
}

func newOfflineDesk(ctx context.Context, j journal.Journal, workspaceName string, profile *service.Profile) (*builtin.Offline, error) {
	snapshot, err := keptNames(ctx, j, workspaceName)
	if err != nil {
		return nil, err
	}
	return builtin.NewOffline(builtin.OfflineOptions{
		Profile: profile, Snapshot: snapshot,
		Own: func(ctx context.Context, m service.Message) (bool, error) {
			own, err := j.Caused(ctx, workspaceName, "message.sent", []string{m.ID})
			return len(own) > 0, err
		},
	}), nil
}

// keptNames returns the names that the journal has kept.
func keptNames(ctx context.Context, j journal.Journal, workspaceName string) (service.Snapshot, error) {
	kept, err := j.Cursor(ctx, directoryCursor(workspaceName))
	if err != nil {
		return service.Snapshot{}, fmt.Errorf("read the names that were known: %w", err)
	}
	return service.ParseSnapshot(kept)
}
