package journalcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
)

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup [FILE]",
		Short: "Write a copy of the journal as it is at this moment, also while an engine runs",
		Long: `Backup writes a copy of the journal as it is at one moment into a file. The engine goes on meanwhile. The copy gets its name when all of it is on disk
and has been verified; a backup that is stopped halfway leaves none. Without FILE it goes into the folder backups beside the journal, with its time in its name; FILE may be a folder too.

Beside the backups, backups.json lists them: when each was made, its size and checksum, the newest event in it, and who was forgotten since and is still in it.

A journal in PostgreSQL is backed up with the database's own tools, such as pg_dump.`,
		Example: "  quando journal backup\n  quando journal backup /mnt/backups/\n  quando journal backup before-upgrade.db",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, _, err := journalOf(cmd)
			if err != nil {
				return err
			}
			if storage.IsDatabase(where) {
				return errors.New("the journal is in PostgreSQL: back it up with the database's own tools, such as pg_dump --schema=quando --format=custom --file=quando.dump, or with its replication")
			}
			to := ""
			if len(args) > 0 {
				to = args[0]
			}
			return backupJournal(cmd, where, to)
		},
	}
	return cmd
}

// backupPath is the path of a backup: the given file, or a generated name.
func backupPath(where, to string, at time.Time) (string, error) {
	name := strings.TrimSuffix(filepath.Base(where), filepath.Ext(where)) + "-" + at.UTC().Format("20060102T150405Z") + ".db"
	if to == "" {
		to = filepath.Join(filepath.Dir(where), "backups") + string(filepath.Separator)
		if err := os.MkdirAll(to, 0o700); err != nil {
			return "", cli.FileError(err)
		}
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, name)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is a file %s already: give the backup another name", to)
	}
	return to, nil
}

func backupJournal(cmd *cobra.Command, where, to string) error {
	ctx := cmd.Context()
	at := cli.Now()
	path, err := backupPath(where, to, at)
	if err != nil {
		return err
	}
	j, err := storage.Open(ctx, where, true)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // opened only for reading
	// The journal records the manifest before there is a backup, so that no backup is ever unknown.
	if err := noteManifest(ctx, j, manifestBeside(path)); err != nil {
		return err
	}
	since, err := forgettingSince(ctx, j, at)
	if err != nil {
		return err
	}
	k, err := sqlite.OpenKeeper(ctx, where, true)
	if err != nil {
		return err
	}
	var b *backup
	err = k.Backup(ctx, path, func(part string) (err error) {
		b, err = listBackup(ctx, j, part, path, at, since)
		return err
	})
	if err = errors.Join(err, k.Close()); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", path)
	fmt.Fprintf(cmd.ErrOrStderr(), "Backed up and verified: %s, %d events, %d runs. To put it back: quando journal restore %s\n", cli.Size(b.Bytes), b.Events, b.Runs, path)
	return nil
}

// listBackup verifies a backup under a temporary name, and lists it under its final one: every
// backup with a final name is in the manifest.
func listBackup(ctx context.Context, j storage.Journal, part, path string, at, since time.Time) (*backup, error) {
	b, report, err := lookAtBackup(ctx, part, at)
	if err == nil && len(report.Findings) > 0 {
		err = errors.New(strings.Join(report.Findings, "\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("the backup is not to be trusted, and has been taken away again: %w", err)
	}
	b.File = filepath.Base(path)
	if b.Forgotten, err = stillIn(ctx, j, part, since); err != nil {
		return nil, err
	}
	m, err := readManifest(manifestBeside(path))
	if err != nil {
		return nil, err
	}
	m.add(b)
	if err := m.write(); err != nil {
		return nil, fmt.Errorf("list the backup: %w", err)
	}
	return b, nil
}

// forgettingSince is the time since which a forgotten person may be in a backup that begins at a
// time: earlier if a forget is in progress.
func forgettingSince(ctx context.Context, j storage.Journal, at time.Time) (time.Time, error) {
	text, err := j.Cursor(ctx, forgettingCursor)
	if begun, parseErr := time.Parse(time.RFC3339, text); parseErr == nil && begun.Before(at) {
		at = begun
	}
	return at.Truncate(time.Second), err
}

// stillIn returns the persons forgotten in the journal since a time who are in a backup.
func stillIn(ctx context.Context, j storage.Journal, path string, since time.Time) ([]forgotten, error) {
	held := []forgotten{}
	list, err := forgottenSince(ctx, j, since)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		holds, err := backupHolds(ctx, path, forget.Person{Contacts: f.Contacts, Lanes: f.Lanes})
		if err != nil {
			return nil, err
		}
		if holds {
			held = append(held, f)
		}
	}
	return held, nil
}

// lookAtBackup verifies a backup, and returns its entry for the manifest.
func lookAtBackup(ctx context.Context, path string, at time.Time) (*backup, *stored.Report, error) {
	k, err := sqlite.OpenKeeper(ctx, path, true)
	if err != nil {
		return nil, nil, err
	}
	report, err := k.Check(ctx, func(string) {})
	b := &backup{File: filepath.Base(path), MadeAt: at.UTC().Truncate(time.Second), Forgotten: []forgotten{}}
	if err == nil {
		b.Schema, b.Events, b.Runs = report.Schema, report.Rows["events"], report.Rows["runs"]
		e, newestErr := k.Newest(ctx)
		if err = newestErr; e != nil {
			b.Newest = &newest{ID: e.ID, ReceivedAt: e.ReceivedAt}
		}
	}
	if err = errors.Join(err, k.Close()); err != nil {
		return nil, nil, err
	}
	b.Bytes, b.SHA256, err = checksum(path)
	return b, report, err
}
