package view

import (
	"context"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
)

// OfflineDesk returns a desk that reads recorded events of a workspace without calls. Names are
// those stored in the journal.
func (v *View) OfflineDesk(ctx context.Context, workspaceName string) (*builtin.Offline, error) {
	w := v.Config.Named(workspaceName)
	if w == nil {
		w = &v.Config.Workspace
	}
	profile, err := v.Config.Profile(w)
	if err != nil {
		return nil, err
	}
	return storage.NewOfflineDesk(ctx, v, workspaceName, &profile)
}
