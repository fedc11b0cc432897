package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/store"
)

// deletedPage lists rules that were deleted here and are gone.
type deletedPage struct {
	Rules []deletedView
}

// A deletedView is a deleted rule.
type deletedView struct {
	Workspace, Rule, Name string
	Many                  bool
	File                  string
	Version               int // that no longer had it
	Who, Why              string
	At                    time.Time
	Ago                   time.Duration
	History               string
	Back                  bool // the user may bring it back
}

const (
	deletedMark     = "delete " // with the rule's id: what a version of a file is called
	deletedShown    = 50
	deletedVersions = 20 // of each file that are searched, the newest
)

// deleted lists the rules that can be brought back, those that were deleted last first.
func (c *Console) deleted(q *request) error {
	var p deletedPage
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		if w.Editing == nil {
			continue
		}
		names, err := w.Editing.Store.Histories()
		if err != nil {
			return err
		}
		for _, name := range names {
			versions, err := w.Editing.Store.Versions(name, 0, deletedVersions)
			if err != nil {
				return err
			}
			p.Rules = append(p.Rules, c.deletedIn(q, w, name, versions)...)
		}
	}
	slices.SortStableFunc(p.Rules, func(a, b deletedView) int { return b.At.Compare(a.At) })
	p.Rules = p.Rules[:min(len(p.Rules), deletedShown)]
	return q.show("deleted", "rules", q.words().T("deleted.title"), p)
}

// deletedIn returns the rules that versions of a file no longer had and nobody has added again.
func (c *Console) deletedIn(q *request, w *Workspace, file string, versions []store.Version) (list []deletedView) {
	set := w.book().Set
	seen := map[string]bool{}
	for _, v := range versions {
		id, ok := strings.CutPrefix(v.What, deletedMark)
		if !ok || seen[id] || !ruleID.MatchString(id) || set.Rule(id) != nil || brokenOf(set, id) != nil {
			continue
		}
		seen[id] = true
		view := deletedView{Workspace: w.Name, Rule: id, Name: id, Many: len(c.workspaces) > 1, File: file, Version: v.N, Who: engine.Harmless(v.Who), Why: engine.Harmless(v.Why), At: c.at(w.Name, v.At), Ago: q.now.Sub(v.At), History: historyLink(w.Name, file), Back: q.editable(w.Name)}
		if before, err := w.Editing.Store.Version(file, v.N-1); err == nil {
			if fields, err := form.Read(w.Editing.Rules.Catalog, []byte(before.Text), id); err == nil && fields.Name != "" {
				view.Name = engine.Harmless(fields.Name)
			}
		}
		list = append(list, view)
	}
	return list
}

// bringBack adds a deleted rule to its file again, as a draft: what it did may be wrong by now.
func (c *Console) bringBack(q *request) error {
	w, err := c.editable(q.r.PostFormValue("workspace"))
	if err != nil {
		return err
	}
	name, id := q.r.PostFormValue("file"), q.r.PostFormValue("rule")
	n, err := strconv.Atoi(q.r.PostFormValue("version"))
	if err != nil || !ruleID.MatchString(id) {
		return problem(http.StatusBadRequest, "error.form")
	}
	gone, err := w.Editing.Store.Version(name, n)
	if err != nil || gone.What != deletedMark+id {
		return errNotFound
	}
	before, err := w.Editing.Store.Version(name, n-1)
	if err != nil {
		return errNotFound
	}
	f, err := w.openFile(name)
	if err != nil {
		return err
	}
	if err := f.refuseUnfinished(); err != nil {
		return err
	}
	text, err := f.withRuleOf(before, gone, id)
	if err != nil {
		return unwritable(err)
	}
	if err := c.replaceText(q, f, text, store.Change{Who: q.user.Name, What: "undelete " + id}); err != nil {
		return err
	}
	return q.redirect(c.ruleView(w.Name, id).Link + "?said=undeleted")
}

// withRuleOf returns the file with a deleted rule. If nothing else has changed since, it is the
// former text, with its comments.
func (f *draftFile) withRuleOf(before, gone store.Version, id string) (string, error) {
	if f.was == gone.Sum {
		was := draftFile{space: f.space, file: f.file, rule: id, text: before.Text}
		return was.withStage(rules.Draft)
	}
	catalog := f.space.Editing.Rules.Catalog
	fields, err := form.Read(catalog, []byte(before.Text), id)
	if err != nil {
		return "", err
	}
	fields.Stage = string(rules.Draft)
	text, err := form.Add(catalog, []byte(f.text), fields)
	return string(text), err
}
