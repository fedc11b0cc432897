package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Create creates a file that does not exist yet, with access for its owner only. If root creates
// it, the file gets the owner of its folder: root runs a command now and then, and the engine,
// which is another user, must be able to use the file.
func Create(path string) (*os.File, error) {
	// The folder is opened once, so that it cannot be replaced between creating the file in it and
	// reading its owner. A link is never followed.
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // only read
	f, err := folder.OpenFile(filepath.Base(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat(".")
	if err == nil && os.Geteuid() == 0 {
		if user, group, ok := ownerOf(info); ok && user != 0 {
			err = f.Chown(user, group)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

// openOrCreate opens a file, and creates it if it does not exist.
func openOrCreate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = Create(path)
	}
	if errors.Is(err, fs.ErrExist) { // another process has created it in the meantime
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	return f, err
}
