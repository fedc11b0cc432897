// Package view shows what a journal holds, with the times and names of its workspace.
package view

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
)

// A View is an open journal with its configuration.
type View struct {
	storage.Journal
	Config     *config.Config
	Configured bool // there is a configuration
	Zone       *time.Location
	Now        time.Time
}

// Open opens the journal beside an engine that may be running, and passes it to f. Workspace sets
// the zone of times; empty is the default one.
func Open(cmd *cobra.Command, workspace string, f func(v *View) error) error {
	where, _ := cmd.Flags().GetString("journal")
	keys := []string{"timezone", "rules", "service.profile"}
	if where == "" {
		keys = append(keys, "journal")
	}
	c, found, err := config.LoadPart(cmd, keys...)
	if err != nil {
		return err
	}
	if where == "" {
		where = c.JournalPath()
	}
	v := &View{Config: c, Configured: found, Zone: time.Local, Now: cli.Now()}
	v.ShowTimesOf(workspace)
	v.Journal, err = storage.Open(cmd.Context(), where, true)
	if err != nil {
		return err
	}
	err = f(v)
	if closeErr := v.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return err
}

// ShowTimesOf makes the view show times as a workspace has them; without a configuration, as this
// machine has them.
func (v *View) ShowTimesOf(workspace string) {
	if w := v.Config.Named(workspace); v.Configured && w != nil {
		v.Zone = w.Timezone
	}
}
