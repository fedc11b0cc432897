package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// asideFile is where a hidden folder beside the rules keeps what it has for a rule file. The loader
// skips such folders.
func asideFile(folder, name string) string { return path.Join(folder, name+".json") }

// writeAside keeps a value for a rule file, in place of an earlier one.
func writeAside(root *os.Root, folder, name string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return replace(root, asideFile(folder, name), append(content, '\n'))
}

// readAside returns what is kept for a rule file, or nil. What is damaged counts as none.
func readAside[T any](s *Store, folder, name string) (*T, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is kept beside %s: %w", name, err)
	}
	defer root.Close()
	content, err := root.ReadFile(asideFile(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is kept beside %s: %w", name, err)
	}
	value := new(T)
	if json.Unmarshal(content, value) != nil {
		return nil, nil
	}
	return value, nil
}

// dropAside forgets what is kept for a rule file, if there is anything.
func (s *Store) dropAside(folder, name string) error {
	return s.change(name, func(root *os.Root) error {
		if err := root.Remove(asideFile(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// listAside lists the rule files for which something is kept.
func (s *Store) listAside(folder string) ([]string, error) {
	return s.namesBelow(folder, func(path string, d fs.DirEntry) (string, bool) {
		name, ok := strings.CutSuffix(path, ".json")
		return name, ok && !d.IsDir()
	})
}

// namesBelow lists the rule files that a hidden folder beside the rules has something for. nameOf
// returns the rule file of a path below that folder, if the path is of one.
func (s *Store) namesBelow(folder string, nameOf func(path string, d fs.DirEntry) (string, bool)) ([]string, error) {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	defer root.Close()
	var names []string
	err = fs.WalkDir(root.FS(), folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, ok := nameOf(strings.TrimPrefix(path, folder+"/"), d)
		if !ok || s.check(name) != nil {
			return nil
		}
		names = append(names, name)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	return names, nil
}
