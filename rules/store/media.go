package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ErrTaken is returned for a file that rules send whose name another one has already.
var ErrTaken = errors.New("there is another file of this name")

// mediaFolder holds the files that rules send, beside the rules.
const mediaFolder = "media"

// SaveMedia keeps a file that rules send. A file that is there is never replaced: rules in use send
// it. One with the same content is fine.
func (s *Store) SaveMedia(name string, content []byte) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	if name == "" || len(name) > maxNameLength || strings.HasPrefix(name, ".") || path.Base(name) != name || !filepath.IsLocal(name) || strings.ContainsFunc(name, strange) {
		return ErrName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	folder, _ := s.location()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	root, err := s.open()
	if err != nil {
		return err
	}
	defer root.Close()
	file := path.Join(mediaFolder, name)
	if _, err := root.Lstat(file); err == nil {
		if standing, err := root.ReadFile(file); err == nil && bytes.Equal(standing, content) {
			return nil
		}
		return ErrTaken
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replace(root, file, content)
}
