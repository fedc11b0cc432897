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

// Files returns the journal's file and its write-ahead log, where there is one.
func (k *Keeper) Files() []string {
	files := []string{k.path}
	if _, err := os.Stat(k.path + "-wal"); err == nil {
		files = append(files, k.path+"-wal")
	}
	return files
}

// compactPatience is how long others may keep the file busy before it is not made smaller.
const compactPatience = 30 * time.Second

// Compact writes the file anew without what was deleted, and empties the write-ahead log. Others
// wait meanwhile: those who record give up after five seconds, and try again. It is done beside
// them, so that it may have to wait for them too.
func (k *Keeper) Compact(ctx context.Context) error {
	over := time.Now().Add(compactPatience)
	for _, do := range []func() error{
		func() error { _, err := k.db.ExecContext(ctx, `VACUUM`); return err },
		func() error { return k.checkpoint(ctx) },
	} {
		for {
			err := do()
			if err == nil {
				break
			}
			if !busy(err) || time.Now().After(over) {
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

// errReaders says that somebody still reads what the write-ahead log holds.
var errReaders = errors.New("others are reading it")

// checkpoint moves the write-ahead log into the file, and empties it.
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

// Rest makes one file of a journal that nobody uses, as a backup is one: without a write-ahead log
// it can be read where nothing can be written, and reading it leaves no files beside it.
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

// PartOfBackup is in the name of a backup that is not whole yet, before some digits.
const PartOfBackup = ".part-"

// Backup writes a copy of the journal as it is at one moment into a file that is not there yet.
// Look is given the copy before it has its name, and may refuse it. When Backup returns, the copy
// is on disk under its name, or there is none.
func (k *Keeper) Backup(ctx context.Context, to string, look func(part string) error) (err error) {
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
	if err := look(part.Name()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), to); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return syncFile(folder)
}

// backupInto uses a connection of its own: one that only reads may not write into another file
// either.
func (k *Keeper) backupInto(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite3", source(k.path, ""))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, file)
	return errors.Join(err, db.Close())
}

// syncFile lets a file, or the names in a folder, reach the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Replace puts a journal in the place of another that nobody uses, and gives that one another name,
// whole: what stands in its write-ahead log is put into the file first, because a log that is left
// behind would be taken for that of the file which comes in its place. At every moment there is a
// journal under the name. It reports whether there was one before. A file that cannot be opened is
// moved as it is, with its log.
func Replace(ctx context.Context, from, name, aside string) (was bool, err error) {
	if _, err := os.Stat(name); err == nil {
		was = true
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
		return was, fmt.Errorf("put the journal in its place: %w", err)
	}
	return was, syncFile(filepath.Dir(name))
}

// moveAside gives a file a second name, which is its only one when another takes its place. Where
// files cannot have two names it is renamed.
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
