package main

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/actions/builtin"
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
	kept, err := v.Cursor(ctx, directoryCursor(workspaceName))
	if err != nil {
		return nil, fmt.Errorf("read the names that were known: %w", err)
	}
	snapshot, err := service.ParseSnapshot(kept)
	if err != nil {
		return nil, err
	}
	return builtin.NewOffline(builtin.OfflineOptions{
		Profile: &profile, Snapshot: snapshot,
		Own: func(ctx context.Context, m service.Message) (bool, error) {
			own, err := v.Caused(ctx, workspaceName, "message.sent", []string{m.ID})
			return len(own) > 0, err
		},
	}), nil
}
