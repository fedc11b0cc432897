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

	StageWho string    // who put it at its stage
	StageAt  time.Time // when that was; zero is unknown

	All []time.Time // when it was changed, as far as the history was searched; the newest first
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
	texts, stages := rulesIn(versions[0].Text), map[string]string{}
	for id, r := range texts {
		stages[id] = r.stage
	}
	staged := map[string]bool{} // those of which it is known who put them at their stage
	for i, v := range versions {
		var before map[string]ruleText
		switch {
		case i+1 < len(versions) && versions[i+1].Damaged, i+1 == len(versions) && (v.N > 1 || v.Found()):
			return found
		case i+1 < len(versions):
			before = rulesIn(versions[i+1].Text)
		}
		for id := range stages {
			if before[id].text != texts[id].text {
				change := found[id]
				if change.All = append(change.All, v.At); len(change.All) == 1 {
					change.Who, change.At = engine.Harmless(v.Who), v.At
				}
				found[id] = change
			}
		}
		for id, stage := range stages {
			if before[id].stage != stage && !staged[id] {
				change := found[id]
				change.StageWho, change.StageAt = engine.Harmless(v.Who), v.At
				found[id], staged[id] = change, true
			}
		}
		texts = before
	}
	return found
}

// A ruleText is a rule of a file without comments and style, and its stage.
type ruleText struct{ text, stage string }

// rulesIn returns the rules of a file by their ids.
func rulesIn(text string) map[string]ruleText {
	list := map[string]ruleText{}
	file, problems := source.Read("", []byte(text))
	if problems.HasErrors() || file.Root == nil {
		return list
	}
	if all := file.Root.Get("rules"); all != nil {
		for _, item := range all.Items {
			id, stage := item.Get("id"), item.Get("stage")
			if id == nil {
				continue
			}
			r := ruleText{item.Flow(), string(rules.Live)}
			if stage != nil {
				r.stage = stage.Value
			}
			list[id.Value] = r
		}
	}
	return list
}

// changeOf returns who changed a rule last, for a page.
func (c *Console) changeOf(q *request, w *Workspace, r *rules.Rule) lastChange {
	last := c.changed.of(w, r)
	if last.Known() {
		last.At, last.StageAt, last.Ago = c.at(w.Name, last.At), c.at(w.Name, last.StageAt), q.now.Sub(last.At)
	}
	return last
}
