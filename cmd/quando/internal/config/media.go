package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MediaPath returns where the files of a rule set are.
func MediaPath(rules string) string {
	if info, err := os.Stat(rules); err == nil && !info.IsDir() {
		rules = filepath.Dir(rules)
	}
	return filepath.Join(rules, "media")
}

// MediaFolder is a folder whose files may be read, but nothing outside of it, whatever links it
// holds. The folder may be created or replaced later.
type MediaFolder string

// Open opens a file.
func (f MediaFolder) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("the folder %s: %w", string(f), err)}
	}
	defer func() { _ = root.Close() }() // the file stays open
	return root.FS().Open(name)
}
