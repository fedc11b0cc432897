package journalcmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/service"
)

// journalOf returns the journal of a command, with these parts of the configuration.
func journalOf(cmd *cobra.Command, keys ...string) (where string, c *config.Config, err error) {
	where, _ = cmd.Flags().GetString("journal")
	if where == "" {
		keys = append(keys, "journal")
	}
	if c, _, err = config.LoadPart(cmd, keys...); err != nil {
		return "", nil, err
	}
	if where == "" {
		where = c.JournalPath()
	}
	return where, c, nil
}

// profileKey is the part of the configuration with the field names for people in the service's
// data.
const profileKey = "service.profile"

// words returns the field names for people of all services, from their profiles.
func words(c *config.Config) (w forget.Words, err error) {
	w.SamePhone = service.SamePhone
	all := []config.Workspace{c.Workspace}
	for _, other := range c.Workspaces {
		all = append(all, other)
	}
	for _, one := range all {
		p, err := c.Profile(&one)
		if err != nil {
			return w, fmt.Errorf("the profile says by which names people are told of: %w", err)
		}
		w.People = append(w.People, lastNames(&p, "event", "contact")...)
		w.Phones = append(w.Phones, lastNames(&p, "contact", "phone")...)
		w.Names = append(w.Names, lastNames(&p, "contact", "name")...)
		w.Said = append(w.Said, lastNames(&p, "message", "text")...)
	}
	return w, nil
}

// lastNames are the names of members at the ends of a profile's paths.
func lastNames(p *service.Profile, section, field string) (names []string) {
	for _, path := range config.ProfilePaths(p, section, field) {
		names = append(names, path[strings.LastIndex(path, ".")+1:])
	}
	return names
}

// keeping hands a keeper of the command's journal to f.
func keeping(cmd *cobra.Command, where string, readOnly bool, f func(stored.Keeper) error) error {
	k, err := storage.OpenKeeper(cmd.Context(), where, readOnly)
	if err != nil {
		return err
	}
	err = f(k)
	if closeErr := k.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return err
}

// tellOn prints the progress, for a person who waits.
func tellOn(cmd *cobra.Command) func(string) {
	return func(what string) {
		if cli.IsTerminal(cmd.ErrOrStderr()) {
			fmt.Fprintf(cmd.ErrOrStderr(), "… %s\n", what)
		}
	}
}

// absolute is a path as it is the same from everywhere.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
