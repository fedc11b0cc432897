package process

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/quandohq/quando/rules/store"
)

const (
	quiet       = 200 * time.Millisecond // after a change, until what belongs to it has come too
	maxDebounce = 600 * time.Millisecond // longest debounce of consecutive changes
	patience    = 300 * time.Millisecond // until a vanished file counts as removed

	// Interval of polling the times of files, because the system may not report changes, as on a
	// network disk.
	pollEvery = 700 * time.Millisecond
)

// A watch reloads books when their files change: on a notification of the system, when the files'
// times change, and on request.
//
// It watches folders, not files: editors and deployments replace a file, and in Kubernetes a link
// beside the files changes.
type watch struct {
	books []*Book
	log   *slog.Logger
	ask   <-chan os.Signal // reload everything
	every time.Duration    // between polls of the times of files; 0 is the default

	// busy is a folder that is written to all the time, such as the journal's: the system would report
	// every page. Polling finds changes in it.
	busy string

	hearing sync.WaitGroup
	notify  *fsnotify.Watcher // nil if the system reports nothing
	changed chan struct{}     // signals a notification
	failing map[*Book]string  // the last error of a read, to log it once
	told    bool              // that notifications are unavailable was logged
}

// run reloads until ctx ends. The books were loaded before.
func (w *watch) run(ctx context.Context) {
	w.failing, w.changed = make(map[*Book]string), make(chan struct{}, 1)
	defer w.closeWatcher()
	w.watchFolders()
	look := time.NewTicker(cmp.Or(w.every, pollEvery))
	defer look.Stop()
	settle := time.NewTimer(patience)
	defer settle.Stop()
	if !w.reload(true, false) { // what changed since the books were loaded
		settle.Stop()
	}
	var since time.Time // of the first unhandled change
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
			if since.IsZero() {
				since = time.Now()
			}
			settle.Reset(min(quiet, max(0, maxDebounce-time.Since(since))))
		case <-settle.C:
			patient := !since.IsZero()
			since = time.Time{}
			w.watchFolders()
			if w.reload(patient, false) {
				settle.Reset(patience)
			}
		case <-look.C:
			if w.stale() {
				w.watchFolders()
				if w.reload(true, false) {
					settle.Reset(patience)
				}
			}
		case <-w.ask:
			w.watchFolders()
			w.reload(false, true)
		}
	}
}

// reload loads every book, and reports whether one needs a retry.
func (w *watch) reload(patient, forced bool) (again bool) {
	for _, b := range w.books {
		_, err := b.Load(patient, forced)
		switch {
		case errors.Is(err, errVanished):
			again = again || patient
		case err != nil && w.failing[b] != err.Error():
			w.log.Error("the rules cannot be read; those in use go on", "workspace", b.Workspace, "error", err)
			w.failing[b] = err.Error()
		case err == nil:
			delete(w.failing, b)
		}
	}
	return again
}

// stale reports whether the times of files say that something has changed.
func (w *watch) stale() bool {
	stale := false
	for _, b := range w.books {
		stale = b.stale() || stale
	}
	return stale
}

// watchFolders watches every folder that rules may come from. It starts a new watcher each time: a
// folder of the same name may be another one, and pending notifications of the old one would count
// for the new.
func (w *watch) watchFolders() {
	w.closeWatcher()
	var err error
	if w.notify, err = fsnotify.NewWatcher(); err != nil {
		w.notify = nil
		w.logUnavailable(err)
		return
	}
	notify := w.notify
	w.hearing.Go(func() { w.forward(notify) })
	for _, b := range w.books {
		// In the folder above, the rules' own folder may be replaced.
		w.add(filepath.Dir(b.Path))
		if info, err := os.Stat(b.Path); err != nil || !info.IsDir() {
			continue
		}
		root := b.Path + string(filepath.Separator)
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir():
				return nil
			case path != root && store.IsAside(d.Name()):
				return filepath.SkipDir
			}
			w.add(path)
			return nil
		})
	}
}

func (w *watch) add(folder string) {
	if filepath.Clean(folder) == w.busy {
		return
	}
	if err := w.notify.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.logUnavailable(err)
	}
}

// logUnavailable logs, once, that the system does not report changes.
func (w *watch) logUnavailable(err error) {
	if !w.told {
		w.log.Warn("the system does not tell of all changes to the rules; the times of files are looked at instead", "error", err)
		w.told = true
	}
}

// closeWatcher closes the watcher.
func (w *watch) closeWatcher() {
	if w.notify != nil {
		_ = w.notify.Close() // it only listens
		w.hearing.Wait()
	}
}

// forward forwards notifications until the watcher is closed. It never blocks: the library cannot
// be closed while a notification is pending.
func (w *watch) forward(n *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-n.Events:
			if !ok {
				return
			}
			if !w.concerns(e.Name) {
				continue
			}
			select {
			case w.changed <- struct{}{}:
			default:
			}
		case err, ok := <-n.Errors:
			if !ok {
				return
			}
			w.log.Debug("watching the rules", "error", err) // polling finds the change
		}
	}
}

// concerns reports whether a change of this name may be one of the rules. Editors keep hidden files
// beside them, and the journal may be in the same folder; names with two dots are Kubernetes' own.
func (w *watch) concerns(name string) bool {
	base, ext := filepath.Base(name), filepath.Ext(name)
	for _, b := range w.books {
		below, err := filepath.Rel(b.Path, name)
		inside := err == nil && filepath.IsLocal(below)
		switch {
		case name == b.Path:
			return true
		case strings.HasPrefix(base, ".."):
			if inside || filepath.Dir(name) == filepath.Dir(b.Path) {
				return true
			}
		case inside && !store.IsAside(base) && (ext == "" || ext == ".yaml" || ext == ".yml" || ext == ".ics" || isFolder(name)):
			return true
		}
	}
	return false
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
