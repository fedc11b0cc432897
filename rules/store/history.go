package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// historyFolder is beside the rules: versions belong to the files, outlive every journal, and can
// be read with any program. The loader skips hidden folders.
const historyFolder = ".history"

// A Version is what a file held from some moment on.
type Version struct {
	N    int       `json:"-"` // from 1
	At   time.Time `json:"at"`
	Sum  string    `json:"sum"`
	Text string    `json:"text"`
	Change

	Damaged bool `json:"-"` // it exists, and cannot be read
}

// Found reports whether the version was made by other means than the store, and found there when
// the next one was saved.
func (v Version) Found() bool { return v.Change == Change{} && !v.Damaged }

func versionFile(name string, n int) string {
	return path.Join(historyFolder, name, fmt.Sprintf("%06d.json", n))
}

// append adds a version to the history of a file.
func (s *Store) append(root *os.Root, name string, last int, v Version) (Version, error) {
	v.N, v.Sum = last+1, sumOf([]byte(v.Text))
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return v, err
	}
	if err := replace(root, versionFile(name, v.N), append(text, '\n')); err != nil {
		return v, fmt.Errorf("keep the version before: %w", err)
	}
	return v, nil
}

// numbers returns the numbers of the versions of a file, the newest first.
func numbers(root *os.Root, name string) ([]int, error) {
	folder, err := root.Open(path.Join(historyFolder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		if digits, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			if n, err := strconv.Atoi(digits); err == nil && n > 0 {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list, nil
}

// latest returns the newest version, or the zero one. Of a damaged one it returns the number alone,
// so that a new one can be saved.
func latest(root *os.Root, name string) (Version, error) {
	list, err := numbers(root, name)
	if err != nil || len(list) == 0 {
		return Version{}, err
	}
	return readOrDamaged(root, name, list[0]), nil
}

func readOrDamaged(root *os.Root, name string, n int) Version {
	v, err := readVersion(root, name, n)
	if err != nil {
		return Version{N: n, Damaged: true}
	}
	return v
}

// versionMost bounds what is read of a version: its text, every character of it escaped.
const versionMost = 2 << 20

func readVersion(root *os.Root, name string, n int) (Version, error) {
	info, err := root.Stat(versionFile(name, n))
	if err != nil {
		return Version{}, err
	}
	if info.Size() > versionMost {
		return Version{}, ErrLarge
	}
	text, err := root.ReadFile(versionFile(name, n))
	if err != nil {
		return Version{}, err
	}
	v := Version{}
	if err := json.Unmarshal(text, &v); err != nil {
		return Version{}, fmt.Errorf("read version %d: %w", n, err)
	}
	if v.Sum != sumOf([]byte(v.Text)) {
		return Version{}, fmt.Errorf("read version %d: its text is not the one that was saved", n)
	}
	v.N = n
	return v, nil
}

// Versions returns up to most versions of a file that are older than that of a number, the newest
// first; before 0 they are all of them.
func (s *Store) Versions(name string, before, most int) ([]Version, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", name, err)
	}
	defer root.Close()
	list, err := numbers(root, name)
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", name, err)
	}
	if before > 0 {
		list = slices.DeleteFunc(list, func(n int) bool { return n >= before })
	}
	var versions []Version
	for _, n := range list[:min(most, len(list))] {
		versions = append(versions, readOrDamaged(root, name, n))
	}
	return versions, nil
}

// Version returns a version of a file by its number. One that there is not is an fs.ErrNotExist.
func (s *Store) Version(name string, n int) (Version, error) {
	if err := s.check(name); err != nil {
		return Version{}, err
	}
	root, err := s.open()
	if err != nil {
		return Version{}, fmt.Errorf("read version %d of %s: %w", n, name, err)
	}
	defer root.Close()
	v, err := readVersion(root, name, n)
	if err != nil {
		return v, fmt.Errorf("read version %d of %s: %w", n, name, err)
	}
	return v, nil
}

// Histories lists the names of the files that have versions, also of files that do not exist any
// more.
func (s *Store) Histories() ([]string, error) {
	return s.namesBelow(historyFolder, func(path string, d fs.DirEntry) (string, bool) { return path, d.IsDir() })
}
