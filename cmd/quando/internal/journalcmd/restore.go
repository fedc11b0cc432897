package journalcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
)

func newRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the journal",
		Long: `Restore verifies a backup and puts it in the place of the journal. The journal that was there is moved aside, with its time in its name, and nothing of it is lost. No engine may run
meanwhile. People who were forgotten since the backup was made are forgotten in it again, before it is put there. The journal that was moved aside is listed with the backups, so that who is forgotten
later is found in it.

What came after the backup is not in it. Events that the service delivers again are recorded as new; steps that had been done by then are done again only where the service does not know them by their keys.`,
		Example: "  quando journal restore backups/quando-20261113T205000Z.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, c, err := journalOf(cmd, profileKey)
			if err != nil {
				return err
			}
			if storage.IsDatabase(where) {
				return errors.New("the journal is in PostgreSQL: restore it with the database's own tools, such as pg_restore")
			}
			words, err := words(c)
			if err != nil {
				return err
			}
			return restoreJournal(cmd, args[0], where, words)
		},
	}
}

// restoring is the suffix of a copy that is about to replace the journal.
const restoring = ".restoring"

func restoreJournal(cmd *cobra.Command, from, where string, words forget.Words) (err error) {
	ctx := cmd.Context()
	b, report, err := lookAtBackup(ctx, from, cli.Now())
	if errors.Is(err, stored.ErrUnsound) {
		return cli.No(cmd, "the backup is not to be trusted, and nothing was changed: %v", err)
	}
	if err != nil {
		return err
	}
	if _, err := compareListed(from, report); err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return cli.No(cmd, "the backup is not to be trusted, and nothing was changed: %s", strings.Join(report.Findings, "; "))
	}
	free, err := sqlite.Lock(where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	past, err := readCarryOver(ctx, where, b)
	if err != nil {
		return err
	}
	past.words = words
	part := where + restoring
	if err := removeJournal(part); err != nil { // of a restore that was stopped: its log would be taken for that of this one
		return err
	}
	if err := copyFile(from, part); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeJournal(part)) }()
	if err := past.applyTo(ctx, from, part, manifestBeside(where)); err != nil {
		return err
	}
	aside := where + ".before-" + cli.Now().UTC().Format("20060102T150405Z")
	// It is listed before it exists: an interrupted restore leaves no unknown file.
	if _, err := os.Stat(where); err == nil {
		if err := listAside(aside, &backup{MadeAt: cli.Now().UTC().Truncate(time.Second)}); err != nil {
			return err
		}
	}
	moved, err := sqlite.Replace(ctx, part, where, aside)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Restored: %d events, %d runs.", report.Rows["events"], report.Rows["runs"])
	if moved {
		fmt.Fprintf(cmd.OutOrStdout(), " What was there is %s.", aside)
	}
	fmt.Fprintln(cmd.OutOrStdout())
	if n := len(past.forgotten); n > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "Forgotten again: %s.\n", cli.Count(n, "person"))
	}
	if moved {
		if b, _, err := lookAtBackup(ctx, aside, cli.Now()); err == nil { // a damaged one is listed by its name alone
			return listAside(aside, b)
		}
	}
	return nil
}

// A carryOver is what a journal that is replaced must hand on.
type carryOver struct {
	forgotten []forgotten // since the backup was made
	lists     []string    // of backups
	words     forget.Words
}

// readCarryOver reads what a journal must hand on to the backup that replaces it. An unreadable one
// has nothing to hand on.
func readCarryOver(ctx context.Context, where string, b *backup) (*carryOver, error) {
	p := &carryOver{}
	j, err := storage.Open(ctx, where, true)
	if err != nil {
		return p, nil //nolint:nilerr // a journal that is missing or damaged is the reason for a restore
	}
	defer func() { _ = j.Close() }() // it was only read
	if p.lists, err = manifestPaths(ctx, j); err != nil {
		return nil, err
	}
	var since time.Time
	if b.Newest != nil {
		since = b.Newest.ReceivedAt
	}
	p.forgotten, err = forgottenSince(ctx, j, since)
	return p, err
}

// forgottenSince returns the persons forgotten in a journal since a time, from its audit log.
func forgottenSince(ctx context.Context, j storage.Journal, since time.Time) (list []forgotten, err error) {
	const page = 200
	for before := int64(0); ; {
		entries, err := j.Audits(ctx, before, page)
		if err != nil {
			return nil, fmt.Errorf("find out who was forgotten: %w", err)
		}
		for _, e := range entries {
			if before = e.ID; e.What != auditForget || e.At.Before(since) {
				continue
			}
			f := forgotten{At: e.At}
			for _, id := range strings.Fields(e.Subject) {
				if strings.Contains(id, ":") { // a lane, as conversation:…
					f.Lanes = append(f.Lanes, id)
				} else {
					f.Contacts = append(f.Contacts, id)
				}
			}
			list = append(list, f)
		}
		if len(entries) < page {
			return list, nil
		}
	}
}

// applyTo adds to a copy of a backup what it lacks: the manifests, and the persons forgotten since
// it was made.
func (p *carryOver) applyTo(ctx context.Context, from, copied, list string) error {
	m, err := readManifest(manifestBeside(from))
	if err != nil {
		return err
	}
	if b := m.find(from); b != nil {
		for _, f := range b.Forgotten {
			if !slices.ContainsFunc(p.forgotten, f.same) {
				p.forgotten = append(p.forgotten, f)
			}
		}
	}
	// One of an earlier version is brought up to date by that, as it would be when an engine
	// begins.
	j, err := storage.Open(ctx, copied, false)
	if err != nil {
		return err
	}
	for _, path := range append(p.lists, list) {
		if err == nil {
			err = noteManifest(ctx, j, path)
		}
	}
	for _, f := range p.forgotten {
		if err == nil {
			err = j.Audit(ctx, journal.AuditEntry{At: f.At, Who: whoami(), From: "quando journal restore", What: auditForget, Subject: f.subject()})
		}
	}
	if err = errors.Join(err, j.Close()); err != nil || len(p.forgotten) == 0 {
		return err
	}
	k, err := storage.OpenKeeper(ctx, copied, false)
	if err != nil {
		return err
	}
	for _, f := range p.forgotten {
		_, err := forget.Forget(ctx, k, forget.Person{Contacts: f.Contacts, Lanes: f.Lanes, Words: p.words}, forget.Options{Now: cli.Now})
		if err != nil && !errors.Is(err, forget.ErrUnknown) {
			return errors.Join(fmt.Errorf("forget again who was forgotten: %w", err), k.Close())
		}
	}
	return errors.Join(k.Compact(ctx), k.Close())
}

// listAside lists a journal that is moved aside among the backups.
func listAside(aside string, b *backup) error {
	b.File, b.Forgotten = filepath.Base(aside), []forgotten{}
	m, err := readManifest(manifestBeside(aside))
	if err != nil {
		return err
	}
	m.add(b)
	if err := m.write(); err != nil {
		return fmt.Errorf("list what is moved aside: %w", err)
	}
	return nil
}

// copyFile copies a file into one that only its owner may read, and syncs it.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return cli.FileError(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := sqlite.Create(to)
	if err != nil {
		return cli.FileError(err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// removeJournal removes the remains of a journal that was not put in place.
func removeJournal(path string) error {
	var problems []error
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(path + end); !errors.Is(err, os.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
