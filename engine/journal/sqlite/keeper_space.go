package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Files returns the journal's file and its write-ahead log, if there is one.
func (k *Keeper) Files() []string {
	files := []string{k.path}
	if _, err := os.Stat(k.path + "-wal"); err == nil {
		files = append(files, k.path+"-wal")
	}
	return files
}

// compactTimeout is how long Compact retries while others lock the file.
const compactTimeout = 30 * time.Second

// Compact rewrites the file without deleted content, and empties the write-ahead log. Other
// processes wait in the meantime: writers give up after five seconds, and retry. Compact may have
// to wait for them too.
func (k *Keeper) Compact(ctx context.Context) error {
	deadline := time.Now().Add(compactTimeout)
	for _, do := range []func() error{
		func() error { _, err := k.db.ExecContext(ctx, `VACUUM`); return err },
		func() error { return k.checkpoint(ctx) },
	} {
		for {
			err := do()
			if err == nil {
				break
			}
			if !isBusy(err) || time.Now().After(deadline) {
				return fmt.Errorf("make the file smaller: %w", explain(err))
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

// errReaders says that a reader still needs the write-ahead log.
var errReaders = errors.New("others are reading it")

// checkpoint moves the write-ahead log into the database file, and empties it.
func (k *Keeper) checkpoint(ctx context.Context) error {
	var blocked, pages, moved int
	if err := k.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&blocked, &pages, &moved); err != nil {
		return err
	}
	if blocked != 0 {
		return errReaders
	}
	return nil
}

// Rest makes a single file of a journal that is not in use, like a backup: without a write-ahead
// log it can be read on a read-only file system, and reading it leaves no files next to it.
func (k *Keeper) Rest(ctx context.Context) error {
	var mode string
	err := k.db.QueryRowContext(ctx, `PRAGMA journal_mode = DELETE`).Scan(&mode)
	if err == nil && mode != "delete" {
		err = errReaders
	}
	if err != nil {
		return fmt.Errorf("make one file of it: %w", explain(err))
	}
	return nil
}

// PartOfBackup is in the name of an incomplete backup, before some digits.
const PartOfBackup = ".part-"

// Backup writes a consistent copy of the journal into a file that does not exist yet. It passes the
// copy to verify before it has its name; an error of verify rejects the copy. When Backup returns,
// the copy is on disk under its name, or there is none.
func (k *Keeper) Backup(ctx context.Context, to string, verify func(part string) error) (err error) {
	folder, name := filepath.Split(to)
	if folder == "" {
		folder = "."
	}
	// SQLite writes into an empty file, which only its owner may read.
	part, err := os.CreateTemp(folder, "."+name+PartOfBackup+"*")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part.Name()))
		}
	}()
	if err := part.Close(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := k.backupInto(ctx, part.Name()); err != nil {
		return fmt.Errorf("backup: %w", explain(err))
	}
	if err := syncFile(part.Name()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := verify(part.Name()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), to); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return syncFile(folder)
}

// backupInto uses its own connection: a read-only one may not write into another file either.
func (k *Keeper) backupInto(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite3", source(k.path, ""))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, file)
	return errors.Join(err, db.Close())
}

// syncFile flushes a file, or the names in a folder, to disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Replace puts a journal in the place of another that is not in use, and renames that one. It first
// moves the write-ahead log of the old journal into its file, because SQLite would take a log that
// is left behind for that of the new file. At every moment there is a journal under the name. It
// reports whether there was one before. A file that cannot be opened is moved as it is, with its
// log.
func Replace(ctx context.Context, from, name, aside string) (existed bool, err error) {
	if _, err := os.Stat(name); err == nil {
		existed = true
		if k, err := OpenKeeper(ctx, name, false); err == nil {
			if err := errors.Join(k.checkpoint(ctx), k.Close()); err != nil {
				return false, fmt.Errorf("move %s: %w", name, explain(err))
			}
		}
		if err := moveAside(name, aside); err != nil {
			return false, fmt.Errorf("move %s: %w", name, err)
		}
	}
	if err := os.Rename(from, name); err != nil {
		return existed, fmt.Errorf("put the journal in its place: %w", err)
	}
	return existed, syncFile(filepath.Dir(name))
}

// moveAside gives a file a second name, which remains when another file takes the first. It renames
// the file if the file system has no hard links.
func moveAside(name, aside string) error {
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Rename(name+end, aside+end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if os.Link(name, aside) == nil {
		return nil
	}
	return os.Rename(name, aside)
}
