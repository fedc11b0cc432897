package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
)

// historyPage lists the versions of a file.
type historyPage struct {
	Workspace, File, Sum string
	Versions             []versionView
	Edits                bool
	Here                 string
}

// A versionView is one version of a file.
type versionView struct {
	N         int
	At        time.Time
	Who, Why  string
	What      string
	Found     bool // it was changed by other means
	Now       bool // it is the one in use
	Diff      []diffLine
	Unchanged bool
}

// versionsShown is how many versions the page of a history lists.
const versionsShown = 100

func historyLink(workspace, file string) string {
	return "/history?workspace=" + escapeQuery(workspace) + "&file=" + escapeQuery(file)
}

// history lists who changed what in a file, the newest first.
func (c *Console) history(q *request) error {
	w, err := c.editable(q.r.URL.Query().Get("workspace"))
	if err != nil {
		return err
	}
	name := q.r.URL.Query().Get("file")
	versions, err := w.Editing.Store.Versions(name, versionsShown+1)
	if err != nil {
		return problem(http.StatusNotFound, "error.none")
	}
	p := historyPage{Workspace: w.Name, File: name, Edits: q.editable(w.Name), Here: historyLink(w.Name, name)}
	file, err := w.Editing.Store.Read(name)
	if err == nil {
		p.Sum = file.Sum
	}
	if err != nil && len(versions) == 0 {
		return errNotFound
	}
	for i, v := range versions[:min(len(versions), versionsShown)] {
		view := versionView{N: v.N, At: c.at(w.Name, v.At), Who: engine.Harmless(v.Who), Why: engine.Harmless(v.Why), What: q.words().what(v.What), Found: v.Found(), Now: v.Sum == p.Sum && i == 0}
		before := ""
		if i+1 < len(versions) {
			before = versions[i+1].Text
		}
		view.Diff = diffOf(harmlessText(before), harmlessText(v.Text))
		p.Versions = append(p.Versions, view)
	}
	return q.show("history", "rules", q.words().t("history.title", name), p)
}

// harmlessText is a rule file's text as everybody may see it who may look at the pages.
func harmlessText(text string) string {
	return withoutSecrets(strings.Join(harmlessLines(text), "\n"))
}

// what says which kind of change a version was.
func (w words) what(kind string) string {
	if n, ok := strings.CutPrefix(kind, "restore "); ok {
		return w.t("history.restored", n)
	}
	if kind == "test" {
		return w.t("history.test")
	}
	return w.or("stage.", kind)
}
