package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/service"
)

// openKeeper opens a journal to look after it, beside an engine that may be using it. One that is only read may be a backup.
func openKeeper(ctx context.Context, where string, readOnly bool) (stored.Keeper, error) {
	if isAddress(where) {
		k, err := postgres.OpenKeeper(ctx, where)
		if err != nil {
			return nil, err // not a nil *postgres.Keeper, which would not be nil as a Keeper
		}
		return k, nil
	}
	if err := journalFile(where); err != nil {
		return nil, err
	}
	k, err := sqlite.OpenKeeper(ctx, where, readOnly)
	if err != nil {
		return nil, err // not a nil *sqlite.Keeper, which would not be nil as a Keeper
	}
	return k, nil
}

// journalOf returns where the journal is that a command looks after, with these parts of the configuration.
func journalOf(cmd *cobra.Command, keys ...string) (where string, c *config, err error) {
	where, _ = cmd.Flags().GetString("journal")
	if where == "" {
		keys = append(keys, "journal")
	}
	if c, _, err = partConfig(cmd, keys...); err != nil {
		return "", nil, err
	}
	if where == "" {
		where = c.journalPath()
	}
	return where, c, nil
}

// profileKey is the part of the configuration that says by which names the service's data tells of people.
const profileKey = "service.profile"

// words returns by which names the data of all services tells of people, as their profiles have it.
func (c *config) words() (w forget.Words, err error) {
	w.SamePhone = service.SamePhone
	all := []workspace{c.workspace}
	for _, other := range c.Workspaces {
		all = append(all, other)
	}
	for _, one := range all {
		p, err := c.profile(&one)
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
	for _, path := range pathsOf(p, section, field) {
		names = append(names, path[strings.LastIndex(path, ".")+1:])
	}
	return names
}

// keeping hands a keeper of the command's journal to f.
func keeping(cmd *cobra.Command, where string, readOnly bool, f func(stored.Keeper) error) error {
	k, err := openKeeper(cmd.Context(), where, readOnly)
	if err != nil {
		return err
	}
	err = f(k)
	if closeErr := k.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return err
}

// tellOn writes what is being done, for a person who waits.
func tellOn(cmd *cobra.Command) func(string) {
	return func(what string) {
		if isTerminal(cmd.ErrOrStderr()) {
			fmt.Fprintf(cmd.ErrOrStderr(), "… %s\n", what)
		}
	}
}

// size writes a number of bytes.
func size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// absolute is a path as it is the same from everywhere.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
