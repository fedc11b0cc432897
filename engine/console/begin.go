package console

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/blueprint"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/source"
)

// beginPage lists what a rule can begin with.
type beginPage struct {
	Workspace  string
	Workspaces []string
	Groups     []templateGroup
	Unfinished []unfinishedFile
	Single     bool
	Refused    []problemView // of a file that was not imported
}

// A templateGroup is the templates for one purpose.
type templateGroup struct {
	Name      string // empty for those that do not say
	Templates []templateView
}

// A templateView is a template in the language of the page.
type templateView struct {
	Name, Icon, Title, Sentence string
	Needs                       []string // kinds of things of the service, such as label
}

// An unfinishedFile is a saved draft of a file.
type unfinishedFile struct {
	File string
	unfinishedView
}

// blanksPage asks for the blanks of a template.
type blanksPage struct {
	templateView
	Workspace string
	Text      string // of a template that was imported
	Fields    []blankField
	Scopes    []string
}

// A blankField asks for one blank.
type blankField struct {
	Name, Question, Value, Wrong string
	Type                         blueprint.Type
	Choices                      []string
}

// beginWith lists what a rule can begin with.
func (c *Console) beginWith(q *request, w *Workspace) error {
	return c.showBegin(q, http.StatusOK, w, nil)
}

func (c *Console) showBegin(q *request, status int, w *Workspace, refused rules.Problems) error {
	p := beginPage{Workspace: w.Name, Groups: w.gallery(q), Single: w.Editing.Store.Single()}
	if refused != nil {
		p.Refused = viewProblems(q.words(), refused)
	}
	for _, one := range c.options.Workspaces {
		if one.Editing != nil {
			p.Workspaces = append(p.Workspaces, one.Name)
		}
	}
	names, err := w.Editing.Store.AllKept()
	if err != nil {
		return err
	}
	for _, name := range names {
		if view, err := c.unfinished(w, name); err == nil && view != nil {
			p.Unfinished = append(p.Unfinished, unfinishedFile{name, *view})
		}
	}
	return q.showAs(status, "begin", "rules", q.words().T("write.begin"), p)
}

// gallery returns the templates by their groups.
func (w *Workspace) gallery(q *request) []templateGroup {
	var groups []templateGroup
	for _, name := range append(slices.Clone(rules.TemplateGroups), "") {
		groups = append(groups, templateGroup{Name: name})
	}
	for _, t := range w.Editing.Templates {
		view, group := templateView{Name: t.Name, Title: t.Summary}, ""
		if read := w.template(t.Text); read != nil {
			view, group = q.templateView(t.Name, read), read.Group
		}
		i := slices.IndexFunc(groups, func(g templateGroup) bool { return g.Name == group })
		groups[i].Templates = append(groups[i].Templates, view)
	}
	return slices.DeleteFunc(groups, func(g templateGroup) bool { return g.Templates == nil })
}

// template reads a template with blanks; nil if the text is none.
func (w *Workspace) template(text string) *blueprint.Template {
	if !rules.ParseTemplate("", []byte(text)).Template {
		return nil
	}
	t, _ := blueprint.Parse(w.Editing.Rules.Catalog, "template.yaml", []byte(text))
	return t
}

func (q *request) templateView(name string, t *blueprint.Template) templateView {
	l := q.words().RulesLanguage()
	v := templateView{Name: name, Icon: t.Icon, Title: engine.Harmless(t.Title.In(l)), Sentence: engine.Harmless(t.Sentence.In(l))}
	if v.Title == "" {
		v.Title = name
	}
	for _, b := range t.Blanks {
		if kind := string(b.Type); q.words().Knows("needs."+kind) && !slices.Contains(v.Needs, kind) {
			v.Needs = append(v.Needs, kind)
		}
	}
	return v
}

// askBlanks asks for the blanks of a template; false if it has none.
func (c *Console) askBlanks(q *request, w *Workspace, name string) (asked bool, err error) {
	i := slices.IndexFunc(w.Editing.Templates, func(t Template) bool { return t.Name == name })
	if i < 0 {
		return false, nil
	}
	t := w.template(w.Editing.Templates[i].Text)
	if t == nil || len(t.Blanks) == 0 {
		return false, nil
	}
	return true, c.showBlanks(q, http.StatusOK, w, blanksPage{templateView: q.templateView(name, t)}, t, nil, nil)
}

func (c *Console) showBlanks(q *request, status int, w *Workspace, p blanksPage, t *blueprint.Template, values map[string][]string, wrong []blueprint.WrongValue) error {
	p.Workspace = w.Name
	set, _ := t.Check(w.Editing.Rules)
	p.Scopes = blueprint.NeedsOf(set).Scopes
	for _, b := range t.Blanks {
		f := blankField{Name: b.Name, Question: engine.Harmless(b.Words.In(q.words().RulesLanguage())), Type: b.Type, Choices: w.choicesOf(b.Type)}
		if given, ok := values[b.Name]; ok {
			f.Value = strings.Join(given, "\n")
		} else {
			f.Value = f.proposal(b.Default)
		}
		for _, one := range wrong {
			if one.Blank == b {
				f.Wrong = engine.Harmless(one.Message.In(q.words().RulesLanguage()))
			}
		}
		p.Fields = append(p.Fields, f)
	}
	return q.showAs(status, "blanks", "rules", p.Title, p)
}

// proposal returns the value to begin with. A name that the desk does not have is no proposal, and
// neither is a stranger's phone.
func (f *blankField) proposal(defaults []string) string {
	switch {
	case f.Type == blueprint.Phone || f.Type == blueprint.Phones:
		return ""
	case len(f.Choices) == 1:
		return f.Choices[0]
	case len(f.Choices) > 0 && f.Type != blueprint.Calendar && !slices.Contains(f.Choices, defaults[0]):
		return ""
	}
	return strings.Join(defaults, "\n")
}

// choicesOf returns the desk's own names for a blank.
func (w *Workspace) choicesOf(t blueprint.Type) (names []string) {
	if t == blueprint.Calendar {
		return w.calendarNames()
	}
	if w.Editing.Choices == nil {
		return nil
	}
	for _, choice := range w.Editing.Choices() {
		if choice.Kind == string(t) && !slices.Contains(names, choice.Name) {
			names = append(names, choice.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *Workspace) calendarNames() (names []string) {
	for name := range w.book().Set.Calendars {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fill opens the editor with a template whose blanks were filled in, or with a file that is
// imported. An imported template asks for its blanks first.
func (c *Console) fill(q *request) error {
	text, imported, err := q.uploaded()
	if err != nil {
		return err
	}
	w, err := c.writable(q.r.FormValue("workspace"))
	if err != nil {
		return err
	}
	q.here = "/write?workspace=" + escapeQuery(w.Name)
	p := blanksPage{Text: text}
	name := q.r.FormValue("template")
	if i := slices.IndexFunc(w.Editing.Templates, func(t Template) bool { return t.Name == name }); i >= 0 {
		text, p.Text = w.Editing.Templates[i].Text, ""
	} else if text == "" {
		return errNotFound
	}
	if !rules.ParseTemplate("", []byte(text)).Template {
		return c.openText(q, w, text, name)
	}
	t, problems := blueprint.Parse(w.Editing.Rules.Catalog, "template.yaml", []byte(text))
	if t != nil && imported {
		_, more := t.Check(w.Editing.Rules)
		problems = append(problems, more...)
	}
	if t == nil || problems.HasErrors() {
		return c.showBegin(q, http.StatusUnprocessableEntity, w, problems)
	}
	p.templateView = q.templateView(name, t)
	if imported && len(t.Blanks) > 0 {
		return c.showBlanks(q, http.StatusOK, w, p, t, nil, nil)
	}
	values := q.blankValues(t)
	filled, wrong, err := t.Fill(values, w.calendarNames()...)
	if err != nil {
		return err
	}
	if wrong != nil {
		return c.showBlanks(q, http.StatusUnprocessableEntity, w, p, t, values, wrong)
	}
	return c.openText(q, w, string(filled), name)
}

// blankValues reads what was typed for the blanks; a list has a value on each line.
func (q *request) blankValues(t *blueprint.Template) map[string][]string {
	values := make(map[string][]string)
	for _, b := range t.Blanks {
		value := plainEnds(q.r.FormValue("blank." + b.Name))
		values[b.Name] = []string{value}
		if b.Type.IsList() {
			values[b.Name] = strings.Split(value, "\n")
		}
	}
	return values
}

// uploaded returns the text of a file that was sent, or that a form carries along. Imported reports
// which of them it is.
func (q *request) uploaded() (text string, imported bool, err error) {
	if kind, _, _ := mime.ParseMediaType(q.r.Header.Get("Content-Type")); kind != "multipart/form-data" {
		return plainEnds(q.r.PostFormValue("text")), false, nil
	}
	file, _, err := q.r.FormFile("file")
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return "", false, problem(http.StatusRequestEntityTooLarge, "error.large")
	}
	if err != nil {
		return "", false, problem(http.StatusBadRequest, "error.form")
	}
	defer file.Close()
	bytes, err := io.ReadAll(io.LimitReader(file, source.MaxBytes+1))
	switch {
	case err != nil:
		return "", false, err
	case len(bytes) > source.MaxBytes:
		return "", false, problem(http.StatusRequestEntityTooLarge, "error.large")
	}
	return plainEnds(string(bytes)), true, nil
}

// openText opens the editor with the text of a new file, if there are rules in it.
func (c *Console) openText(q *request, w *Workspace, text, name string) error {
	parsed := rules.Parse("new.yaml", []byte(text))
	if parsed.Problems.HasErrors() {
		return c.showBegin(q, http.StatusUnprocessableEntity, w, parsed.Problems)
	}
	f, err := w.draft(q.ctx(), text, name)
	if err != nil {
		return err
	}
	if f == nil {
		return problem(http.StatusUnprocessableEntity, "error.norules")
	}
	return c.showWrite(q, http.StatusOK, f, writePage{}, false)
}

// begin returns a new file from a template; the empty name is the smallest one.
func (c *Console) begin(ctx context.Context, w *Workspace, name string) (*draftFile, error) {
	if name == "" {
		f := &draftFile{space: w}
		return f, f.empty(w.freeID("new-rule"))
	}
	i := slices.IndexFunc(w.Editing.Templates, func(t Template) bool { return t.Name == name })
	if i < 0 {
		return nil, errNotFound
	}
	f, err := w.draft(ctx, w.Editing.Templates[i].Text, name)
	if err == nil && f == nil {
		err = errNotFound
	}
	return f, err
}

// draft returns a new file whose rules are drafts with ids that no other rule has; nil if the text
// has no rules. It shows the rule of a name, or the first.
func (w *Workspace) draft(ctx context.Context, text, name string) (*draftFile, error) {
	f := &draftFile{space: w, text: text}
	set, _, err := f.check(ctx)
	if err != nil {
		return nil, err
	}
	ids := f.ids(set)
	if len(ids) == 0 {
		return nil, nil
	}
	for _, id := range ids {
		free := w.freeID(id)
		if err := f.rename(id, free); err != nil {
			return nil, problem(http.StatusUnprocessableEntity, "error.form_write", engine.Harmless(err.Error()))
		}
		if f.rule == "" || id == name {
			f.rule = free
		}
	}
	return f, nil
}

// empty makes the text a rule without steps.
func (f *draftFile) empty(id string) error {
	catalog := f.space.Editing.Rules.Catalog
	text, err := form.New(id, "")
	if err != nil {
		return err
	}
	fields, err := form.Read(catalog, text, id)
	if err != nil {
		return err
	}
	fields.Do = nil
	text, err = form.Write(catalog, text, id, fields)
	f.rule, f.text = id, string(text)
	return err
}

// rename gives a rule of the text another id, and makes it a draft.
func (f *draftFile) rename(from, to string) error {
	fields, err := form.Read(f.space.Editing.Rules.Catalog, []byte(f.text), from)
	if err != nil {
		return err
	}
	fields.ID, fields.Stage = to, string(rules.Draft)
	text, err := form.Write(f.space.Editing.Rules.Catalog, []byte(f.text), from, fields)
	f.text = string(text)
	return err
}

// export sends the file of a rule, as it stands.
func (c *Console) export(q *request) error {
	w, err := c.editable(q.r.URL.Query().Get("workspace"))
	if err != nil {
		return err
	}
	f, err := w.open(q.r.URL.Query().Get("rule"))
	if err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	q.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(f.file)}))
	_, err = io.WriteString(q.w, f.text)
	return err
}
