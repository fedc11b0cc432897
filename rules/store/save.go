package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"time"

	"github.com/quandohq/quando/rules/source"
)

// A Change names the author of a change, and the reason.
type Change struct {
	Who  string `json:"who,omitempty"`
	What string `json:"what,omitempty"` // a word for the kind of change
	Why  string `json:"why,omitempty"`
}

// Save replaces a file if its sum is still was; an empty sum is that of a file that does not exist
// yet. After a crash the file holds either text and nothing else, and the old one is in the
// history.
func (s *Store) Save(name, text, was string, by Change) (Version, error) {
	var saved Version
	err := s.change(name, func(root *os.Root) error {
		if len(text) > source.MaxBytes {
			return ErrLarge
		}
		now, err := readBounded(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if was != "" {
				return ErrChanged
			}
		case err != nil && !errors.Is(err, ErrLarge):
			return err
		case sumOf(now) != was:
			return ErrChanged
		}
		known, err := latest(root, name)
		if err != nil {
			return err
		}
		if was != "" && known.Sum != was { // it was changed by other means, or is as old as the history
			if known, err = s.append(root, name, known.N, Version{Text: string(now), At: fileTime(root, name)}); err != nil {
				return err
			}
		}
		if sumOf([]byte(text)) == was {
			saved = known
			return nil
		}
		if saved, err = s.append(root, name, known.N, Version{Text: text, At: s.options.Now().UTC(), Change: by}); err != nil {
			return err
		}
		if err := replace(root, name, []byte(text)); err != nil {
			return errors.Join(err, root.Remove(versionFile(name, saved.N)))
		}
		return nil
	})
	return saved, err
}

// change does something to the file of a name, if anything may be changed.
func (s *Store) change(name string, do func(root *os.Root) error) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	if err := s.check(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	folder, _ := s.location()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	root, err := s.open()
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	defer root.Close()
	if err := do(root); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// replace replaces a file atomically and durably. If the name is a link, it replaces the link's
// target.
func replace(root *os.Root, name string, text []byte) error {
	name, err := follow(root, name)
	if err != nil {
		return err
	}
	folder := path.Dir(name)
	if err := root.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	temporary := path.Join(folder, "."+path.Base(name)+".saving")
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if info, statErr := root.Stat(name); err == nil && statErr == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return syncFolder(root, folder)
}

// maxLinks bounds the links that a name may go through.
const maxLinks = 8

// follow resolves the links of a name.
func follow(root *os.Root, name string) (string, error) {
	for range maxLinks {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if !info.Mode().IsRegular() {
				return "", ErrName
			}
			return name, nil
		}
		to, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		if path.IsAbs(to) {
			return "", fmt.Errorf("%w: it is a link that leads out of the folder of the rules", ErrName)
		}
		name = path.Join(path.Dir(name), to) // the root refuses a link to outside
	}
	return "", fmt.Errorf("%w: it leads through too many links", ErrName)
}

// syncFolder makes a name durable in its folder. Windows does so by itself and has no call for it.
func syncFolder(root *os.Root, folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func fileTime(root *os.Root, name string) time.Time {
	info, err := root.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}
