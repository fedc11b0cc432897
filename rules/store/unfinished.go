package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/source"
)

// unfinishedFolder is a hidden folder beside the rules. The loader skips it: a broken draft cannot
// stop a valid rule.
const unfinishedFolder = ".unfinished"

// An Unfinished is a draft of a rule file.
type Unfinished struct {
	Text string    `json:"text"`
	Was  string    `json:"was"` // the sum of the file that it began with
	Who  string    `json:"who"`
	At   time.Time `json:"at"`
}

func unfinishedFile(name string) string { return path.Join(unfinishedFolder, name+".json") }

// Keep saves a draft for a file, which itself stays unchanged. It replaces an earlier draft.
func (s *Store) Keep(name, text, was, who string) error {
	return s.change(name, func(root *os.Root) error {
		if len(text) > source.MaxBytes {
			return ErrLarge
		}
		content, err := json.MarshalIndent(Unfinished{text, was, who, s.options.Now().UTC()}, "", "  ")
		if err != nil {
			return err
		}
		return replace(root, unfinishedFile(name), append(content, '\n'))
	})
}

// Kept returns the draft of a file, or nil. A damaged draft counts as none, so that a new one can
// be saved.
func (s *Store) Kept(name string) (*Unfinished, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is unfinished of %s: %w", name, err)
	}
	defer root.Close()
	content, err := root.ReadFile(unfinishedFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is unfinished of %s: %w", name, err)
	}
	u := &Unfinished{}
	if json.Unmarshal(content, u) != nil {
		return nil, nil
	}
	return u, nil
}

// Drop forgets the unfinished text of a file, if there is one.
func (s *Store) Drop(name string) error {
	return s.change(name, func(root *os.Root) error {
		if err := root.Remove(unfinishedFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// AllKept lists the names of the files with a draft, also of files that do not exist yet.
func (s *Store) AllKept() ([]string, error) {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what is unfinished: %w", err)
	}
	defer root.Close()
	var names []string
	err = fs.WalkDir(root.FS(), unfinishedFolder, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, ok := strings.CutSuffix(strings.TrimPrefix(file, unfinishedFolder+"/"), ".json")
		if ok && !d.IsDir() && s.check(name) == nil {
			names = append(names, name)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list what is unfinished: %w", err)
	}
	return names, nil
}
