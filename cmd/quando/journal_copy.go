package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
)

func newJournal() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Look after the journal itself",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, one := range []*cobra.Command{newJournalBackup(), newJournalRestore(), newJournalVerify(), newJournalPrune(), newJournalExport(), newJournalForget()} {
		journalFlag(one)
		cmd.AddCommand(one)
	}
	cmd.AddCommand(newJournalCopy())
	return cmd
}

func newJournalCopy() *cobra.Command {
	return &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy a journal to another place: from SQLite to PostgreSQL, or back",
		Long: `Copy copies everything that is in a journal into an empty one. Each is a file, or the address of a PostgreSQL database. No engine may use either of
them meanwhile. An engine that is then given the copy goes on exactly where the other stopped: runs that wait wake up, and what came before is not done again.

A copy that is stopped halfway goes on when the same command is given again. The source stays as it is; let an engine use only one of the two.`,
		Example: `  quando journal copy quando.db postgres://quando@db.internal/quando
  quando journal copy postgres://quando@db.internal/quando quando.db`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return copyJournal(cmd, args[0], args[1]) },
	}
}

// A copyEnd is a journal that is copied from or to.
type copyEnd interface {
	stored.Store
	Close() error
}

// openStore opens a journal to copy from it, or to copy into it.
func openStore(ctx context.Context, where string, from bool) (copyEnd, error) {
	if isAddress(where) {
		c, err := postgres.OpenCopy(ctx, where, from)
		if err != nil {
			return nil, err // not a nil *postgres.Copy, which would not be nil as a copyEnd
		}
		return c, nil
	}
	if _, err := os.Stat(where); from && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no journal %s", where)
	}
	c, err := sqlite.OpenCopy(ctx, where, from)
	if err != nil {
		return nil, err // not a nil *sqlite.Copy, which would not be nil as a copyEnd
	}
	return c, nil
}

// sameJournal reports whether two names are one journal's.
func sameJournal(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return a == b || err == nil && otherErr == nil && os.SameFile(one, other)
}

func copyJournal(cmd *cobra.Command, source, target string) (err error) {
	if sameJournal(source, target) {
		return fmt.Errorf("%s is where it is already: name an empty journal to copy it to, or back it up with quando journal backup", source)
	}
	from, err := openStore(cmd.Context(), source, true)
	if err != nil {
		return fmt.Errorf("copy from: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := openStore(cmd.Context(), target, false)
	if err != nil {
		return fmt.Errorf("copy to: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var told time.Time
	sizes, err := stored.Copy(cmd.Context(), from, to, func(t *stored.Table, done, of int64) {
		if now := time.Now(); of > 0 && (done == of || now.Sub(told) >= time.Second) {
			told = now
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d of %d\n", t.Name, done, of)
		}
	})
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, n := range sizes {
		rows += n
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Copied, and counted on both sides: %d events, %d runs, %d steps, %d rows in all. Let an engine use only one of the two journals from here on.\n",
		sizes["events"], sizes["runs"], sizes["steps"], rows)
	return nil
}
