package console

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/rules/source"
)

// historyPage lists the versions of a file.
type historyPage struct {
	Workspace, File, Sum string
	Versions             []versionView
	Edits                bool
	Here                 string
	Older, Newest        string
}

// A versionView is one version of a file.
type versionView struct {
	N        int
	At       time.Time
	Who, Why string
	What     string
	Found    bool // it was changed by other means
	Now      bool // it is the one in use
	ruleDiff
	Damaged bool // it cannot be read
}

// versionsShown is how many versions the page of a history lists.
const versionsShown = 25

func historyLink(workspace, file string) string {
	return "/history?workspace=" + escapeQuery(workspace) + "&file=" + escapeQuery(file)
}

// history lists the changes of a file, newest first.
func (c *Console) history(q *request) error {
	w, err := c.editable(q.r.URL.Query().Get("workspace"))
	if err != nil {
		return err
	}
	name := q.r.URL.Query().Get("file")
	before, err := numberOf(q.r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	versions, err := w.Editing.Store.Versions(name, int(before), versionsShown+1)
	if err != nil {
		return problem(http.StatusNotFound, "error.none")
	}
	p := historyPage{Workspace: w.Name, File: name, Edits: q.editable(w.Name), Here: historyLink(w.Name, name)}
	if before > 0 {
		p.Newest = p.Here
	}
	if len(versions) > versionsShown {
		p.Older = p.Here + "&before=" + strconv.Itoa(versions[versionsShown-1].N)
	}
	file, err := w.Editing.Store.Read(name)
	if err == nil {
		p.Sum = file.Sum
	}
	if err != nil && len(versions) == 0 {
		return errNotFound
	}
	texts := make([]string, len(versions)+1)
	for i, v := range slices.Backward(versions) {
		texts[i] = harmlessText(v.Text)
		if v.Damaged {
			texts[i] = texts[i+1] // the next version is compared with the one before it
		}
	}
	for i, v := range versions[:min(len(versions), versionsShown)] {
		view := versionView{N: v.N, At: c.at(w.Name, v.At), Who: engine.Harmless(v.Who), Why: engine.Harmless(v.Why), What: changeKind(q.words(), v.What), Found: v.Found(), Damaged: v.Damaged, Now: v.Sum == p.Sum && i == 0 && before == 0}
		view.ruleDiff = diffOf(q.words(), w, texts[i+1], texts[i])
		p.Versions = append(p.Versions, view)
	}
	return q.show("history", "rules", q.words().T("history.title", name), p)
}

// A ruleDiff is what differs between two texts of a file.
type ruleDiff struct {
	Rules []ruleChanges
	Rest  bool // there is more than that
	Diff  []editor.DiffLine
}

// ruleChanges are what a version of a file changed in one of its rules.
type ruleChanges struct {
	Name    string // of the rule
	New     bool   // it was not there before
	Gone    bool   // it is not there any more
	Changes []studio.Change
}

// diffOf says what differs between two texts of a file: in words, rule by rule, and in lines.
func diffOf(l words.Language, w *Workspace, before, after string) ruleDiff {
	was, now := rulesIn(before), rulesIn(after)
	ids := slices.Sorted(maps.Keys(now))
	for id := range was {
		if _, stays := now[id]; !stays {
			ids = append(ids, id)
		}
	}
	maker := studioMaker(l, &draftFile{space: w, text: after})
	var list []ruleChanges
	for _, id := range ids {
		old, isOld := was[id]
		next, stays := now[id]
		if old.text == next.text {
			continue
		}
		change := ruleChanges{Name: engine.Harmless(id), New: !isOld, Gone: !stays}
		fields, err := form.Read(w.catalog(), []byte(after), id)
		oldFields, oldErr := form.Read(w.catalog(), []byte(before), id)
		if !stays {
			fields, err = oldFields, oldErr
		}
		if err == nil && fields.Name != "" {
			change.Name = engine.Harmless(fields.Name)
		}
		if isOld && stays && err == nil && oldErr == nil {
			change.Changes = maker.Changes(maker.View(oldFields, nil), maker.View(fields, nil))
		}
		list = append(list, change)
	}
	rest := otherParts(before) != otherParts(after) || len(list) == 0 && before != after
	return ruleDiff{list, rest, editor.Diff(before, after)}
}

// otherParts returns what a file has besides rules, without comments and style.
func otherParts(text string) string {
	file, problems := source.Read("", []byte(text))
	if problems.HasErrors() || file.Root == nil {
		return ""
	}
	var b strings.Builder
	for _, pair := range file.Root.Pairs {
		if pair.Key.Value != "rules" {
			b.WriteString(pair.Key.Value + ": " + pair.Value.Flow() + "\n")
		}
	}
	return b.String()
}

// harmlessText is a rule file's text for every reader.
func harmlessText(text string) string {
	return redact.File(strings.Join(words.HarmlessLines(text), "\n"))
}

// changeKind says which kind of change a version was.
func changeKind(w words.Language, kind string) string {
	if n, ok := strings.CutPrefix(kind, "restore "); ok {
		return w.T("history.restored", n)
	}
	word, rule, _ := strings.Cut(kind, " ")
	if w.Knows("history.kind." + word) {
		return strings.TrimSpace(w.T("history.kind."+word) + " " + engine.Harmless(rule))
	}
	if kind == "test" {
		return w.T("history.test")
	}
	return w.Or("stage.", kind)
}
