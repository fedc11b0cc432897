package journalcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
)

const (
	manifestName  = "backups.json" // beside the backups that it lists
	backupsCursor = "backups"      // where the journal keeps which manifests there are
)

// A manifest lists the backups of a folder.
type manifest struct {
	path    string
	Backups []*backup `json:"backups"`
}

// A backup is a manifest's entry of one. It has no names, phones or texts.
type backup struct {
	File      string      `json:"file"` // in the manifest's folder
	MadeAt    time.Time   `json:"made_at"`
	Bytes     int64       `json:"bytes"`
	SHA256    string      `json:"sha256"`
	Schema    int64       `json:"schema"`
	Events    int64       `json:"events"`
	Runs      int64       `json:"runs"`
	Newest    *newest     `json:"newest_event"`
	Forgotten []forgotten `json:"forgotten"` // persons forgotten since it was made, whom it still holds
}

// A newest is the newest event of a backup: later ones are not in the backup.
type newest struct {
	ID         string    `json:"id"`
	ReceivedAt time.Time `json:"received_at"`
}

// A forgotten is a person who was forgotten in the journal.
type forgotten struct {
	At       time.Time `json:"at"`
	Contacts []string  `json:"contacts"`
	Lanes    []string  `json:"lanes"` // identify a person without a contact's id
}

// readManifest reads a manifest. A missing one lists nothing.
func readManifest(path string) (*manifest, error) {
	m := &manifest{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of backups %s cannot be read: %w; mend it, or move it away to go on without it: the backups are as they were, but nobody knows their checksums then, nor who is to be forgotten in them", path, err)
	}
	return m, nil
}

// write replaces the manifest atomically.
func (m *manifest) write() error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(m.path, append(text, '\n'))
}

// writeWhole writes a file atomically, readable by its owner only.
func writeWhole(path string, text []byte) (err error) {
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	_, err = part.Write(text)
	err = errors.Join(err, part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

// find returns the backup in a file of the manifest's folder, or nil.
func (m *manifest) find(file string) *backup {
	i := slices.IndexFunc(m.Backups, func(b *backup) bool { return b.File == filepath.Base(file) })
	if i < 0 {
		return nil
	}
	return m.Backups[i]
}

// listedFor is how long a backup stays listed after its file is gone: it may be kept elsewhere, and
// come back.
const listedFor = 400 * 24 * time.Hour

// add lists a backup. It replaces one of the same name, and drops those whose files have been gone
// for long.
func (m *manifest) add(b *backup) {
	m.Backups = append(slices.DeleteFunc(m.Backups, func(o *backup) bool {
		if o.File == b.File {
			return true
		}
		_, err := os.Stat(m.pathOf(o))
		return b.MadeAt.Sub(o.MadeAt) > listedFor && errors.Is(err, fs.ErrNotExist)
	}), b)
}

// pathOf is where a backup is.
func (m *manifest) pathOf(b *backup) string { return filepath.Join(filepath.Dir(m.path), b.File) }

// manifestBeside is the manifest in the folder of a file.
func manifestBeside(file string) string {
	return filepath.Join(filepath.Dir(absolute(file)), manifestName)
}

// manifests returns the lists of all backups that were made of a journal, as far as they are still
// there.
func manifests(ctx context.Context, j journal.Journal) (list []*manifest, err error) {
	paths, err := manifestPaths(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		m, err := readManifest(path)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

func manifestPaths(ctx context.Context, j journal.Journal) (paths []string, err error) {
	kept, err := j.Cursor(ctx, backupsCursor)
	if err == nil && kept != "" {
		err = json.Unmarshal([]byte(kept), &paths)
	}
	if err != nil {
		return nil, fmt.Errorf("find the lists of backups: %w", err)
	}
	return paths, nil
}

// noteManifest records a manifest in the journal, so that forgetting a person finds its backups.
func noteManifest(ctx context.Context, j journal.Journal, path string) error {
	paths, err := manifestPaths(ctx, j)
	if err != nil || slices.Contains(paths, path) {
		return err
	}
	text, err := json.Marshal(append(paths, path))
	if err != nil {
		return err
	}
	return j.SetCursor(ctx, backupsCursor, string(text))
}

// checksum returns the length of a file and the sum of its bytes.
func checksum(path string) (n int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", cli.FileError(err)
	}
	h := sha256.New()
	n, err = io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// holding finds the backups that still hold a person. An unreadable one counts as holding them.
func holding(ctx context.Context, lists []*manifest, p forget.Person) (held []string) {
	for _, m := range lists {
		for _, b := range m.Backups {
			path := m.pathOf(b)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue // it was thrown away
			}
			if holds, err := backupHolds(ctx, path, p); err != nil || holds {
				held = append(held, path)
			}
		}
	}
	return held
}

// leftovers are the files that interrupted backups and restores have left.
func leftovers(lists []*manifest, where string) (paths []string) {
	for _, m := range lists {
		parts, _ := filepath.Glob(filepath.Join(filepath.Dir(m.path), ".*"+sqlite.PartOfBackup+"*")) // the pattern is right
		paths = append(paths, parts...)
	}
	if _, err := os.Stat(where + restoring); err == nil {
		paths = append(paths, where+restoring)
	}
	return paths
}

func backupHolds(ctx context.Context, path string, p forget.Person) (bool, error) {
	k, err := storage.OpenKeeper(ctx, path, true)
	if err != nil {
		return true, err
	}
	holds, err := forget.Holds(ctx, k, p)
	return holds, errors.Join(err, k.Close())
}

// mark notes in the manifests which forgotten person is still in these backups.
func mark(lists []*manifest, held []string, who forgotten) error {
	for _, m := range lists {
		changed := false
		for _, b := range m.Backups {
			if slices.Contains(held, m.pathOf(b)) {
				b.Forgotten = append(slices.DeleteFunc(b.Forgotten, who.same), who)
				changed = true
			}
		}
		if !changed {
			continue
		}
		if err := m.write(); err != nil {
			return fmt.Errorf("mark the backups: %w", err)
		}
	}
	return nil
}

// same reports whether two entries are the same person.
func (f forgotten) same(other forgotten) bool {
	shares := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
	}
	return shares(f.Contacts, other.Contacts) || shares(f.Lanes, other.Lanes)
}

// subject is the person as the audit log has it.
func (f forgotten) subject() string { return strings.Join(slices.Concat(f.Contacts, f.Lanes), " ") }
