package console

import (
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// A lastChange is the latest change of a rule. Its zero value is unknown.
type lastChange struct {
	Who string // empty is somebody outside of the console
	At  time.Time
	Ago time.Duration
}

// Known reports whether the history tells of a change.
func (l lastChange) Known() bool { return !l.At.IsZero() }

// lastChanges caches who changed the rules of each file last. Versions never change, so an entry
// holds until there is a newer version.
type lastChanges struct {
	mu    sync.Mutex
	files map[string]fileChanges // by the path of the file
}

type fileChanges struct {
	newest int // the version's number
	rules  map[string]lastChange
}

// changeVersions bounds how many versions of a file are searched for the changes of its rules.
const changeVersions = 20

// of returns who changed a rule last. A file that was changed by other means since its newest
// version tells nothing.
func (l *lastChanges) of(w *Workspace, r *rules.Rule) lastChange {
	if w.Editing == nil {
		return lastChange{}
	}
	files := w.Editing.Store
	name, err := files.Name(r.File)
	if err != nil {
		return lastChange{}
	}
	file, err := files.Read(name)
	if err != nil {
		return lastChange{}
	}
	newest, err := files.Versions(name, 0, 1)
	if err != nil || len(newest) == 0 || newest[0].Sum != file.Sum {
		return lastChange{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.files[r.File]
	if !ok || known.newest != newest[0].N {
		known = fileChanges{newest[0].N, changesIn(w, name)}
		if l.files == nil {
			l.files = map[string]fileChanges{}
		}
		l.files[r.File] = known
	}
	return known.rules[r.ID]
}

// changesIn finds the latest change of each rule of a file. A rule whose text is the same in all
// versions that are searched has none.
func changesIn(w *Workspace, name string) map[string]lastChange {
	versions, err := w.Editing.Store.Versions(name, 0, changeVersions)
	if err != nil || len(versions) == 0 || versions[0].Damaged {
		return nil
	}
	found := map[string]lastChange{}
	open := rulesIn(versions[0].Text) // those whose change is not found yet
	for i, v := range versions {
		var before map[string]string
		switch {
		case i+1 < len(versions) && versions[i+1].Damaged, i+1 == len(versions) && (v.N > 1 || v.Found()):
			return found
		case i+1 < len(versions):
			before = rulesIn(versions[i+1].Text)
		}
		for id, text := range open {
			if before[id] != text {
				found[id] = lastChange{Who: engine.Harmless(v.Who), At: v.At}
				delete(open, id)
			}
		}
		if len(open) == 0 {
			break
		}
	}
	return found
}

// rulesIn returns the rules of a file by their ids, each as a text without comments and style.
func rulesIn(text string) map[string]string {
	list := map[string]string{}
	file, problems := source.Read("", []byte(text))
	if problems.HasErrors() || file.Root == nil {
		return list
	}
	if all := file.Root.Get("rules"); all != nil {
		for _, item := range all.Items {
			if id := item.Get("id"); id != nil {
				list[id.Value] = item.Flow()
			}
		}
	}
	return list
}

// changeOf returns who changed a rule last, for a page.
func (c *Console) changeOf(q *request, w *Workspace, r *rules.Rule) lastChange {
	last := c.changed.of(w, r)
	if last.Known() {
		last.At, last.Ago = c.at(w.Name, last.At), q.now.Sub(last.At)
	}
	return last
}
