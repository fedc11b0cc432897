package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/sqlite"
)

func newJournalRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the journal",
		Long: `Restore verifies a backup and puts it in the place of the journal. The journal that was there is moved aside, with its time in its name, and nothing of it is lost. No engine may run
meanwhile. People who were forgotten since the backup was made are forgotten in it again, before it is put there.

What came after the backup is not in it. Events that the service delivers again are recorded as new; steps that had been done by then are done again only where the service does not know them by their keys.`,
		Example: "  quando journal restore backups/quando-20261113T205000Z.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, _, err := journalOf(cmd)
			if err != nil {
				return err
			}
			if isAddress(where) {
				return errors.New("the journal is in PostgreSQL: restore it with the database's own tools, such as pg_restore")
			}
			return restoreJournal(cmd, args[0], where)
		},
	}
}

func restoreJournal(cmd *cobra.Command, from, where string) (err error) {
	ctx := cmd.Context()
	_, report, err := lookAtBackup(ctx, from, now())
	if err != nil {
		return err
	}
	if err := compareListed(from, report); err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return no(cmd, "the backup is not to be trusted, and nothing was changed: %s", strings.Join(report.Findings, "; "))
	}
	free, err := sqlite.Lock(where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	part := where + ".restoring"
	if err := copyFile(from, part); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeJournal(part)) }()
	again, err := forgetAgain(ctx, from, part)
	if err != nil {
		return err
	}
	aside := where + ".before-" + now().UTC().Format("20060102T150405Z")
	moved, err := sqlite.Move(ctx, where, aside)
	if err != nil {
		return err
	}
	if err := os.Rename(part, where); err != nil {
		return plainError(err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Restored: %d events, %d runs.", report.Rows["events"], report.Rows["runs"])
	if moved {
		fmt.Fprintf(cmd.OutOrStdout(), " What was there is %s.", aside)
	}
	fmt.Fprintln(cmd.OutOrStdout())
	if again > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "Forgotten again: %s.\n", count(again, "person"))
	}
	return nil
}

// forgetAgain forgets in a copy of a backup who was forgotten since the backup was made.
func forgetAgain(ctx context.Context, from, copied string) (n int, err error) {
	m, err := readManifest(manifestBeside(from))
	if err != nil {
		return 0, err
	}
	b := m.find(from)
	if b == nil || len(b.Forgotten) == 0 {
		return 0, nil
	}
	k, err := openKeeper(ctx, copied, false)
	if err != nil {
		return 0, err
	}
	for _, o := range b.Forgotten {
		_, err := forget.Forget(ctx, k, forget.Person{Contacts: o.Contacts, Lanes: o.Lanes}, forget.Options{Now: now})
		if err != nil && !errors.Is(err, forget.ErrUnknown) {
			return n, errors.Join(fmt.Errorf("forget again who was forgotten: %w", err), k.Close())
		}
		n++
	}
	return n, errors.Join(k.Compact(ctx), k.Close())
}

// copyFile copies a file into one that only its owner may read, and lets it reach the disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return plainError(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return plainError(err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// removeJournal removes what is left of a journal that was not put in its place.
func removeJournal(path string) error {
	var problems []error
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); !errors.Is(err, os.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
