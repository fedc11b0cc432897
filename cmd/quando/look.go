package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// now tells the time that is shown and recorded. Tests have a clock of their own.
var now = time.Now

// A view is an open journal with what the configuration tells about it.
type view struct {
	anyJournal
	config     *config
	configured bool // there is a configuration
	zone       *time.Location
	now        time.Time
}

// journalFlag adds --journal to a command and those below it.
func journalFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().String("journal", "", "the journal's `file` or address, instead of the configuration's")
}

// look opens the journal beside an engine that may be at work, and hands it to f. Workspace is the one that times are shown for; empty
// is the default one.
func look(cmd *cobra.Command, workspace string, f func(v *view) error) error {
	where, _ := cmd.Flags().GetString("journal")
	keys := []string{"timezone", "rules", "service.profile"}
	if where == "" {
		keys = append(keys, "journal")
	}
	c, found, err := partConfig(cmd, keys...)
	if err != nil {
		return err
	}
	if where == "" {
		where = c.journalPath()
	}
	v := &view{config: c, configured: found, zone: time.Local, now: now()}
	v.showTimesOf(workspace)
	v.anyJournal, err = openJournal(cmd.Context(), where, true)
	if err != nil {
		return err
	}
	err = f(v)
	if closeErr := v.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return err
}

// showTimesOf makes the view show times as a workspace has them; without a configuration, as this machine has them.
func (v *view) showTimesOf(workspace string) {
	if w := v.config.named(workspace); v.configured && w != nil {
		v.zone = w.Timezone
	}
}

// named returns a workspace by its name, or nil. The top level is the default one.
func (c *config) named(name string) *workspace {
	if name == "" || name == defaultWorkspaceName {
		return &c.workspace
	}
	if w, ok := c.Workspaces[name]; ok {
		return &w
	}
	return nil
}
