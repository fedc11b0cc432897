package main

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/service"
)

// directoryCursor is where the journal keeps the names that a workspace's service knows.
func directoryCursor(workspace string) string { return "directory/" + workspace }

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

func newOfflineDesk(ctx context.Context, j engine.Journal, workspaceName string, profile *service.Profile) (*builtin.Offline, error) {
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
func keptNames(ctx context.Context, j engine.Journal, workspaceName string) (service.Snapshot, error) {
	kept, err := j.Cursor(ctx, directoryCursor(workspaceName))
	if err != nil {
		return service.Snapshot{}, fmt.Errorf("read the names that were known: %w", err)
	}
	return service.ParseSnapshot(kept)
}
