package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"
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
	w, err := c.editable(q.r.PathValue("workspace"))
	if err != nil {
		return nil, err
	}
	if w.Editing.Store.ReadOnly() {
		return nil, errReadOnly
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
	w, err := c.editable(q.r.PathValue("workspace"))
	if err != nil {
		return err
	}
	if w.Editing.Store.ReadOnly() {
		return errReadOnly
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
	wrong, err := c.saveRight(q, f, by)
	if len(wrong) > 0 {
		return problem(http.StatusUnprocessableEntity, "error.wrong", engine.Harmless(wrong[0].Error()))
	}
	if errors.Is(err, store.ErrChanged) {
		return problem(http.StatusConflict, "error.changed")
	}
	return err
}
