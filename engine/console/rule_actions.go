package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/store"
)

// Bounds of what people call rules.
const (
	maxRuleName = 120 // characters
	maxTag      = 40  // characters
	maxTags     = 20
)

// openSent opens the file of the rule that a form is about, as the person who sent it saw it.
func (c *Console) openSent(q *request) (*draftFile, error) {
	w, err := c.writable(q.r.PathValue("workspace"))
	if err != nil {
		return nil, err
	}
	id := q.r.PathValue("rule")
	if !ruleID.MatchString(id) {
		return nil, errNotFound
	}
	f, err := w.open(id)
	if err != nil {
		return nil, err
	}
	if f.was != q.r.PostFormValue("was") {
		return nil, problem(http.StatusConflict, "error.changed")
	}
	return f, f.refuseUnfinished()
}

// refuseUnfinished protects an unfinished text of the file: a save would drop it.
func (f *draftFile) refuseUnfinished() error {
	kept, err := f.space.Editing.Store.Kept(f.file)
	if err == nil && kept != nil {
		err = problem(http.StatusConflict, "error.unfinished")
	}
	return err
}

// changeFields changes the rule of a form, and nothing else of its file.
func (c *Console) changeFields(q *request, f *draftFile, change func(*form.Form), what, said string) error {
	catalog := f.space.Editing.Rules.Catalog
	fields, err := form.Read(catalog, []byte(f.text), f.rule)
	if err != nil {
		return unwritable(err)
	}
	change(&fields)
	text, err := form.Write(catalog, []byte(f.text), f.rule, fields)
	if err != nil {
		return unwritable(err)
	}
	return c.settle(q, f, string(text), store.Change{Who: q.user.Name, What: what, Why: reasonSent(q)}, said)
}

func unwritable(err error) error {
	return problem(http.StatusConflict, "error.form_write", engine.Harmless(err.Error()))
}

func reasonSent(q *request) string { return words.Cut(q.r.PostFormValue("reason"), 200) }

// renameRule changes the name of a rule. Its id, and with it its runs and limits, stays.
func (c *Console) renameRule(q *request) error {
	f, err := c.openSent(q)
	if err != nil {
		return err
	}
	name, ok := plainName(q.r.PostFormValue("name"), maxRuleName)
	if !ok {
		return problem(http.StatusBadRequest, "error.rule_name")
	}
	return c.changeFields(q, f, func(fields *form.Form) { fields.Name = name }, "rename", "renamed")
}

// plainName returns a name on one line, and whether it can be used.
func plainName(text string, most int) (string, bool) {
	name := strings.Join(strings.Fields(text), " ")
	return name, name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= most && !strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) })
}

// tagRule changes the tags of a rule.
func (c *Console) tagRule(q *request) error {
	f, err := c.openSent(q)
	if err != nil {
		return err
	}
	var tags []string
	for part := range strings.SplitSeq(q.r.PostFormValue("tags"), ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		tag, ok := plainName(part, maxTag)
		if !ok || len(tags) == maxTags {
			return problem(http.StatusBadRequest, "error.rule_tags")
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return c.changeFields(q, f, func(fields *form.Form) { fields.Tags = tags }, "tags", "tagged")
}

// duplicateRule adds a copy of a rule, as a draft, to the same file: there it has the same
// variables.
func (c *Console) duplicateRule(q *request) error {
	f, err := c.openSent(q)
	if err != nil {
		return err
	}
	catalog := f.space.Editing.Rules.Catalog
	fields, err := form.Read(catalog, []byte(f.text), f.rule)
	if err != nil {
		return unwritable(err)
	}
	const suffix, room = "-copy", 8 // for a number behind it
	fields.ID = f.space.freeID(strings.TrimRight(f.rule[:min(len(f.rule), 64-len(suffix)-room)], "-") + suffix)
	fields.Name, fields.Stage = q.words().T("rules.copy", c.ruleView(f.space.Name, f.rule).Name), string(rules.Draft)
	text, err := form.Add(catalog, []byte(f.text), fields)
	if err != nil {
		return unwritable(err)
	}
	if err := c.replaceText(q, f, string(text), store.Change{Who: q.user.Name, What: "duplicate " + fields.ID}); err != nil {
		return err
	}
	return q.redirect(c.ruleView(f.space.Name, fields.ID).Link + "?said=duplicated")
}

// deletePage asks whether a rule is to be deleted.
type deletePage struct {
	ruleView
	File, Was string
	UnderWay  []underWayCount
}

// An underWayCount is how many runs of a rule are in an unfinished state.
type underWayCount struct {
	State journal.State
	N     int
	More  bool // there are more than N
	Link  string
}

// underWayShown bounds how many runs of a state are counted.
const underWayShown = 50

// askDelete shows what would become of a rule, before it is deleted.
func (c *Console) askDelete(q *request) error {
	w, err := c.writable(q.r.PathValue("workspace"))
	if err != nil {
		return err
	}
	id := q.r.PathValue("rule")
	f, err := w.open(id)
	if err != nil {
		return err
	}
	p := deletePage{ruleView: c.ruleView(w.Name, id), File: f.file, Was: f.was}
	for _, state := range runStates {
		if state.Finished() {
			continue
		}
		runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{Workspace: w.Name, Rule: id, State: state, Limit: underWayShown + 1})
		if err != nil {
			return err
		}
		if n := len(runs); n > 0 {
			p.UnderWay = append(p.UnderWay, underWayCount{state, min(n, underWayShown), n > underWayShown, "/runs?rule=" + escapeQuery(id) + "&state=" + string(state)})
		}
	}
	return q.show("delete", "rules", q.words().T("delete.title", p.Name), p)
}

// deleteRule removes a rule from its file. The history keeps it.
func (c *Console) deleteRule(q *request) error {
	f, err := c.openSent(q)
	if err != nil {
		return err
	}
	text, err := form.Remove([]byte(f.text), f.rule)
	if err != nil {
		return unwritable(err)
	}
	if err := c.replaceText(q, f, string(text), store.Change{Who: q.user.Name, What: deletedMark + f.rule, Why: reasonSent(q)}); err != nil {
		return err
	}
	return q.redirect("/deleted?said=deleted")
}

// replaceText saves another text of a file outside of the editor.
func (c *Console) replaceText(q *request, f *draftFile, text string, by store.Change) error {
	if f.space.Editing.Store.ReadOnly() {
		return errReadOnly
	}
	f.text = text
	wrong, err := c.saveRight(q, by, f)
	if len(wrong) > 0 {
		return problem(http.StatusUnprocessableEntity, "error.wrong", engine.Harmless(wrong[0].Error()))
	}
	if errors.Is(err, store.ErrChanged) {
		return problem(http.StatusConflict, "error.changed")
	}
	return err
}

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
