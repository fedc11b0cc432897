package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// DirectoryCursor is the cursor that stores the names of a workspace's service.
func DirectoryCursor(workspace string) string { return "directory/" + workspace }

// NewOfflineDesk returns a desk that reads recorded events with the names stored in the journal. It
// makes no calls.
func NewOfflineDesk(ctx context.Context, j journal.Journal, workspaceName string, profile *service.Profile) (*builtin.Offline, error) {
	snapshot, err := Names(ctx, j, workspaceName)
	if err != nil {
		return nil, err
	}
	return builtin.NewOffline(builtin.OfflineOptions{
		Profile: profile, Snapshot: snapshot,
		Own: func(ctx context.Context, m service.Message) (bool, error) {
			own, err := j.Caused(ctx, workspaceName, vocabulary.MessageSent, []string{m.ID}, time.Time{})
			return len(own) > 0, err
		},
	}), nil
}

// Names returns the names that the journal has kept.
func Names(ctx context.Context, j journal.Journal, workspaceName string) (service.Snapshot, error) {
	kept, err := j.Cursor(ctx, DirectoryCursor(workspaceName))
	if err != nil {
		return service.Snapshot{}, fmt.Errorf("read the names that were known: %w", err)
	}
	return service.ParseSnapshot(kept)
}

// Choices returns the names that the journal has kept as what rules can name.
func Choices(ctx context.Context, j journal.Journal, workspaceName string) (list []editor.Choice, err error) {
	snapshot, err := Names(ctx, j, workspaceName)
	if err != nil {
		return nil, err
	}
	boards := map[string]string{}
	for _, l := range snapshot.Lists {
		for _, e := range l.Entries {
			boards[e.ID] = e.Name
		}
	}
	for _, l := range snapshot.Lists {
		for _, e := range l.Entries {
			list = append(list, editor.Choice{Kind: string(l.Kind), Name: e.Name, Board: boards[l.Board]})
		}
	}
	return list, nil
}
