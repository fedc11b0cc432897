package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Create makes a file that is not there yet, for its owner alone. One that root makes belongs to
// whoever the folder belongs to: root steps in with a command, and the engine, which is somebody
// else, must be able to go on.
func Create(path string) (*os.File, error) {
	// The folder is opened once, so that nobody can put another in its place between the questions
	// whose it is and what is in it. A link is never followed.
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // nothing is written through it
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

// openOrCreate opens a file, and makes it where there is none.
func openOrCreate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = Create(path)
	}
	if errors.Is(err, fs.ErrExist) { // somebody else has made it meanwhile
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	return f, err
}
