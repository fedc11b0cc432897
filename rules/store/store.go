// Package store keeps the rule files of a workspace: it saves each of them whole or not at all,
// with every version that it ever had.
package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/quandohq/quando/rules/source"
)

// The reasons why a change is refused.
var (
	ErrReadOnly  = errors.New("the rules are kept read-only by the configuration")
	ErrChanged   = errors.New("the file has changed since it was opened")
	ErrName      = errors.New("no rule file can have this name")
	ErrProposals = fmt.Errorf("%d proposals wait already: accept or decline some of them first", maxProposals)
	ErrLarge     = fmt.Errorf("a rule file has at most %d KiB", source.MaxBytes>>10)
)

// Options say where the files are. Path is required.
type Options struct {
	Path     string   // a folder, or the one file that there is
	Except   []string // folders and files below it that are not rules
	ReadOnly bool
	Now      func() time.Time // nil is time.Now
}

// A Store reads and writes rule files. It reaches nothing outside of its folder, whatever names it
// is given and whatever links the folder holds. It is safe for concurrent use.
type Store struct {
	options Options
	mu      sync.Mutex // of changes
}

// New returns a store. It opens nothing: the folder may be created or replaced later.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Path = filepath.Clean(o.Path)
	return &Store{options: o}
}

// A File is a rule file as it stands.
type File struct {
	Name string // from the store's folder, with slashes
	Text string
	Sum  string // hash of the text; empty for a file that does not exist
}

// ReadOnly reports whether nothing may be changed.
func (s *Store) ReadOnly() bool { return s.options.ReadOnly }

// Single reports whether the store is one file: then there can be no others.
func (s *Store) Single() bool { _, only := s.location(); return only != "" }

// location returns the folder, and the one file's name where there is only one.
func (s *Store) location() (folder, only string) {
	info, err := os.Stat(s.options.Path)
	isFile := err == nil && !info.IsDir() || err != nil && isYAML(s.options.Path)
	if isFile {
		return filepath.Dir(s.options.Path), filepath.Base(s.options.Path)
	}
	return s.options.Path, ""
}

// Name returns a file's name in the store, given its path as in the loader.
func (s *Store) Name(file string) (string, error) {
	folder, _ := s.location()
	below, err := filepath.Rel(folder, file)
	if err != nil {
		return "", ErrName
	}
	name := filepath.ToSlash(below)
	return name, s.check(name)
}

// Path returns a file's path as in the loader, given its name.
func (s *Store) Path(name string) string {
	folder, _ := s.location()
	return filepath.Join(folder, filepath.FromSlash(name))
}

// IsAside reports whether a folder of this name holds no rules, whatever is in it.
func IsAside(name string) bool {
	return strings.HasPrefix(name, ".") || name == "media" || name == "node_modules"
}

// IsRuleFile reports whether a file of this name holds rules or their tests.
func IsRuleFile(name string) bool {
	return isYAML(name) && !strings.HasPrefix(name, ".") && name != "quando.yaml" && name != "profile.yaml"
}

func isYAML(name string) bool { ext := filepath.Ext(name); return ext == ".yaml" || ext == ".yml" }

// maxNameLength is a length that every system allows.
const maxNameLength = 200

// check refuses names that the loader does not take for rule files.
func (s *Store) check(name string) error {
	folder, only := s.location()
	if only != "" && name != only || len(name) > maxNameLength || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || strings.ContainsFunc(name, strange) {
		return ErrName
	}
	parts := strings.Split(name, "/")
	if !IsRuleFile(parts[len(parts)-1]) || slices.ContainsFunc(parts[:len(parts)-1], IsAside) {
		return ErrName
	}
	for _, other := range s.options.Except {
		if below, err := filepath.Rel(other, filepath.Join(folder, filepath.FromSlash(name))); err == nil && filepath.IsLocal(below) {
			return ErrName
		}
	}
	return nil
}

func strange(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`\:*?"<>|`, r) }

// Read returns a file, or fs.ErrNotExist.
func (s *Store) Read(name string) (File, error) {
	if err := s.check(name); err != nil {
		return File{}, err
	}
	root, err := s.open()
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", name, err)
	}
	defer root.Close()
	text, err := readBounded(root, name)
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", name, err)
	}
	return File{name, string(text), sumOf(text)}, nil
}

func (s *Store) open() (*os.Root, error) {
	folder, _ := s.location()
	return os.OpenRoot(folder)
}

func readBounded(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, source.MaxBytes+1))
	if err == nil && len(text) > source.MaxBytes {
		err = ErrLarge
	}
	return text, err
}

func sumOf(text []byte) string { sum := sha256.Sum256(text); return hex.EncodeToString(sum[:16]) }
