package store

import (
	"os"
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

// Keep saves a draft for a file, which itself stays unchanged. It replaces an earlier draft.
func (s *Store) Keep(name, text, was, who string) error {
	return s.change(name, func(root *os.Root) error {
		if len(text) > source.MaxBytes {
			return ErrLarge
		}
		return writeAside(root, unfinishedFolder, name, Unfinished{text, was, who, s.options.Now().UTC()})
	})
}

// Kept returns the draft of a file, or nil. A damaged draft counts as none, so that a new one can
// be saved.
func (s *Store) Kept(name string) (*Unfinished, error) {
	return readAside[Unfinished](s, unfinishedFolder, name)
}

// Drop forgets the unfinished text of a file, if there is one.
func (s *Store) Drop(name string) error { return s.dropAside(unfinishedFolder, name) }

// AllKept lists the names of the files with a draft, also of files that do not exist yet.
func (s *Store) AllKept() ([]string, error) { return s.listAside(unfinishedFolder) }
